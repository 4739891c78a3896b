"""What the log with a blob store promises beyond the port's contract, which `test_log_port.py` runs on it too."""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from uuid import uuid4

import pytest

from interlock.domain.blob import BlobReference
from interlock.log.blobs import log as blob_log
from interlock.log.blobs.log import H_BLOB, BlobLog
from interlock.log.blobs.memory import MemoryBlobs, MemoryStore
from interlock.log.blobs.store import BlobLost
from interlock.log.frame import Entry
from interlock.log.journal import Journal
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import (
    BatchTooLarge,
    NotNow,
    Record,
    Refused,
    Shard,
    Stored,
    TopicSpec,
    Unavailable,
    record_bytes,
)
from interlock.log.weight import BLOB_BYTES_MIN, CONTENT_BYTES_MAX, INLINE_BYTES_MAX, REFERENCE_BYTES
from interlock.schemas.codec import AvroCodec

pytestmark = pytest.mark.contract

SHARD = Shard("t", 0)
HEADERS = (("kind", b"event"), ("type", b"test"))


class Here:
    """A broker and a store, the log of one process over both, and the bare log."""

    def __init__(self) -> None:
        self.broker = MemoryBroker()
        self.broker.create(TopicSpec(name=SHARD.topic, partitions=1))
        self.store = MemoryStore()
        self.away = False
        self.bare = MemoryLog(self.broker)

    def open(self) -> BlobLog:
        """As another process would."""
        return BlobLog(MemoryLog(self.broker), MemoryBlobs(self.store, away=lambda: self.away), AvroCodec())

    async def stored(self) -> list[Stored]:
        """What stands in the log itself."""
        return list(await self.bare.reader(SHARD, 0).read(0.0))


@pytest.fixture
def here() -> Here:
    """Nothing sent yet."""
    return Here()


def record(size: int, fill: bytes = b"x") -> Record:
    return Record(b"k", fill * size, HEADERS)


async def read_all(log: BlobLog) -> list[Record]:
    """Everything, in however many reads."""
    reader, end = log.reader(SHARD, 0), await log.end(SHARD)
    found: list[Record] = []
    while len(found) < end:
        found += [Record(each.key, each.value, each.headers) for each in await reader.read(0.0)]
    return found


async def test_a_value_over_the_limit_stands_in_the_blob_store_and_is_read_as_it_was_sent(here: Here) -> None:
    """Proves: LOG-05"""
    sent = [record(10), record(INLINE_BYTES_MAX), record(INLINE_BYTES_MAX + 1), record(5 << 20, b"y")]
    await here.open().send(SHARD, sent)
    assert await read_all(here.open()) == sent
    in_log = await here.stored()
    assert [len(each.value) for each in in_log[:2]] == [10, INLINE_BYTES_MAX]
    for stored, original in zip(in_log[2:], sent[2:], strict=True):
        sha256, size = hashlib.sha256(original.value).hexdigest(), len(original.value)
        # A plain client needs the headers alone, or the schema alone.
        assert stored.headers == (*HEADERS, (H_BLOB, f"sha256:{sha256};size={size}".encode()))
        assert AvroCodec().decode(stored.value) == BlobReference(sha256=sha256, size=size)
        assert here.store.values[sha256] == original.value


async def test_what_does_not_fit_is_put_away_largest_first_and_no_more_than_has_to_be(here: Here) -> None:
    """Proves: LOG-05"""
    sizes = [100_000, 220_000, 250_000, 200_000, 240_000, 230_000, 10]
    sent = [record(size, b"%d" % (index % 10)) for index, size in enumerate(sizes)]
    await here.open().send(SHARD, sent)
    away = [size for size, each in zip(sizes, await here.stored(), strict=True) if each.headers[-1][0] == H_BLOB]
    assert away == [250_000]
    assert await read_all(here.open()) == sent


