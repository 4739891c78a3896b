"""Three brokers with three replicas, of which one falls: nothing acknowledged is lost, and work goes on."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import count

import pytest

from interlock.log.kafka.log import KafkaLog
from interlock.log.port import Doubt, NotNow, Shard, Unavailable
from tests.kafka.conftest import OpenLog, make_shard, read_all, record
from tests.support.kafka import Brokers

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

SENDERS = 4
MORE = 50
"""How many batches each sender must bring through after the leader fell."""


class Outcome:
    """What one sender was told of each of its batches."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, int] = {}
        self.doubtful: set[str] = set()
        self.denied: set[str] = set()


async def send_all(log: KafkaLog, shard: Shard, name: str, fallen: asyncio.Event) -> Outcome:
    """Sends numbered batches until enough of them were acknowledged after the fall; repeats none."""
    outcome = Outcome()
    number = since = 0
    while since < MORE:
        value = f"{name}-{number}"
        number += 1
        try:
            outcome.acknowledged[value] = await log.send(shard, [record(value), record(f"{value}+")])
            since += fallen.is_set()
        except Doubt:
            outcome.doubtful.add(value)
        except NotNow:
            outcome.denied.add(value)
    return outcome


async def follow(log: KafkaLog, shard: Shard, until: asyncio.Event) -> list[tuple[int, bytes]]:
    """Reads along from the beginning, through the change of leader, until it has all that is there in the end."""
    reader = log.reader(shard, 0)
    seen: list[tuple[int, bytes]] = []
    try:
        while True:
            over = until.is_set()
            try:
                records = await reader.read(0.5)
            except Unavailable:
                continue
            seen.extend((stored.offset, stored.value) for stored in records)
            if over and not records:
                return seen
    finally:
        await reader.close()


@pytest.mark.parametrize("blow", ["kill", "pause"])
async def test_the_leader_falls_and_nothing_acknowledged_is_lost(
    kafka_cluster: Brokers, open_log: OpenLog, blow: str
) -> None:
    """Proves: LOG-02, LOG-07 (three replicas, two in sync, no unclean election: as `create` makes topics)."""
    log = open_log(kafka_cluster.bootstrap, send_s=2.0, connect_s=0.5, ask_s=10.0)
    shard = await make_shard(log)
    fallen, done = asyncio.Event(), asyncio.Event()
    following = asyncio.create_task(follow(log, shard, done))
    senders = [asyncio.create_task(send_all(log, shard, f"s{number}", fallen)) for number in range(SENDERS)]
    await _until_read(log, shard, 200)
    leader = await log.cluster.leader(shard)
    if blow == "kill":
        await asyncio.to_thread(kafka_cluster.kill, leader)
    else:
        kafka_cluster.pause(leader)
    fallen.set()
    outcomes = await asyncio.gather(*senders)
    # The fallen leader comes back and may still believe that it leads; nothing of that may reach a reader.
    if blow == "kill":
        await asyncio.to_thread(kafka_cluster.restart, leader)
    else:
        kafka_cluster.resume(leader)
    await asyncio.to_thread(kafka_cluster.wait_in_sync)
    assert await log.end(shard) >= max(max(each.acknowledged.values()) for each in outcomes) + 2
    done.set()
    followed = await following
    stored = await read_all(log, shard)
    assert followed == [(each.offset, each.value) for each in stored]
    assert [each.offset for each in stored] == list(range(len(stored)))
    _judge(outcomes, [each.value.decode() for each in stored])
    assert await log.cluster.leader(shard) in kafka_cluster.nodes


def _judge(outcomes: Sequence[Outcome], values: Sequence[str]) -> None:
    """Acknowledged: there, once, whole, at its offset. Denied: nowhere. In doubt: at most once, and whole."""
    times = Counter(values)
    for outcome in outcomes:
        for value, base in outcome.acknowledged.items():
            assert list(values[base : base + 2]) == [value, f"{value}+"]
            assert times[value] == 1
        for value in outcome.denied:
            assert times[value] == 0
        for value in outcome.doubtful:
            assert times[value] == times[f"{value}+"] <= 1


async def _until_read(log: KafkaLog, shard: Shard, count: int) -> None:
    reader = log.reader(shard, 0)
    found = 0
    while found < count:
        found += len(await reader.read(10.0))
    await reader.close()


async def test_brokers_that_restart_in_order_one_after_the_other_leave_hardly_a_doubt(
    kafka_cluster: Brokers, open_log: OpenLog
) -> None:
    """A broker that is stopped in order hands its leaderships over first; batches are turned away and sent again.

    The request that is on its way when a broker closes its sockets may still be in doubt: one a restart.
    """
    log = open_log(kafka_cluster.bootstrap, send_s=20.0)
    shard = await make_shard(log)
    over = asyncio.Event()
    senders = [asyncio.create_task(send_all(log, shard, f"s{number}", over)) for number in range(SENDERS)]
    for node in kafka_cluster.nodes:
        await asyncio.to_thread(kafka_cluster.restart, node)
        await asyncio.to_thread(kafka_cluster.wait_in_sync)
    over.set()
    outcomes = await asyncio.gather(*senders)
    _judge(outcomes, [each.value.decode() for each in await read_all(log, shard)])
    assert sum(len(each.denied) for each in outcomes) == 0
    assert sum(len(each.doubtful) for each in outcomes) <= SENDERS * len(kafka_cluster.nodes)


async def test_without_two_replicas_nothing_is_written_and_that_is_told(
    kafka_cluster: Brokers, open_log: OpenLog
) -> None:
    """A partition that has lost two of its three brokers takes no batch; when one is back, it does again.

    Proves: LOG-07 (min.insync.replicas=2 is what keeps an acknowledged batch on two brokers).
    """
    log = open_log(kafka_cluster.bootstrap, send_s=2.0, connect_s=0.5, ask_s=10.0)
    shard = await make_shard(log)
    told = [await _send_until_told(log, shard, "whole")]
    leader = await log.cluster.leader(shard)
    first, second = [node for node in kafka_cluster.nodes if node != leader]
    await asyncio.to_thread(kafka_cluster.kill, first)
    told.append(await _send_until_told(log, shard, "two left"))
    await asyncio.to_thread(kafka_cluster.kill, second)
    # One controller of three decides nothing, so the in-sync set stays, and the leader waits for a follower in vain.
    with pytest.raises((Doubt, NotNow)):
        await log.send(shard, [record("one left")])
    await asyncio.to_thread(kafka_cluster.restart, first)
    told.append(await _send_until_told(log, shard, "two again"))
    values = {stored.offset: stored.value.decode() for stored in await read_all(log, shard)}
    assert [values[offset].split()[0] for offset in told] == ["whole", "two", "two"]
    assert sorted(values) == list(range(len(values)))


async def _send_until_told(log: KafkaLog, shard: Shard, value: str) -> int:
    """The offset of the first batch that is acknowledged; those before it may or may not have landed."""
    async with asyncio.timeout(60):
        for number in count():
            try:
                return await log.send(shard, [record(f"{value} {number}")])
            except (Doubt, NotNow):
                continue
    raise AssertionError("unreachable")
