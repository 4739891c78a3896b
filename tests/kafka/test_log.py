"""The log on a healthy broker: what Kafka adds to the contract that all backends share."""

import asyncio
import statistics
import time

import pytest

from interlock.log.kafka.log import KafkaLog
from interlock.log.port import (
    BATCH_OVERHEAD_BYTES,
    RECORD_OVERHEAD_BYTES,
    BatchTooLarge,
    OffsetGone,
    Record,
    Refused,
    Shard,
    TopicSpec,
)
from interlock.runtime.clock import wall_ms
from tests.kafka.conftest import OpenLog, make_shard, read_all, record

pytestmark = pytest.mark.kafka


async def test_the_largest_batch_that_the_port_admits_fits(log: KafkaLog, shard: Shard) -> None:
    """Proves: LOG-05 (what is counted as fitting fits, and what does not is refused before it is sent)."""
    room = log.batch_bytes_max - BATCH_OVERHEAD_BYTES - RECORD_OVERHEAD_BYTES
    assert await log.send(shard, [Record(b"", b"x" * room)]) == 0
    with pytest.raises(BatchTooLarge):
        await log.send(shard, [Record(b"", b"x" * (room + 1))])
    many = [Record(b"k", b"")] * ((log.batch_bytes_max - BATCH_OVERHEAD_BYTES) // (RECORD_OVERHEAD_BYTES + 1))
    assert await log.send(shard, many) == 1
    assert len(await read_all(log, shard, 1)) == len(many)


async def test_a_topic_that_takes_less_than_the_log_refuses_for_good(
    kafka_bootstrap: str, log: KafkaLog, open_log: OpenLog
) -> None:
    shard = await make_shard(log)
    larger = open_log(kafka_bootstrap, batch_bytes_max=4 << 20)
    with pytest.raises(BatchTooLarge, match=r"max\.message\.bytes"):
        await larger.send(shard, [Record(b"", b"x" * (3 << 20))])
    assert await log.send(shard, [record(1)]) == 0


async def test_a_batch_that_has_no_bytes_is_refused_and_harms_no_other(log: KafkaLog, shard: Shard) -> None:
    bad = Record(b"", b"", (("\ud800", b""),))
    answers = await asyncio.gather(
        *(log.send(shard, [bad if number == 3 else record(number)]) for number in range(6)), return_exceptions=True
    )
    refused = [each for each in answers if isinstance(each, BaseException)]
    assert [type(each) for each in refused] == [Refused]
    assert sorted(each for each in answers if isinstance(each, int)) == [0, 1, 2, 3, 4]


async def test_batches_of_many_tasks_gather_and_each_is_told_its_own_offset(log: KafkaLog) -> None:
    """Concurrent batches for one shard share record batches; each is whole, and at the offset that it was told."""
    shard = await make_shard(log, partitions=4)
    shards = [Shard(shard.topic, number) for number in range(4)]

    async def send(number: int) -> tuple[Shard, int, int]:
        mine = shards[number % 4]
        batch = [record(f"{number}.{index}") for index in range(1 + number % 5)]
        return mine, await log.send(mine, batch), number

    sent = await asyncio.gather(*(send(number) for number in range(200)))
    for each in shards:
        found = await read_all(log, each)
        assert [stored.offset for stored in found] == list(range(len(found)))
        for mine, base, number in sent:
            if mine == each:
                values = [stored.value.decode() for stored in found[base : base + 1 + number % 5]]
                assert values == [f"{number}.{index}" for index in range(1 + number % 5)]


async def test_an_append_wakes_a_reader_that_waits(log: KafkaLog, shard: Shard) -> None:
    """Fetches are long polls: from the call of `send` to the record in hand takes a millisecond or two."""
    reader = log.reader(shard, 0)
    took_ms: list[float] = []
    for number in range(50):
        reading = asyncio.create_task(reader.read(10.0))
        await asyncio.sleep(0)
        began = time.perf_counter()
        await log.send(shard, [record(number)])
        assert [stored.value for stored in await reading] == [str(number).encode()]
        took_ms.append((time.perf_counter() - began) * 1000)
    await reader.close()
    # An idle machine does it in 1.1; what is held here is that nothing polls: the broker holds a fetch for 2,000.
    assert statistics.median(took_ms) < 100


async def test_a_read_that_is_cancelled_loses_nothing(log: KafkaLog, shard: Shard) -> None:
    reader = log.reader(shard, 0)
    for number in range(5):
        reading = asyncio.create_task(reader.read(10.0))
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await log.send(shard, [record(number)])
    values: list[bytes] = []
    while len(values) < 5:
        values.extend(stored.value for stored in await reader.read(10.0))
    await reader.close()
    assert values == [b"0", b"1", b"2", b"3", b"4"]


async def test_reading_begins_in_the_middle_of_a_batch(log: KafkaLog, shard: Shard) -> None:
    await log.send(shard, [record(number) for number in range(1200)])
    found = await read_all(log, shard, 777)
    assert [stored.offset for stored in found] == list(range(777, 1200))
    assert found[0].value == b"777"
    assert found[0].headers == (("kind", b"event"),)
    assert abs(found[0].time_ms / 1000 - time.time()) < 60


async def test_what_is_trimmed_is_gone_and_the_end_stays(log: KafkaLog, shard: Shard) -> None:
    await log.send(shard, [record(number) for number in range(10)])
    await log.trim(shard, 4)
    assert await log.extent(shard) == (4, 10)
    assert await log.end(shard) == 10
    with pytest.raises(OffsetGone):
        await log.reader(shard, 3).read(0.0)
    with pytest.raises(OffsetGone):
        await log.trim(shard, 11)
    with pytest.raises(OffsetGone):
        await log.reader(shard, 11).read(0.0)


async def test_a_topic_made_anew_has_another_id(log: KafkaLog, shard: Shard) -> None:
    before = await log.topic_id(shard.topic)
    assert len(before) == 22
    assert await log.topic_id(shard.topic) == before
    await log.delete(shard.topic)
    assert await log.create([TopicSpec(name=shard.topic, partitions=1)]) == [shard.topic]
    assert await log.topic_id(shard.topic) != before


async def test_the_clock_of_the_broker_is_measured(log: KafkaLog) -> None:
    """Proves: LOG-07 (both run on this machine, so a skew that is found can only be an error of measuring)."""
    assert abs(await log.clock_skew_s(wall_ms)) < 1.0
