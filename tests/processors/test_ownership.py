"""The owner of a shard: what it does when another one has taken the shard over, and it has not heard of it."""

import asyncio
from dataclasses import replace
from itertools import count

import pytest

from interlock.domain.decider import NOTHING, Decided, Decision, Intent
from interlock.domain.messages import DecideAt, RoutingReached
from interlock.log.faults import LANDS, SEEN, Answer, AskOutcome, SendOutcome
from interlock.log.journal import Journal, Lost
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Shard
from interlock.processors.courier import Waiting
from interlock.processors.mail import Cause, sourced_record
from interlock.processors.ownership import CLOCK_LOOK_S, Ownership
from interlock.processors.ports import Bounds, Clock
from interlock.processors.publishing.handler import PublishingHandler, PublishingOptions
from interlock.processors.unit import Unit
from interlock.runtime.settings import Settings
from interlock.runtime.topics import schemas_of, topic_specs, topics_of
from interlock.schemas.codec import AvroCodec
from interlock.testing.virtual_time import LoopClock, run_virtual

SETTINGS = Settings(log="memory:")
TOPICS = topics_of(SETTINGS)
CODEC = AvroCodec()


async def yes() -> bool:
    return True


def owner(
    log: MemoryLog, prefix: str, *, handler: PublishingHandler | None = None, clock: Clock | None = None
) -> Ownership:
    numbers = count(1)
    options = PublishingOptions(routing_shards=1, projection_kinds=(), prepare_ms=1_000)
    return Ownership(
        context="publishing",
        partition=0,
        source="publishing/0@id",
        handler=handler or PublishingHandler(options),
        replica=None,
        wire=log,
        codec=CODEC,
        schemas=schemas_of(SETTINGS, log),
        clock=clock or LoopClock(asyncio.get_running_loop()),
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


class DueOnce(PublishingHandler):
    """Something is due at a time, and never again."""

    def __init__(self, due_ms: int) -> None:
        super().__init__(PublishingOptions(routing_shards=1, projection_kinds=(), prepare_ms=1_000))
        self.done = asyncio.Event()
        self._due_ms = due_ms

    def next_due_ms(self) -> int | None:
        return None if self.done.is_set() else self._due_ms

    def due(self, unit: Unit) -> Decided:
        self.done.set()
        return NOTHING


async def slept() -> float:
    """How long after a sleep of the machine something is done that came due in it."""
    broker = MemoryBroker()
    for spec in topic_specs(SETTINGS):
        broker.create(spec)
    clock = LoopClock(asyncio.get_running_loop())
    handler = DueOnce(clock.now_ms() + 3_600_000)
    ownership = owner(MemoryLog(broker), "a", handler=handler, clock=clock)
    await ownership.open(yes)
    working = asyncio.create_task(ownership.work())
    await asyncio.sleep(100.0)
    assert not handler.done.is_set()
    clock.offset_ms = 7_200_000
    woke_s = asyncio.get_running_loop().time()
    await handler.done.wait()
    passed_s = asyncio.get_running_loop().time() - woke_s
    ownership.stop()
    await working
    await ownership.close()
    return passed_s


def test_what_came_due_while_the_machine_slept_is_done_soon_after_it() -> None:
    """The loop's time stands meanwhile: whoever sleeps until something is due sleeps on for as long as before."""
    assert run_virtual(slept()) <= CLOCK_LOOK_S


class Promises(DueOnce):
    """What is due is a promise to routing."""

    def due(self, unit: Unit) -> Decided:
        super().due(unit)
        said = DecideAt(shell="default", publication_id="p", position=unit.number)
        return Decision(intents=(Intent("routing", "default", said, partition=0),))


class Away:
    """The inbox of routing takes nothing while `away` is set."""

    away = True

    def on_send(self, shard: Shard, batch: object) -> SendOutcome:
        """Refuses for the time being, or lands."""
        refused = self.away and shard == TOPICS.inbox("routing", 0)
        return SendOutcome(landings_s=(), answer=Answer.REFUSED) if refused else LANDS

    def on_ask(self, shard: Shard) -> AskOutcome:
        """Answers."""
        return SEEN


async def stranded() -> list[Waiting | int | None]:
    """When a promise was decided, and what two owners, one after another, say of it; the second delivers it at last."""
    broker = MemoryBroker()
    for spec in topic_specs(SETTINGS):
        broker.create(spec)
    away = Away()
    log = MemoryLog(broker, faults=away)
    clock = LoopClock(asyncio.get_running_loop())
    decided_ms = clock.now_ms() + 10_000
    first = owner(log, "a", handler=Promises(decided_ms), clock=clock)
    await first.open(yes)
    working = asyncio.create_task(first.work())
    await asyncio.sleep(100.0)
    told: list[Waiting | int | None] = [decided_ms, first.undelivered]
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    await first.close()
    second = owner(log, "b", clock=clock)
    await second.open(yes)
    told.append(second.undelivered)
    working = asyncio.create_task(second.work())
    await asyncio.sleep(100.0)
    told.append(second.undelivered)
    away.away = False
    await asyncio.sleep(100.0)
    told.append(second.undelivered)
    second.stop()
    await working
    await second.close()
    return told


def test_a_promise_that_was_stranded_is_as_old_for_who_recovers_it() -> None:
    """And nothing is told before it is known.

    Proves: CHK-02 (what a crash stranded is delivered; the age of the oldest undelivered intent)."""
    decided_ms, before, opened, after, delivered = run_virtual(stranded())
    assert before == after == Waiting(1, decided_ms if isinstance(decided_ms, int) else None)
    assert opened is None
    assert delivered == Waiting(0, None)
