"""The owner of a shard: what it does when another one has taken the shard over, and it has not heard of it."""

import asyncio
from dataclasses import replace
from itertools import count

import pytest

from interlock.domain.messages import RoutingReached
from interlock.log.journal import Journal, Lost
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.processors.mail import Cause, sourced_record
from interlock.processors.ownership import Ownership
from interlock.processors.ports import Bounds
from interlock.processors.publishing.handler import PublishingHandler, PublishingOptions
from interlock.runtime.settings import Settings
from interlock.runtime.topics import schemas_of, topic_specs, topics_of
from interlock.schemas.codec import AvroCodec
from interlock.testing.virtual_time import LoopClock, run_virtual

SETTINGS = Settings(log="memory:")
TOPICS = topics_of(SETTINGS)
CODEC = AvroCodec()


async def yes() -> bool:
    return True


def owner(log: MemoryLog, prefix: str) -> Ownership:
    numbers = count(1)
    return Ownership(
        context="publishing",
        partition=0,
        source="publishing/0@id",
        handler=PublishingHandler(PublishingOptions(routing_shards=1, projection_kinds=(), prepare_ms=1_000)),
        replica=None,
        wire=log,
        codec=CODEC,
        schemas=schemas_of(SETTINGS, log),
        clock=LoopClock(asyncio.get_running_loop()),
        ids=lambda: f"{prefix}{next(numbers):031x}",
        topics=TOPICS,
        bounds=Bounds(),
    )


def journal_of(ownership: Ownership) -> Journal:
    assert ownership.journal is not None
    return ownership.journal


async def replaced() -> None:
    broker = MemoryBroker()
    for spec in topic_specs(SETTINGS):
        broker.create(spec)
    log = MemoryLog(broker)
    first, second = owner(log, "a"), owner(log, "b")
    await first.open(yes)
    await second.open(yes)
    rests_on = journal_of(second).position.number + 1
    said = RoutingReached(shell="default", publication_id="p", partition=0, position=rests_on)
    record = sourced_record(CODEC, "default", said, "routing/0@id", 1, Cause("c", "c", ""))
    record = replace(record, headers=(*record.headers, ("publishing", b"%d" % rests_on)))
    await log.send(TOPICS.inbox("publishing", 0), [record])
    try:
        async with asyncio.timeout(60.0):
            await first.work()
    finally:
        await first.close()
        await second.close()


def test_an_owner_of_publishing_that_was_replaced_notices_it_by_what_it_is_told() -> None:
    """A message rests on an append that it has not written. It must neither wait for it nor ask again and again: that
    it did, and nothing else in the process had its turn any more.

    Proves: OWN-01."""
    with pytest.raises(Lost, match="another process owns the shard"):
        run_virtual(replaced())
