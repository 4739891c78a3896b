"""A real Apache Kafka for the tests: one broker for the whole session, and clusters of their own for who breaks them.

- `kafka_bootstrap` is the session's broker. Tests share it, so each makes topics of its own, and none stops it.
- `kafka_cluster` is a cluster of three for one test, which may kill and pause its nodes; `start_kafka` starts others.

Where the brokers come from is `ops.kafka.source`'s business. Where none can be had a test that asked for one fails:
that it was skipped would be read by nobody. `ops/test.sh` leaves these tests out then, says so, and ends with 3.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from ops.kafka import Cluster, KafkaMissing
from ops.kafka.source import Source, find_source, running
from tests.support.kafka_docker import DockerCluster


class Brokers(Protocol):
    """What a test may do with a cluster of its own. All of it blocks: in a coroutine, call it in a thread."""

    @property
    def bootstrap(self) -> str:
        """What a client is given to connect to."""
        ...

    @property
    def nodes(self) -> Sequence[int]:
        """The numbers of the nodes, from 1."""
        ...

    def kill(self, node: int) -> None:
        """Ends a node as a crash would; returns when it is gone."""
        ...

    def pause(self, node: int) -> None:
        """Stops a node where it stands, its connections open."""
        ...

    def resume(self, node: int) -> None:
        """Lets a paused node go on."""
        ...

    def restart(self, node: int) -> None:
        """Starts a node again, with its data; returns when it is part of its cluster."""
        ...

    def wait_in_sync(self, timeout_s: float = 60) -> None:
        """Returns when every partition has a leader and all its replicas."""
        ...


def start_brokers(folder: Path, nodes: int, until: ExitStack) -> Brokers:
    """Starts a cluster that ends with `until`; the test fails where none can be had."""
    try:
        if find_source() is Source.DOCKER:
            return until.enter_context(DockerCluster(nodes))
        return until.enter_context(Cluster(folder, nodes=nodes))
    except KafkaMissing as missing:
        pytest.fail(f"this test needs a real Apache Kafka: {missing}", pytrace=False)


@pytest.fixture(scope="session")
def kafka_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`host:port` of the session's broker; of the one that $INTERLOCK_TEST_KAFKA names, where it is set."""
    with ExitStack() as until:
        yield running() or start_brokers(tmp_path_factory.mktemp("kafka"), 1, until).bootstrap


@pytest.fixture
def start_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], Brokers]]:
    """Starts a cluster of so many nodes (1 or 3) that ends with the test."""
    with ExitStack() as until:
        yield lambda nodes: start_brokers(tmp_path_factory.mktemp("kafka"), nodes, until)


@pytest.fixture
def kafka_cluster(start_kafka: Callable[[int], Brokers]) -> Brokers:
    """Three nodes for one test: three replicas, two of them in sync for a write to count."""
    return start_kafka(3)
