"""What a unit takes: large decisions, many small ones, and never more than an append of a log with blobs holds."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.domain.decider import Change, Decision
from interlock.domain.executions.execution.events import ActivityCompleted
from interlock.log.blobs.log import H_BLOB, BlobLog
from interlock.log.blobs.memory import MemoryBlobs
from interlock.log.frame import Frame, assemble
from interlock.log.memory import MemoryLog
from interlock.log.port import BATCH_OVERHEAD_BYTES, BatchTooLarge, Record, Shard, TopicSpec, batch_bytes
from interlock.log.weight import BLOB_BYTES_MIN, CONTENT_BYTES_MAX, INLINE_BYTES_MAX, Load
from interlock.processors.mail import Cause
from interlock.processors.ports import Topics
from interlock.processors.unit import Book, Full, Unit
from interlock.schemas.codec import AvroCodec

CODEC = AvroCodec()
CAUSE = Cause("topic/0@1", "story", "")
BATCH_BYTES_MAX = 1 << 20
APPEND_BYTES_MAX = BATCH_BYTES_MAX * 3 // 4
"""As a processor's loop has it: the rest is for the frame."""
SHARD = Shard("t", 0)

sizes = st.one_of(
    st.integers(0, 2_000),
    st.sampled_from([BLOB_BYTES_MIN, BLOB_BYTES_MIN + 1, INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1]),
    st.integers(0, 600_000),
    st.integers(0, 3 << 20),
)


def unit() -> Unit:
    return Unit(
        book=Book(),
        codec=CODEC,
        topics=Topics("t", {"executions": 1}),
        apply=lambda stream, event: None,
        now_ms=1,
        number=1,
        publishing=1,
        bytes_max=APPEND_BYTES_MAX,
    )


def decision(*outputs: int) -> Decision:
    """One with events that have outputs of so many bytes."""
    return Decision(
        tuple(
            Change(f"execution:{index}", ActivityCompleted(node_id="n", attempt=1, output="x" * size, at_ms=1))
            for index, size in enumerate(outputs)
        ),
        (),
    )


def batch_of(full: Unit) -> list[Record]:
    """What is sent when the unit is appended."""
    size = 1 + len(full.events)
    frame = Frame(
        id="f" * 32, number=10**6, follows="f" * 32, end=10**9, owner="f" * 32, opened=False, size=size, position=10**9
    )
    return assemble(frame, b"note" * 1_000, full.events)


async def sent(batch: Sequence[Record]) -> list[bool]:
    """Lands it on a log with blobs, and tells of each record whether it stands elsewhere."""
    bare = MemoryLog(batch_bytes_max=BATCH_BYTES_MAX)
    await bare.create([TopicSpec(name=SHARD.topic, partitions=1)])
    log = BlobLog(bare, MemoryBlobs(), CODEC)
    await log.send(SHARD, batch)
    reader, found = log.reader(SHARD, 0), list[Record]()
    while len(found) < len(batch):
        found += [Record(each.key, each.value, each.headers) for each in await reader.read(0.0)]
    assert found == list(batch)
    return [each.headers[-1][0] == H_BLOB for each in await bare.reader(SHARD, 0).read(0.0)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(sizes, min_size=1, max_size=6), min_size=1, max_size=12))
def test_what_a_unit_took_always_lands_and_only_what_has_to_stands_elsewhere(decisions: list[list[int]]) -> None:
    """Proves: LOG-05. Group commit puts no small record away: that happens to one decision alone in its append."""
    full, taken = unit(), list[list[int]]()
    for outputs in decisions:
        try:
            full.take(decision(*outputs), CAUSE)
        except Full:
            break
        taken.append(outputs)
    assert taken or sum(decisions[0]) > CONTENT_BYTES_MAX // 2, "expected a decision of this size to have room alone"
    if not taken:
        return
    elsewhere = asyncio.run(sent(batch_of(full)))
    values = [len(entry.value) for entry in full.events]
    assert not elsewhere[0]
    for value, away in zip(values, elsewhere[1:], strict=True):
        assert away or value <= INLINE_BYTES_MAX
        if len(taken) > 1:
            assert away == (value > INLINE_BYTES_MAX)
        if away:
            assert value > BLOB_BYTES_MIN


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 2 << 20)), max_size=30))
def test_a_bound_never_weighs_less_than_what_it_bounds(records: list[tuple[int, int]]) -> None:
    """Proves: LOG-05"""
    exact, bound = Load(), Load()
    for overhead, size in records:
        exact.add(overhead, size)
        bound.add_bound(overhead, size + overhead)
    assert exact.least <= exact.weight <= exact.content
    assert exact.least <= bound.least
    assert exact.weight <= bound.weight
    assert exact.content <= bound.content


@given(st.lists(sizes, min_size=1, max_size=20))
def test_records_that_took_fit_a_batch_together(outputs: list[int]) -> None:
    """Proves: LOG-05. What couriers and the ingress send at once is not refused."""
    load, batch = Load(), list[Record]()
    for size in outputs:
        record = Record(b"key", bytes(size), (("type", b"t"),))
        if not load.took(record, BATCH_BYTES_MAX - BATCH_OVERHEAD_BYTES):
            break
        batch.append(record)
    assert batch
    asyncio.run(sent(batch))


def test_one_decision_of_many_values_has_an_append_to_itself() -> None:
    """Proves: LOG-05"""
    full = unit()
    full.take(decision(*[250_000] * 20), CAUSE)
    with pytest.raises(Full) as refused:
        full.take(decision(1), CAUSE)
    assert not refused.value.alone
    assert sum(asyncio.run(sent(batch_of(full)))) == 16


def test_a_unit_that_is_full_to_the_brim_lands_with_its_frame() -> None:
    """Proves: LOG-05. An append that was refused over and over would wedge its shard."""
    for below in range(0, 2_000, 20):
        full = unit()
        try:
            full.take(decision(*[CONTENT_BYTES_MAX // 4 - below] * 4), CAUSE)
        except Full:
            continue
        asyncio.run(sent(batch_of(full)))
        return
    raise AssertionError("expected a decision a little smaller than the bound to be taken")


@pytest.mark.parametrize("outputs", [[CONTENT_BYTES_MAX], [3_000] * 400])
def test_a_decision_that_no_append_holds_says_so_and_changes_nothing(outputs: list[int]) -> None:
    """Proves: LOG-05. Too many bytes, or too many values that are too small to stand elsewhere."""
    full = unit()
    with pytest.raises(Full, match="at once") as refused:
        full.take(decision(*outputs), CAUSE)
    assert refused.value.alone
    assert full.empty
    full.take(decision(5 << 20), CAUSE)
    assert batch_bytes(asyncio.run(_stored(batch_of(full)))) < BATCH_BYTES_MAX


def test_what_is_over_the_limit_is_refused_by_the_log_as_by_the_unit() -> None:
    """Proves: LOG-05"""
    with pytest.raises(BatchTooLarge):
        asyncio.run(sent([Record(b"", bytes(3_000))] * 400))


async def _stored(batch: Sequence[Record]) -> list[Record]:
    bare = MemoryLog(batch_bytes_max=BATCH_BYTES_MAX)
    await bare.create([TopicSpec(name=SHARD.topic, partitions=1)])
    await BlobLog(bare, MemoryBlobs(), CODEC).send(SHARD, batch)
    return [Record(each.key, each.value, each.headers) for each in await bare.reader(SHARD, 0).read(0.0)]
