"""The logs under test: one entry in `BACKENDS` is one backend, and every contract test runs on each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol
from uuid import uuid4

import pytest

from interlock.log.kafka import KafkaLog
from interlock.log.kafka_settings import KafkaSettings
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Assignment, Log, LogAdmin, Shard, TopicSpec
from interlock.log.sqlite import SqliteLog
from tests.contract.child import LEASE_S, kafka_url

BATCH_BYTES_MAX = 1 << 14
"""Small, so that the tests of the limit are fast."""


class Admin(LogAdmin, Protocol):
    """What the suites do to a log beyond what the engine asks of it."""

    async def trim(self, shard: Shard, first: int) -> None:
        """Drops the records before offset `first`."""
        ...

    async def delete(self, topic: str) -> None:
        """Deletes a topic with its records."""
        ...


class Opened(NamedTuple):
    """One process's connection to the log under test."""

    log: Log
    admin: Admin
    assignment: Callable[[str], Assignment] | None = None
    """Joins those that share a topic's partitions; None where a backend has no such thing."""


@dataclass
class Backend:
    """One log, as the processes that use it see it."""

    name: str
    open_log: Callable[[], Opened]
    address: str | None = None
    """By which `tests.contract.child` finds it in a process of its own; None where it can't."""
    opened: list[Opened] = field(default_factory=list[Opened])

    def open(self) -> Opened:
        """Opens a connection, as another process would; it is closed after the test."""
        opened = self.open_log()
        self.opened.append(opened)
        return opened

    async def topic(self, partitions: int = 1) -> str:
        """Makes a topic that no other test has."""
        name = f"contract-{uuid4().hex}"
        made = await self.open().admin.create([TopicSpec(name=name, partitions=partitions)])
        assert list(made) == [name]
        return name


def _memory(_: pytest.FixtureRequest) -> Backend:
    broker = MemoryBroker()

    def open_log() -> Opened:
        log = MemoryLog(broker, batch_bytes_max=BATCH_BYTES_MAX)
        return Opened(log, log)

    return Backend("memory", open_log)


def _sqlite(request: pytest.FixtureRequest) -> Backend:
    folder: Path = request.getfixturevalue("tmp_path")
    path = folder / "log.db"

    def open_log() -> Opened:
        log = SqliteLog(path, batch_bytes_max=BATCH_BYTES_MAX, lease_s=LEASE_S)
        return Opened(log, log, log.assignment)

    return Backend("sqlite", open_log, address=f"sqlite://{path}")


def _kafka(request: pytest.FixtureRequest) -> Backend:
    bootstrap: str = request.getfixturevalue("kafka_bootstrap")
    url = kafka_url(bootstrap)

    def open_log() -> Opened:
        log = KafkaLog(KafkaSettings.from_url(url, batch_bytes_max=BATCH_BYTES_MAX))
        return Opened(log, log, log.assignment)

    return Backend("kafka", open_log, address=url)


BACKENDS: dict[str, Callable[[pytest.FixtureRequest], Backend]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "kafka": _kafka,
}

MARKS: dict[str, Sequence[pytest.MarkDecorator]] = {"kafka": [pytest.mark.kafka]}
"""What the tests of a backend are marked with besides."""
