"""Logs on a real broker, each with names of its own, so that tests may share the broker."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from itertools import count

import pytest

from interlock.log.kafka.log import KafkaLog
from interlock.log.kafka.settings import KafkaSettings
from interlock.log.port import Record, Shard, Stored, TopicSpec

_names = count(1)

OpenLog = Callable[..., KafkaLog]


@pytest.fixture
async def open_log() -> AsyncIterator[OpenLog]:
    """Opens logs that are closed with the test: `open_log(bootstrap, send_s=1)`, each with a prefix of its own."""
    async with AsyncExitStack() as until:

        def opened(bootstrap: str, **settings: object) -> KafkaLog:
            prefix = f"test-{os.getpid()}-{next(_names)}"
            chosen = {"prefix": prefix, "bootstrap": tuple(bootstrap.split(","))} | settings
            log = KafkaLog(KafkaSettings.model_validate(chosen))
            until.push_async_callback(log.close)
            return log

        yield opened


@pytest.fixture
async def log(kafka_bootstrap: str, open_log: OpenLog) -> KafkaLog:
    """A log on the session's broker."""
    return open_log(kafka_bootstrap)


@pytest.fixture
async def shard(log: KafkaLog) -> Shard:
    """The one shard of a new topic of `log`."""
    return await make_shard(log)


async def make_shard(log: KafkaLog, name: str = "journal", partitions: int = 1) -> Shard:
    """The first shard of a new topic."""
    topic = f"{log.settings.prefix}.{name}"
    await log.create([TopicSpec(name=topic, partitions=partitions)])
    return Shard(topic, 0)


def record(value: bytes | str | int) -> Record:
    """A small record."""
    data = value if isinstance(value, bytes) else str(value).encode()
    return Record(b"key", data, (("kind", b"event"),))


async def read_all(log: KafkaLog, shard: Shard, first: int = 0) -> list[Stored]:
    """Everything from `first` to the end."""
    end = await log.end(shard)
    found: list[Stored] = []
    reader = log.reader(shard, first)
    try:
        async with asyncio.timeout(30):
            while first + len(found) < end:
                found.extend(await reader.read(1.0))
    finally:
        await reader.close()
    return found
