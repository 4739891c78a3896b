"""The settings of a broker for development and tests: small, quick to start, and strict where production is.

What surprises on a small machine are the defaults for a large one: 50 partitions for each internal topic, 128 MB to
clean logs with, a wait of three seconds before a group begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BATCH_BYTES_MAX = 8 * 1024 * 1024
"""One append is one batch, so this bounds an append; consumers and replicas fetch at least one such batch."""

JVM = (
    "-Xms128m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
)
"""170 MB and three seconds to start. What a better compiler would gain is less than what it costs two cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a node listens on 127.0.0.1."""

    node: int
    """Its number, from 1."""
    port: int
    """For clients and other brokers."""
    controller_port: int
    """For the quorum that keeps the cluster's metadata."""


def common(nodes: int) -> dict[str, str]:
    """What every node of a cluster of this size is told, wherever it runs."""
    replicas, in_sync = (3, 2) if nodes >= 3 else (1, 1)
    return {
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
        # A topic that nobody made has no partition count that anybody chose.
        "auto.create.topics.enable": "false",
        "unclean.leader.election.enable": "false",
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(in_sync),
        "offsets.topic.replication.factor": str(replicas),
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": str(in_sync),
        "share.coordinator.state.topic.num.partitions": "1",
        "message.max.bytes": str(BATCH_BYTES_MAX),
        "replica.fetch.max.bytes": str(BATCH_BYTES_MAX),
        "group.initial.rebalance.delay.ms": "0",
        # Tests of a crash wait for a session to end; production keeps the default of six seconds.
        "group.min.session.timeout.ms": "500",
        # A node that was killed may come back only once its old session is over; by default that takes nine seconds.
        "broker.session.timeout.ms": "4000",
        "broker.heartbeat.interval.ms": "500",
        # What waits for a paused node to answer gives it up after this, and not after half a minute.
        "controller.socket.timeout.ms": "5000",
        "replica.socket.timeout.ms": "5000",
        "log.cleaner.dedupe.buffer.size": "2097152",
        "log.segment.bytes": "67108864",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "num.recovery.threads.per.data.dir": "1",
        "num.replica.fetchers": "1",
        "background.threads": "2",
    }


def properties(address: Address, cluster: Sequence[Address], data: Path) -> str:
    """The file that one node is started with."""
    listeners = f"PLAINTEXT://127.0.0.1:{address.port},CONTROLLER://127.0.0.1:{address.controller_port}"
    own = {
        "node.id": str(address.node),
        "controller.quorum.bootstrap.servers": ",".join(f"127.0.0.1:{each.controller_port}" for each in cluster),
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data),
    }
    return "".join(f"{name}={value}\n" for name, value in (common(len(cluster)) | own).items())
