"""The source of an ingress on Kafka: positions in a group's offsets, at least once, fenced, transactions honoured."""

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.record.util import calc_crc32c

from interlock.log.group import ReadingGroup
from interlock.log.kafka import wire
from interlock.log.kafka.log import KafkaLog
from interlock.log.port import Record, Shard, Stored, TopicSpec
from tests.kafka.conftest import OpenLog, record

pytestmark = pytest.mark.kafka

QUICK = {"session_s": 1.5, "rebalance_s": 3.0}
PARTITIONS = 4


async def topic_of(log: KafkaLog) -> str:
    topic = f"{log.settings.prefix}.stimuli"
    await log.create([TopicSpec(name=topic, partitions=PARTITIONS)])
    return topic


async def poll(source: ReadingGroup, count: int) -> dict[Shard, list[bytes]]:
    """Polls until so many records have come."""
    found: dict[Shard, list[bytes]] = {}
    async with asyncio.timeout(60):
        while sum(len(values) for values in found.values()) < count:
            for shard, records in await source.poll(5.0):
                found.setdefault(shard, []).extend(stored.value for stored in records)
    return found


async def test_what_was_committed_is_not_polled_again_and_all_else_is(log: KafkaLog) -> None:
    topic = await topic_of(log)
    for number in range(PARTITIONS):
        await log.send(Shard(topic, number), [record(f"{number}.{index}") for index in range(3)])
    source = log.group_source([topic], "ingress")
    found = await poll(source, 3 * PARTITIONS)
    assert found[Shard(topic, 2)] == [b"2.0", b"2.1", b"2.2"]
    offsets = {Shard(topic, 0): 3, Shard(topic, 1): 1}
    assert await source.commit(offsets) == offsets.keys()
    await source.close()
    again = log.group_source([topic], "ingress")
    found = await poll(again, 8)
    assert Shard(topic, 0) not in found
    assert found[Shard(topic, 1)] == [b"1.1", b"1.2"]
    assert await again.poll(0.0) == []
    await again.close()


async def test_a_record_that_comes_while_polling_is_returned_at_once(log: KafkaLog) -> None:
    topic = await topic_of(log)
    source = log.group_source([topic], "ingress")
    while not source.shards:
        await source.poll(0.1)
    polling = asyncio.create_task(source.poll(30.0))
    await asyncio.wait({polling}, timeout=0.1)
    await log.send(Shard(topic, 3), [record("now")])
    async with asyncio.timeout(10.0):
        [(shard, records)] = await polling
    assert (shard.partition, [stored.value for stored in records]) == (3, [b"now"])
    await source.close()


async def test_a_shard_that_was_given_away_can_not_be_committed(
    kafka_bootstrap: str, log: KafkaLog, open_log: OpenLog
) -> None:
    """Who has it polls its records again; a position of who had it would skip some."""
    topic = await topic_of(log)
    one = open_log(kafka_bootstrap, prefix=log.settings.prefix, **QUICK)
    two = open_log(kafka_bootstrap, prefix=log.settings.prefix, **QUICK)
    for number in range(PARTITIONS):
        await log.send(Shard(topic, number), [record(number)])
    first = one.group_source([topic], "ingress")
    await poll(first, PARTITIONS)
    second = two.group_source([topic], "ingress")
    taken = await poll(second, PARTITIONS // 2)
    async with asyncio.timeout(60):
        while len(first.shards) != PARTITIONS // 2:
            await first.poll(0.5)
    everything = {Shard(topic, number): 1 for number in range(PARTITIONS)}
    assert await first.commit(everything) == everything.keys() - taken.keys()
    assert await second.commit(everything) == taken.keys()
    await first.close()
    await second.close()


async def test_a_record_that_breaks_kafka_s_own_rules_does_not_stop_those_behind_it(log: KafkaLog) -> None:
    """A header's name that is no UTF-8, and one without a value: brokers take both from any C client."""
    topic = await topic_of(log)
    shard = Shard(topic, 0)
    await log.send(shard, [record("before")])
    odd = [Record(b"k", b"odd %d" % number, (("n" * 7, b"1"), ("", b""))) for number in range(3)]
    batch = bytes(wire.build_batch(odd, 0)).replace(b"n" * 7, b"na\xffme\xfe!", 2)
    node = await log.cluster.leader(shard)
    [landed] = (await log.cluster.call(node, wire.produce({shard: sealed(batch)}, 5.0), timeout_s=9.0)).values()
    assert landed.code == 0
    await log.send(shard, [record("behind")])
    source = log.group_source([topic], "ingress")
    found: list[Stored] = []
    async with asyncio.timeout(60):
        while len(found) < 5:
            for _, records in await source.poll(5.0):
                found.extend(records)
    await source.close()
    assert [stored.value for stored in found] == [b"before", b"odd 0", b"odd 1", b"odd 2", b"behind"]
    assert [stored.offset for stored in found] == [0, 1, 2, 3, 4]
    names = [stored.headers[0][0] for stored in found[1:4]]
    assert names == ["na\\xffme\\xfe!", "na\\xffme\\xfe!", "n" * 7]
    assert found[1].time_ms == found[3].time_ms >= found[0].time_ms


def sealed(batch: bytes) -> bytes:
    """The batch with the checksum of what it holds now."""
    checksum: int = calc_crc32c(batch[21:])
    return batch[:17] + checksum.to_bytes(4, "big") + batch[21:]


async def test_a_stimulus_that_its_sender_took_back_is_not_seen(log: KafkaLog) -> None:
    """Clients may write in transactions: aborted ones are left out, open ones are waited for."""
    topic = await topic_of(log)
    producer: Any = AIOKafkaProducer(
        bootstrap_servers=",".join(log.settings.bootstrap),
        transactional_id=f"{topic}.client",
        compression_type="gzip",
    )
    await producer.start()
    try:
        for word, commit in (("kept", True), ("taken back", False), ("kept too", True)):
            await producer.begin_transaction()
            await producer.send_and_wait(topic, word.encode(), partition=0)
            await (producer.commit_transaction() if commit else producer.abort_transaction())
        source = log.group_source([topic], "ingress")
        assert await poll(source, 2) == {Shard(topic, 0): [b"kept", b"kept too"]}
        await source.close()
        raw = log.reader(Shard(topic, 0), 0)
        assert [stored.value for stored in await raw.read(5.0)] == [b"kept", b"taken back", b"kept too"]
        await raw.close()
    finally:
        await producer.stop()
