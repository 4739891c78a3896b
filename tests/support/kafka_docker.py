"""The same cluster as `ops.kafka.Cluster`, in containers of Apache's own image, where a Docker engine answers.

Clients reach each node at a port of 127.0.0.1, the nodes reach each other by name in a network of their own. The
network and the containers go with the cluster, and where the tests are killed, with testcontainers' reaper.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Self

from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from ops.kafka import BrokerFailed, probe
from ops.kafka.broker import IN_SYNC_SECONDS_MAX, START_SECONDS_MAX
from ops.kafka.ports import addresses
from ops.kafka.settings import Address, common
from ops.kafka.source import IMAGE

CLUSTER_ID = "aW50ZXJsb2NrLXRlc3RzIQ"
"""Any sixteen bytes; every node must be given the same."""
BETWEEN_PORT, CONTROLLER_PORT = 9190, 9191
"""Where nodes listen for each other, each in a container of its own."""


class DockerCluster:
    """One or three containers, from `with` to its end."""

    def __init__(self, nodes: int) -> None:
        self._addresses = addresses(nodes, None)
        self._containers: dict[int, DockerContainer] = {}
        self._until = ExitStack()

    @property
    def bootstrap(self) -> str:
        """What a client is given to connect to."""
        return ",".join(f"127.0.0.1:{address.port}" for address in self._addresses)

    @property
    def nodes(self) -> Sequence[int]:
        """The numbers of the nodes, from 1."""
        return [address.node for address in self._addresses]

    def __enter__(self) -> Self:
        with self._until:
            network = self._until.enter_context(Network())
            for address in self._addresses:
                self._containers[address.node] = self._until.enter_context(self._container(address, network))
            everyone = frozenset(self.nodes)
            for address in self._addresses:
                self._wait(partial(probe.knows, address.port, everyone), START_SECONDS_MAX, "every node to answer")
            # All is up: what would have been ended by a failure now ends with the cluster.
            self._until = self._until.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._until.close()

    def kill(self, node: int) -> None:
        """Ends a node as a crash would; returns when it is gone."""
        container = self._containers[node].get_wrapped_container()
        container.kill()
        container.wait()

    def pause(self, node: int) -> None:
        """Stops a node where it stands, its connections open."""
        self._containers[node].get_wrapped_container().pause()

    def resume(self, node: int) -> None:
        """Lets a paused node go on."""
        self._containers[node].get_wrapped_container().unpause()

    def restart(self, node: int) -> None:
        """Starts a node again, with its data; returns when it is part of its cluster."""
        self._containers[node].get_wrapped_container().restart()
        known = partial(probe.knows, self._addresses[node - 1].port, frozenset({node}))
        self._wait(known, START_SECONDS_MAX, f"node {node} to answer")

    def wait_in_sync(self, timeout_s: float = IN_SYNC_SECONDS_MAX) -> None:
        """Returns when every partition has a leader and all its replicas."""
        ports = [address.port for address in self._addresses]
        done = partial(probe.in_sync, ports, frozenset(self.nodes))
        self._wait(done, timeout_s, "every replica to be in sync")

    def _container(self, address: Address, network: Network) -> DockerContainer:
        container = DockerContainer(IMAGE).with_network(network).with_network_aliases(_name(address))
        container = container.with_bind_ports(address.port, address.port).with_env("CLUSTER_ID", CLUSTER_ID)
        for name, value in _settings(address, self._addresses).items():
            container = container.with_env("KAFKA_" + name.upper().replace(".", "_"), value)
        return container

    def _wait(self, done: Callable[[], bool], timeout_s: float, what: str) -> None:
        end = time.monotonic() + timeout_s
        while not done():
            if time.monotonic() > end:
                logs = b"\n".join(container.get_logs()[0][-2000:] for container in self._containers.values())
                raise BrokerFailed(
                    f"expected {what} within {timeout_s:g} s, found none; {logs.decode(errors='replace')}"
                )
            time.sleep(0.1)


def _name(address: Address) -> str:
    return f"kafka-{address.node}"


def _settings(address: Address, cluster: Sequence[Address]) -> dict[str, str]:
    between = f"BETWEEN://{{}}:{BETWEEN_PORT}"
    return common(len(cluster)) | {
        "node.id": str(address.node),
        "controller.quorum.voters": ",".join(f"{each.node}@{_name(each)}:{CONTROLLER_PORT}" for each in cluster),
        "listeners": f"CLIENT://:{address.port},{between.format('')},CONTROLLER://:{CONTROLLER_PORT}",
        "advertised.listeners": f"CLIENT://127.0.0.1:{address.port},{between.format(_name(address))}",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,BETWEEN:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "BETWEEN",
        "log.dirs": "/tmp/kafka-data",
    }
