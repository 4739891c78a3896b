"""The logs under test: one entry in `BACKENDS` is one backend, and every contract test runs on each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol
from uuid import uuid4

import pytest

from interlock.log.blobs.local import LocalBlobs
from interlock.log.blobs.log import BlobLog
from interlock.log.blobs.memory import MemoryBlobs, MemoryStore
from interlock.log.kafka.log import KafkaLog
from interlock.log.kafka.settings import KafkaSettings
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Assignment, Log, LogAdmin, Shard, TopicSpec
from interlock.log.sqlite.log import SqliteLog
from interlock.schemas.codec import AvroCodec
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
    blobs: bool = False
    """Whether large values stand elsewhere, so that no batch is too large by one of them."""
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


def _memory_with_blobs(_: pytest.FixtureRequest) -> Backend:
    broker, store = MemoryBroker(), MemoryStore()

    def open_log() -> Opened:
        log = MemoryLog(broker, batch_bytes_max=BATCH_BYTES_MAX)
        return Opened(BlobLog(log, MemoryBlobs(store), AvroCodec()), log)

    return Backend("memory-blobs", open_log, blobs=True)


def _sqlite_with_blobs(request: pytest.FixtureRequest) -> Backend:
    folder: Path = request.getfixturevalue("tmp_path")

    def open_log() -> Opened:
        log = SqliteLog(folder / "log.db", batch_bytes_max=BATCH_BYTES_MAX, lease_s=LEASE_S)
        return Opened(BlobLog(log, LocalBlobs(folder / "blobs"), AvroCodec()), log, log.assignment)

    return Backend("sqlite-blobs", open_log, blobs=True)


BACKENDS: dict[str, Callable[[pytest.FixtureRequest], Backend]] = {
    "memory": _memory,
    "memory-blobs": _memory_with_blobs,
    "sqlite": _sqlite,
    "sqlite-blobs": _sqlite_with_blobs,
    "kafka": _kafka,
}

MARKS: dict[str, Sequence[pytest.MarkDecorator]] = {"kafka": [pytest.mark.kafka]}
"""What the tests of a backend are marked with besides."""
