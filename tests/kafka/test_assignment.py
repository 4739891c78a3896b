"""Who should own which shard: shared out by a group, kept through rebalances, given on when a member goes."""

import asyncio
from collections.abc import Callable

import pytest

from interlock.log.kafka.assignment import KafkaAssignment
from interlock.log.kafka.log import KafkaLog
from interlock.log.port import TopicSpec
from tests.kafka.conftest import OpenLog
from tests.support.kafka import Brokers

pytestmark = pytest.mark.kafka

QUICK = {"session_s": 1.5, "rebalance_s": 3.0, "connect_s": 0.5, "ask_s": 2.0}
PARTITIONS = 6
ALL = frozenset(range(PARTITIONS))
SETTLED_SECONDS_MAX = 60


async def until(assignment: KafkaAssignment, wanted: Callable[[frozenset[int]], bool]) -> list[frozenset[int]]:
    """Waits until what is assigned is as wanted, and returns every value that was seen on the way."""
    seen = [assignment.current()]
    async with asyncio.timeout(SETTLED_SECONDS_MAX):
        while not wanted(seen[-1]):
            seen.append(await assignment.changed(seen[-1]))
    return seen


def has(count: int) -> Callable[[frozenset[int]], bool]:
    return lambda current: len(current) == count


async def opened(open_log: OpenLog, bootstrap: str, prefix: str) -> KafkaLog:
    log = open_log(bootstrap, prefix=prefix, **QUICK)
    await log.create([TopicSpec(name=f"{prefix}.journal", partitions=PARTITIONS)])
    return log


async def test_shards_stay_where_they_are_while_members_come_and_go(
    kafka_bootstrap: str, log: KafkaLog, open_log: OpenLog
) -> None:
    """A second member takes half; the first keeps the other half throughout, and gets all back when it leaves."""
    prefix = log.settings.prefix
    one = await opened(open_log, kafka_bootstrap, prefix)
    two = await opened(open_log, kafka_bootstrap, prefix)
    first = one.assignment(f"{prefix}.journal")
    assert (await until(first, has(PARTITIONS)))[-1] == ALL
    watching = asyncio.create_task(until(first, has(3)))
    second = two.assignment(f"{prefix}.journal")
    await until(second, has(3))
    # It went from all to its half in one step: nothing was taken away when the rebalance began.
    assert await watching == [ALL, first.current()]
    assert first.current() | second.current() == ALL
    kept = first.current()
    watching = asyncio.create_task(until(second, has(PARTITIONS)))
    loop = asyncio.get_running_loop()
    began = loop.time()
    await first.close()
    assert first.current() == frozenset()
    assert await watching == [ALL - kept, ALL]
    # It left, so nobody waited for its session to end; heartbeats ask every half second here.
    assert loop.time() - began < 3 * QUICK["session_s"]
    await second.close()


async def test_a_member_that_vanishes_loses_its_shards_to_the_others(
    kafka_bootstrap: str, log: KafkaLog, open_log: OpenLog
) -> None:
    """A process that dies says nothing; the session timeout tells. What is left of it drops its shards by itself."""
    prefix = log.settings.prefix
    one = await opened(open_log, kafka_bootstrap, prefix)
    two = await opened(open_log, kafka_bootstrap, prefix)
    first, second = one.assignment(f"{prefix}.journal"), two.assignment(f"{prefix}.journal")
    await asyncio.gather(until(first, has(3)), until(second, has(3)))
    await one.cluster.close()
    await until(second, has(PARTITIONS))
    await until(first, has(0))
    await asyncio.gather(first.close(), second.close())


async def test_a_broker_that_hangs_takes_the_shards_after_a_bound_and_gives_them_back(
    start_kafka: Callable[[int], Brokers], open_log: OpenLog
) -> None:
    """Without news from the coordinator others may own the shards, so after the session timeout none is ours."""
    brokers = await asyncio.to_thread(start_kafka, 1)
    log = await opened(open_log, brokers.bootstrap, "hang")
    assignment = log.assignment("hang.journal")
    await until(assignment, has(PARTITIONS))
    brokers.pause(1)
    assert await until(assignment, has(0)) == [ALL, frozenset()]
    brokers.resume(1)
    await until(assignment, has(PARTITIONS))
    await assignment.close()


async def test_closing_is_quick_while_the_broker_is_away(
    start_kafka: Callable[[int], Brokers], open_log: OpenLog
) -> None:
    brokers = await asyncio.to_thread(start_kafka, 1)
    log = await opened(open_log, brokers.bootstrap, "away")
    assignment = log.assignment("away.journal")
    await until(assignment, has(PARTITIONS))
    brokers.pause(1)
    waiting = asyncio.create_task(assignment.changed(ALL))
    async with asyncio.timeout(5.0):
        await assignment.close()
        assert await waiting == frozenset()
        await log.close()
