"""A journal on a real Kafka with a view over it, and a client that writes transactions into its topic."""

import os
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, cast

from aiokafka import AIOKafkaProducer

from interlock.log.frame import Append
from interlock.log.journal import Journal
from interlock.log.kafka.log import KafkaLog
from interlock.log.kafka.settings import KafkaSettings
from interlock.log.port import Shard, TopicSpec
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
    async def projected(self, directory: Path) -> AsyncGenerator[ViewHost, None]:
        """The view of executions over it, while it is projected."""
        host = ViewHost(VIEW, directory, log=self.log, topic_ids=self.log, codec=CODEC, shards=[self.shard])
        await host.start()
        try:
            yield host
        finally:
            await host.close()


@asynccontextmanager
async def kafka_journal(bootstrap: str) -> AsyncGenerator[KafkaJournal, None]:
    """A journal in a topic of its own."""
    prefix = f"case-{os.getpid()}-{next(_names)}"
    log = KafkaLog(KafkaSettings(prefix=prefix, bootstrap=tuple(bootstrap.split(","))))
    try:
        shard = Shard(f"{prefix}.executions.journal", 0)
        await log.create([TopicSpec(name=shard.topic, partitions=1)])
        yield KafkaJournal(bootstrap, log, shard, await opened(log, shard))
    finally:
        await log.close()


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
