"""A journal on a real Kafka with a view over it, and a client that writes transactions into its topic."""

import asyncio
import os
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, cast

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from interlock.log.frame import Append
from interlock.log.journal import Journal
from interlock.log.kafka.log import KafkaLog
from interlock.log.kafka.settings import KafkaSettings
from interlock.log.port import Log, Reader, Shard, Stored, TopicSpec
from interlock.projections.executions.fold import VIEW
from interlock.projections.host import ViewHost
from tests.projections.journals import CODEC, event_entry
from tests.projections.stories import whole_run

_names = count(1)


class KafkaJournal:
    """A journal of executions, and its writer."""

    def __init__(self, bootstrap: str, log: KafkaLog, shard: Shard, journal: Journal) -> None:
        self.bootstrap = bootstrap
        self.log = log
        self.shard = shard
        self._journal = journal

    async def take(self) -> None:
        """Another ownership takes the journal over, and goes on writing it."""
        self._journal = await opened(self.log, self.shard)

    async def run(self, name: str) -> Append:
        """One append with a whole run."""
        changes = whole_run(name)
        entries = [event_entry(each.stream, number, each.event) for number, each in enumerate(changes, 1)]
        return await self._journal.append(b"", entries)

    @asynccontextmanager
    async def projected(self, directory: Path, log: Log | None = None) -> AsyncGenerator[ViewHost, None]:
        """The view of executions over it, while it is projected; read from `log`, where that is another way to it."""
        host = ViewHost(VIEW, directory, log=log or self.log, topic_ids=self.log, codec=CODEC, shards=[self.shard])
        await host.start()
        try:
            yield host
        finally:
            await host.close()


class Held:
    """A way to a log whose readers read nothing until they are let go."""

    def __init__(self, log: KafkaLog) -> None:
        self.begun = asyncio.Event()
        """Set when somebody begins to read."""
        self.goes_on = asyncio.Event()
        self.batch_bytes_max = log.batch_bytes_max
        self.send = log.send
        self.end = log.end
        self.extent = log.extent
        self.close = log.close
        self._log = log

    def reader(self, shard: Shard, offset: int) -> Reader:
        """A reader that waits."""
        reader = self._log.reader(shard, offset)
        read = reader.read

        async def held(wait_s: float) -> Sequence[Stored]:
            self.begun.set()
            await self.goes_on.wait()
            return await read(wait_s)

        reader.read = held  # type: ignore[method-assign]
        return reader


@asynccontextmanager
async def kafka_journal(bootstrap: str, *, compacted: bool = False) -> AsyncGenerator[KafkaJournal, None]:
    """A journal in a topic of its own; one that the broker compacts at once where nobody should ever have it so."""
    prefix = f"case-{os.getpid()}-{next(_names)}"
    log = KafkaLog(KafkaSettings(prefix=prefix, bootstrap=tuple(bootstrap.split(","))))
    try:
        shard = Shard(f"{prefix}.executions.journal", 0)
        await log.create([TopicSpec(name=shard.topic, partitions=1, compacted=compacted)])
        if compacted:
            await _compact_at_once(bootstrap, shard.topic)
        yield KafkaJournal(bootstrap, log, shard, await opened(log, shard))
    finally:
        await log.close()


async def _compact_at_once(bootstrap: str, topic: str) -> None:
    admin = cast("Any", AIOKafkaAdminClient(bootstrap_servers=bootstrap))
    await admin.start()
    try:
        brokers = [str(each["node_id"]) for each in (await admin.describe_cluster())["brokers"]]
        # All of the topic's settings: those that aren't named here are taken away.
        eager = {
            "cleanup.policy": "compact",
            "message.timestamp.type": "LogAppendTime",
            "segment.ms": "100",
            "min.cleanable.dirty.ratio": "0.01",
        }
        # How long the cleaner rests where there was nothing to do; else it is 15 s.
        busy = {"log.cleaner.backoff.ms": "100"}
        changes = [ConfigResource(ConfigResourceType.BROKER, each, busy) for each in brokers]
        changes.append(ConfigResource(ConfigResourceType.TOPIC, topic, eager))
        for answer in await admin.alter_configs(changes):
            assert all(each[0] == 0 for each in answer.resources), answer
    finally:
        await admin.close()


async def opened(log: KafkaLog, shard: Shard) -> Journal:
    """A new ownership of a journal."""
    return await Journal.open(
        log,
        shard,
        ids=lambda: uuid.uuid4().hex,
        fold=lambda _: None,
        note=lambda: b"",
        still_assigned=_yes,
    )


@asynccontextmanager
async def transactions(journal: KafkaJournal) -> AsyncGenerator[Any, None]:
    """A producer of somebody else's, with transactions."""
    name = f"{journal.shard.topic}-{next(_names)}"
    producer = cast("Any", AIOKafkaProducer(bootstrap_servers=journal.bootstrap, transactional_id=name))
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def live(host: ViewHost) -> None:
    """Returns when the view holds everything that is in the journal, or has stopped."""
    while not host.error and (not host.caught_up or (await host.status()).lag != 0):
        await host.changed(0.2)


async def _yes() -> bool:
    return True
