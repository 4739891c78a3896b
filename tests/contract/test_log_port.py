"""What the engine relies on in any log: one suite, run on every backend.

No test waits for time to pass: it waits for the thing, and a bound (`HANG_S`) only says when to give up.
"""

import asyncio
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from interlock.log.port import (
    BATCH_OVERHEAD_BYTES,
    RECORD_OVERHEAD_BYTES,
    BatchTooLarge,
    Doubt,
    Extent,
    Log,
    LogError,
    NoSuchShard,
    OffsetGone,
    Record,
    Refused,
    Shard,
    Stored,
    TopicSpec,
    Unavailable,
    batch_bytes,
)
from interlock.runtime.clock import wall_ms
from tests.contract.backends import Backend
from tests.contract.child import BATCH_RECORDS, batch_of
from tests.contract.processes import child, line_of, lines_of

pytestmark = [pytest.mark.contract]

HANG_S = 30.0

ODD = [
    Record(b"", b""),
    Record(b"\0", b"\0\0", (("", b""), ("\0", b"\0"))),
    Record(b"key\0with\0nul", bytes(range(256)), (("a", b"1"), ("a", b"2"), ("a", b"1"))),
    Record(
        "schlüssel".encode(), b"\xc3\x01\xff", (("größe", b"\xff"), ("键", b""), ("👩‍🚒", b"e"), ("ä", b"decomposed"))
    ),
]


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A batch of a child or a task, and where it was told that it landed."""

    shard: Shard
    offset: int
    name: str


def values(records: Sequence[Stored]) -> list[bytes]:
    return [record.value for record in records]


def one(value: bytes = b"v") -> list[Record]:
    return [Record(b"k", value)]


def sized(size: int) -> list[Record]:
    """A batch of exactly so many bytes."""
    return [Record(b"", bytes(size - BATCH_OVERHEAD_BYTES - RECORD_OVERHEAD_BYTES))]


async def read_to_end(log: Log, shard: Shard, offset: int = 0) -> list[Stored]:
    """All records from `offset` to what is the end now."""
    end = await log.end(shard)
    reader = log.reader(shard, offset)
    found: list[Stored] = []
    while offset + len(found) < end:
        records = await reader.read(HANG_S)
        assert records, f"expected {shard} to be read to {end}, found nothing behind {offset + len(found)}"
        found.extend(records)
    await reader.close()
    return found


def check_batches(acknowledged: Sequence[Acknowledged], found: Sequence[Stored], shard: Shard) -> None:
    """Every acknowledged batch stands whole where it was told to, no other one, and offsets are without a gap."""
    assert [record.offset for record in found] == list(range(len(found)))
    here = {each.offset: each.name for each in acknowledged if each.shard == shard}
    assert sorted(here) == list(range(0, len(found), BATCH_RECORDS))
    for offset, name in here.items():
        records = found[offset : offset + BATCH_RECORDS]
        assert [(record.key, record.value) for record in records] == [
            (record.key, record.value) for record in batch_of(name)
        ]


async def send_many(log: Log, shard: Shard, name: str, batches: int) -> list[Acknowledged]:
    return [
        Acknowledged(shard, await log.send(shard, batch_of(f"{name}-{number}")), f"{name}-{number}")
        for number in range(batches)
    ]


async def test_offsets_begin_at_zero_and_rise_by_one(backend: Backend) -> None:
    """Proves: LOG-02"""
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log
    assert await log.extent(shard) == Extent(0, 0)
    assert [await log.send(shard, one() * count) for count in (1, 3, 2)] == [0, 1, 4]
    assert await log.extent(shard) == Extent(0, 6)
    assert await log.end(shard) == 6
    assert [record.offset for record in await read_to_end(log, shard)] == [0, 1, 2, 3, 4, 5]


async def test_partitions_count_by_themselves(backend: Backend) -> None:
    topic = await backend.topic(3)
    log = backend.open().log
    for partition in range(3):
        assert await log.send(Shard(topic, partition), one(b"%d" % partition)) == 0
    for partition in range(3):
        assert values(await read_to_end(log, Shard(topic, partition))) == [b"%d" % partition]


async def test_batches_of_many_senders_stay_whole(backend: Backend) -> None:
    """Proves: LOG-01, LOG-02"""
    topic = await backend.topic(2)
    logs = [backend.open().log for _ in range(2)]
    sent = await asyncio.gather(
        *(send_many(logs[sender % 2], Shard(topic, sender // 2 % 2), f"s{sender}", 10) for sender in range(16))
    )
    acknowledged = [each for some in sent for each in some]
    for shard in (Shard(topic, 0), Shard(topic, 1)):
        for log in logs:
            check_batches(acknowledged, await read_to_end(log, shard), shard)


@pytest.mark.backends("sqlite", "kafka")
async def test_batches_of_several_processes_stay_whole(backend: Backend) -> None:
    """Proves: LOG-01, LOG-02"""
    topic = await backend.topic(2)
    log = backend.open().log
    async with (
        child(backend, "write", topic, 2, "a", 4, 25) as a,
        child(backend, "write", topic, 2, "b", 4, 25) as b,
    ):
        own = [send_many(log, Shard(topic, sender % 2), f"own-{sender}", 25) for sender in range(4)]
        sent, *lines = await asyncio.gather(asyncio.gather(*own), lines_of(a), lines_of(b))
    acknowledged = [each for some in sent for each in some]
    for partition, offset, name in (line.split() for some in lines for line in some):
        acknowledged.append(Acknowledged(Shard(topic, int(partition)), int(offset), name))
    assert len(acknowledged) == 3 * 4 * 25
    for shard in (Shard(topic, 0), Shard(topic, 1)):
        check_batches(acknowledged, await read_to_end(log, shard), shard)


@pytest.mark.backends("sqlite", "kafka")
async def test_what_a_killed_process_was_told_is_there(backend: Backend) -> None:
    """Proves: LOG-02"""
    topic = await backend.topic(2)
    acknowledged: list[Acknowledged] = []
    for life in range(3):
        async with child(backend, "write", topic, 2, f"life{life}", 6, 0) as process:
            lines = [await line_of(process) for _ in range(40)]
            process.send_signal(signal.SIGKILL)
            lines += await lines_of(process)
        assert await process.wait() == -signal.SIGKILL
        for partition, offset, name in (line.split() for line in lines):
            acknowledged.append(Acknowledged(Shard(topic, int(partition)), int(offset), name))
    log = backend.open().log
    for shard in (Shard(topic, 0), Shard(topic, 1)):
        found = await read_to_end(log, shard)
        whole = [
            Acknowledged(shard, offset, found[offset].key.decode()) for offset in range(0, len(found), BATCH_RECORDS)
        ]
        check_batches(whole, found, shard)
        assert {each for each in acknowledged if each.shard == shard} <= set(whole)
        assert await log.send(shard, one()) == len(found)


async def test_a_reader_begins_in_the_middle_of_a_batch(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log, other = backend.open().log, backend.open().log
    await log.send(shard, [Record(b"", b"%d" % index) for index in range(5)])
    await log.send(shard, [Record(b"", b"%d" % index) for index in range(5, 8)])
    for offset in range(8):
        for each in (log, other):
            assert values(await read_to_end(each, shard, offset)) == [b"%d" % index for index in range(offset, 8)]


async def test_a_reader_at_the_end_gets_what_comes_next(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log
    await log.send(shard, one(b"before"))
    reader = log.reader(shard, 1)
    assert await reader.read(0) == ()
    await log.send(shard, one(b"after"))
    assert values(await reader.read(HANG_S)) == [b"after"]


async def test_a_reader_behind_the_end_is_told(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log
    await log.send(shard, one())
    for offset in (2, 1 << 40):
        with pytest.raises(OffsetGone) as gone:
            await log.reader(shard, offset).read(0)
        assert (gone.value.offset, gone.value.extent) == (offset, Extent(0, 1))


async def test_a_trimmed_head_is_gone_and_the_rest_stays(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    (log, admin, _), other = backend.open(), backend.open().log
    for value in (b"a", b"b", b"c"):
        await log.send(shard, one(value) * 2)
    before = await read_to_end(log, shard)
    await admin.trim(shard, 3)
    for each in (log, other):
        assert await each.extent(shard) == Extent(3, 6)
        assert await each.end(shard) == 6
        with pytest.raises(OffsetGone) as gone:
            await each.reader(shard, 2).read(0)
        assert gone.value.extent == Extent(3, 6)
        assert await read_to_end(each, shard, 3) == before[3:]
    await admin.trim(shard, 2)
    assert await log.extent(shard) == Extent(3, 6)


async def test_a_shard_that_was_trimmed_to_its_end_goes_on_there(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    (log, admin, _), other = backend.open(), backend.open().log
    assert await log.send(shard, one() * 3) == 0
    assert await other.send(shard, one() * 2) == 3
    await admin.trim(shard, 5)
    assert await log.extent(shard) == Extent(5, 5)
    # Neither of them may go on at an offset that it knew before.
    assert await log.send(shard, one(b"x")) == 5
    assert await other.send(shard, one(b"y")) == 6
    assert values(await read_to_end(other, shard, 5)) == [b"x", b"y"]
    with pytest.raises(OffsetGone):
        await admin.trim(shard, 8)


async def test_a_waiting_reader_is_woken_by_an_append(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log, other = backend.open().log, backend.open().log
    readers = [each.reader(shard, 0) for each in (log, log, other)]
    for number in range(3):
        waiting = [asyncio.create_task(reader.read(HANG_S)) for reader in readers]
        began = time.monotonic()
        await log.send(shard, one(b"%d" % number))
        for task in waiting:
            assert values(await task) == [b"%d" % number]
        assert time.monotonic() - began < HANG_S / 2


async def test_a_wait_for_nothing_gives_nothing(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log
    reader = log.reader(shard, 0)
    began = time.monotonic()
    assert await reader.read(0.05) == ()
    assert time.monotonic() - began >= 0.045
    assert await reader.read(0) == ()
    await log.send(shard, one())
    assert len(await reader.read(0)) == 1


async def test_the_end_covers_everything_acknowledged(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log

    async def send_and_ask(count: int) -> None:
        for _ in range(10):
            offset = await log.send(shard, one() * count)
            assert await log.end(shard) >= offset + count

    await asyncio.gather(*(send_and_ask(count) for count in range(1, 6)))
    assert await log.extent(shard) == Extent(0, 150)


async def test_a_record_reads_the_same_every_time(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log, other = backend.open().log, backend.open().log
    tail = log.reader(shard, 0)
    seen: list[Stored] = []
    for number in range(5):
        await (log, other)[number % 2].send(shard, one(b"%d" % number) * 2)
        while len(seen) < 2 * (number + 1):
            seen.extend(await tail.read(HANG_S))
    assert await read_to_end(log, shard) == seen
    assert await read_to_end(other, shard) == seen


async def test_a_long_shard_is_read_in_order_and_whole(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log, other = backend.open().log, backend.open().log
    batch = [Record(b"%d" % index, bytes(500)) for index in range(20)]
    await asyncio.gather(*(log.send(shard, batch) for _ in range(150)))
    found = await read_to_end(other, shard)
    assert [record.offset for record in found] == list(range(3000))
    assert [record.key for record in found] == [record.key for record in batch] * 150


async def test_bytes_are_kept_exactly(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log, other = backend.open().log, backend.open().log
    tail = log.reader(shard, 0)
    await log.send(shard, ODD)
    for found in (await tail.read(HANG_S), await read_to_end(log, shard), await read_to_end(other, shard)):
        assert [Record(record.key, record.value, record.headers) for record in found] == ODD


async def test_the_time_of_a_shard_is_the_log_s_and_never_falls(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log, admin, _ = backend.open()
    for _ in range(5):
        await log.send(shard, one() * 2)
    times = [record.time_ms for record in await read_to_end(log, shard)]
    assert times == sorted(times)
    assert abs(times[0] / 1000 - time.time()) < HANG_S
    assert abs(await admin.clock_skew_s(wall_ms)) < 5


async def test_a_batch_of_the_largest_size_lands_and_a_larger_one_never(backend: Backend) -> None:
    """Proves: LOG-05"""
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log
    for size in (log.batch_bytes_max - 1, log.batch_bytes_max):
        assert batch_bytes(sized(size)) == size
        await log.send(shard, sized(size))
    if not backend.blobs:
        with pytest.raises(BatchTooLarge):
            await log.send(shard, sized(log.batch_bytes_max + 1))
    many = one() * (log.batch_bytes_max // RECORD_OVERHEAD_BYTES)
    with pytest.raises(BatchTooLarge):
        await log.send(shard, many)
    fitting = [Record(b"", b"", (("ü", b""),))] * ((log.batch_bytes_max - BATCH_OVERHEAD_BYTES) // batch_bytes(one()))
    await log.send(shard, fitting)
    assert await log.extent(shard) == Extent(0, 2 + len(fitting))


async def test_a_batch_that_makes_no_sense_is_refused(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log
    for batch in ([], [Record(b"", b"", (("\ud800", b"half of a surrogate pair"),))]):
        with pytest.raises(Refused):
            await log.send(shard, batch)
    assert await log.extent(shard) == Extent(0, 0)


async def test_a_missing_shard_is_named(backend: Backend) -> None:
    topic = await backend.topic(2)
    log, admin, _ = backend.open()
    for shard in (Shard(topic, 2), Shard(topic, -1), Shard(f"{topic}-missing", 0)):
        with pytest.raises(NoSuchShard):
            await log.send(shard, one())
        with pytest.raises(NoSuchShard):
            await log.end(shard)
        with pytest.raises(NoSuchShard):
            await log.reader(shard, 0).read(0)
    with pytest.raises(NoSuchShard):
        await admin.topic_id(f"{topic}-missing")


async def test_one_missing_shard_spoils_no_other_send(backend: Backend) -> None:
    topic = await backend.topic()
    log = backend.open().log
    sends = [log.send(Shard(topic, number % 2), one()) for number in range(6)]
    answers = await asyncio.gather(*sends, return_exceptions=True)
    assert sorted(answer for answer in answers if isinstance(answer, int)) == [0, 1, 2]
    assert [type(answer) for answer in answers[1::2]] == [NoSuchShard] * 3


async def test_a_topic_made_anew_is_another_one(backend: Backend) -> None:
    """Proves: LOG-07"""
    topic = await backend.topic()
    shard = Shard(topic, 0)
    (log, admin, _), other = backend.open(), backend.open()
    await log.send(shard, one(b"old") * 3)
    await other.log.send(shard, one(b"old"))
    first_id = await admin.topic_id(topic)
    assert await other.admin.topic_id(topic) == first_id
    await admin.delete(topic)
    assert list(await admin.create([TopicSpec(name=topic, partitions=1)])) == [topic]
    for each in (admin, other.admin):
        assert await each.topic_id(topic) != first_id
    assert await log.extent(shard) == Extent(0, 0)
    assert await other.log.send(shard, one(b"new")) == 0
    assert await log.send(shard, one(b"new")) == 1
    for opened in (log, other.log):
        assert values(await read_to_end(opened, shard)) == [b"new", b"new"]


async def test_topics_that_exist_are_left_alone_and_checked(backend: Backend) -> None:
    """Proves: LOG-07"""
    topic = await backend.topic(2)
    log, admin, _ = backend.open()
    await log.send(Shard(topic, 1), one())
    spec, more = TopicSpec(name=topic, partitions=2), TopicSpec(name=topic, partitions=3)
    assert list(await admin.create([more])) == []
    assert await log.extent(Shard(topic, 1)) == Extent(0, 1)
    assert list(await admin.check([spec])) == []
    (fault,) = await admin.check([spec, more])
    assert (fault.topic, fault.expected, fault.found) == (topic, "3", "2")
    (fault,) = await admin.check([TopicSpec(name=f"{topic}-missing", partitions=2)])
    assert fault.topic == f"{topic}-missing"


async def test_closing_puts_what_is_under_way_in_doubt(backend: Backend) -> None:
    """No send hangs, and what it says is true of the log."""
    shard = Shard(await backend.topic(), 0)
    log, other = backend.open().log, backend.open().log
    await log.send(shard, one(b"first"))
    sends = [asyncio.create_task(log.send(shard, one(b"%d" % number))) for number in range(20)]
    await asyncio.sleep(0)
    await log.close()
    answers = await asyncio.gather(*sends, return_exceptions=True)
    assert all(isinstance(answer, int | Doubt | Refused) for answer in answers)
    assert not all(isinstance(answer, int) for answer in answers)
    found = {record.value: record.offset for record in await read_to_end(other, shard)}
    for number, answer in enumerate(answers):
        if isinstance(answer, int):
            assert found[b"%d" % number] == answer
        elif isinstance(answer, Refused):
            assert b"%d" % number not in found


async def test_a_closed_log_does_nothing_more(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log
    reader = log.reader(shard, 0)
    await log.send(shard, one())
    assert len(await reader.read(HANG_S)) == 1
    waiting = asyncio.create_task(reader.read(HANG_S))
    await asyncio.sleep(0)
    await log.close()
    for call in (waiting, log.end(shard), reader.read(0), log.reader(shard, 0).read(0)):
        with pytest.raises(Unavailable):
            await asyncio.wait_for(call, HANG_S / 2)
    with pytest.raises(LogError):
        await log.send(shard, one())
    await reader.close()
    await log.close()


async def test_a_send_that_was_given_up_harms_no_other(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log
    sends = [asyncio.create_task(log.send(shard, one(b"%d" % number))) for number in range(6)]
    await asyncio.sleep(0)
    sends[2].cancel()
    answers = await asyncio.gather(*sends, return_exceptions=True)
    assert isinstance(answers.pop(2), asyncio.CancelledError)
    found = {record.offset: record.value for record in await read_to_end(log, shard)}
    assert [found[answer] for answer in answers if isinstance(answer, int)] == [b"0", b"1", b"3", b"4", b"5"]