async def test_what_can_t_be_made_to_fit_is_refused_and_nothing_is_put(here: Here) -> None:
    """Proves: LOG-05"""
    log = here.open()
    many = [record(BLOB_BYTES_MIN)] * (log.batch_bytes_max // BLOB_BYTES_MIN)
    with pytest.raises(BatchTooLarge):
        await log.send(SHARD, [*many, record(1 << 20)])
    content_max = CONTENT_BYTES_MAX + log.batch_bytes_max
    with pytest.raises(BatchTooLarge, match=str(content_max)):
        await log.send(SHARD, [record(content_max)])
    assert here.store.values == {}
    assert await log.end(SHARD) == 0
    await log.send(SHARD, [record(CONTENT_BYTES_MAX - 1_000)])


async def test_a_store_that_is_away_is_an_outage_for_writers_and_readers(here: Here) -> None:
    """Proves: LOG-05. Nothing has landed, the reader keeps its place, and what is small passes."""
    await here.open().send(SHARD, [record(1), record(1 << 20), record(2)])
    here.away = True
    with pytest.raises(NotNow, match="nothing was sent"):
        await here.open().send(SHARD, [record(1 << 20, b"z")])
    assert await here.open().send(SHARD, [record(1)]) == 3
    reader = here.open().reader(SHARD, 0)
    # What stands before is not kept back.
    assert [len(each.value) for each in await reader.read(0.0)] == [1]
    for _ in range(2):
        with pytest.raises(Unavailable):
            await reader.read(0.0)
    here.away = False
    assert [(each.offset, len(each.value)) for each in await reader.read(0.0)] == [(1, 1 << 20), (2, 2), (3, 1)]


@pytest.mark.parametrize("change", ["missing", "shorter", "longer", "changed"])
async def test_a_value_that_is_lost_stops_the_reader_and_says_which_and_where(here: Here, change: str) -> None:
    """Proves: LOG-05. It is never taken for data, and never for an outage."""
    await here.open().send(SHARD, [record(1), record(1 << 20)])
    [(sha256, value)] = here.store.values.items()
    del here.store.values[sha256]
    if change != "missing":
        changed = {"shorter": value[:-1], "longer": value + b"x", "changed": b"y" + value[1:]}
        here.store.values[sha256] = changed[change]
    reader = here.open().reader(SHARD, 0)
    assert len(await reader.read(0.0)) == 1
    for _ in range(2):
        with pytest.raises(BlobLost, match=rf"{sha256} at memory:, which the record at t/0@1 refers to"):
            await reader.read(0.0)
    here.store.values[sha256] = value
    assert [each.value for each in await reader.read(0.0)] == [value]


async def test_one_read_holds_a_bounded_number_of_bytes(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves: LOG-05"""
    monkeypatch.setattr(blob_log, "READ_BYTES_MAX", 3 << 20)
    sent = [record((1 << 20) + index, b"%d" % (index % 10)) for index in range(10)] + [record(7 << 20)]
    await here.open().send(SHARD, sent)
    reader, sizes, found = here.open().reader(SHARD, 0), list[int](), list[bytes]()
    while len(found) < len(sent):
        some = await reader.read(0.0)
        sizes.append(sum(len(each.value) for each in some))
        found += [each.value for each in some]
    assert found == [each.value for each in sent]
    assert max(sizes[:-1]) <= 3 << 20
    assert sizes[-1] == 7 << 20


async def test_the_header_of_references_is_nobody_else_s(here: Here) -> None:
    with pytest.raises(Refused, match="blob"):
        await here.open().send(SHARD, [Record(b"", b"v", ((H_BLOB, b"sha256:"),))])


@pytest.mark.parametrize("value", [b"no reference", AvroCodec().encode(BlobReference(sha256="0" * 64, size=1))])
async def test_what_only_looks_like_a_reference_is_read_as_it_stands(here: Here, value: bytes) -> None:
    """Anybody with access to the log may write anything; the engine's own reads it as a dead letter then."""
    await here.bare.send(SHARD, [Record(b"", value, ((H_BLOB, b"sha256:"),))])
    [found] = await here.open().reader(SHARD, 0).read(0.0)
    assert (found.value, found.headers) == (value, ((H_BLOB, b"sha256:"),))


async def test_a_crash_between_the_blob_and_the_log_leaves_a_blob_and_nothing_else(here: Here) -> None:
    """Proves: LOG-05. The same again lands, and what was left is its blob."""

    class Crashed(Exception):
        """The process is gone."""

    class Crashing(MemoryLog):
        """Never gets to send."""

        async def send(self, shard: Shard, batch: Sequence[Record]) -> int:
            """The process ends here."""
            raise Crashed

    crashing = BlobLog(Crashing(here.broker), MemoryBlobs(here.store), AvroCodec())
    with pytest.raises(Crashed):
        await crashing.send(SHARD, [record(1 << 20)])
    left = dict(here.store.values)
    assert len(left) == 1
    assert await here.stored() == []
    await here.open().send(SHARD, [record(1 << 20)])
    assert here.store.values == left
    assert await read_all(here.open()) == [record(1 << 20)]


async def test_a_send_that_is_called_off_while_it_puts_sends_nothing(here: Here) -> None:
    sending = asyncio.create_task(here.open().send(SHARD, [record(1 << 20)]))
    await asyncio.sleep(0)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert await here.stored() == []


async def test_a_journal_with_large_events_is_folded_by_its_next_owner(here: Here) -> None:
    """Proves: LOG-05. A note is a value too, and the rule reads headers alone."""
    folded: list[bytes] = []

    async def owner() -> Journal:
        folded.clear()
        return await Journal.open(
            here.open(),
            SHARD,
            ids=lambda: uuid4().hex,
            fold=lambda append: folded.extend([append.note, *(each.value for each in append.entries)]),
            note=lambda: b"opened",
            still_assigned=_always,
            wait_s=0.0,
        )

    note = json.dumps(list(range(100_000))).encode()
    event = Entry("event", b"a:1", b"e" * (3 << 20), (("type", b"test"),))
    await (await owner()).append(note, [event, event])
    await owner()
    assert folded == [b"opened", note, event.value, event.value, b"opened"]


async def _always() -> bool:
    return True


async def test_a_reference_takes_no_more_than_is_counted_for_it(here: Here) -> None:
    sent = Record(b"", b"x" * (CONTENT_BYTES_MAX - 1_000))
    await here.open().send(SHARD, [sent])
    [stored] = await here.stored()
    assert record_bytes(Record(b"", stored.value, stored.headers)) <= record_bytes(Record(b"", b"")) + REFERENCE_BYTES
