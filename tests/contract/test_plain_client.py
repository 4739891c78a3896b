"""The ten lines that a plain client needs, held against the engine's own rule on journals with void appends."""

import asyncio
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.plain_client import counted
from interlock.log.frame import NOTHING, Entry, Frame, assemble
from interlock.log.journal import START, Rule
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Shard, Stored, TopicSpec
from interlock.testing.virtual_time import LoopClock, run_virtual
from tests.support.appends import read_appends
from tests.support.takeovers import take_turns

SHARD = Shard("t.journal", 0)


@st.composite
def journals(draw: st.DrawFn) -> list[Stored]:
    """A journal of several writers, each of which had read to some boundary of it before it wrote."""
    records: list[Stored] = []
    # What a writer knows that has read to an offset: the last append that counts up to there, and its number.
    known: dict[int, tuple[str, int]] = {0: (NOTHING, 0)}
    for made in range(draw(st.integers(0, 25))):
        if draw(st.integers(0, 9)) == 0:
            # Somebody wrote to the journal who had no business there.
            known[len(records) + 1] = known[len(records)]
            records.append(Stored(len(records), 0, b"", b"hello", ()))
        base = len(records)
        read_to = draw(st.sampled_from(sorted(known)[-4:]))
        follows, number = known[read_to]
        events = draw(st.integers(0, 3))
        frame = Frame(
            id=f"{made + 1:032x}",
            number=number + 1,
            follows=follows,
            end=read_to,
            owner="owner",
            opened=False,
            size=1 + events,
            position=0,
        )
        batch = assemble(frame, b"note", [Entry("event", b"a:1", b"value", ()) for _ in range(events)])
        records += [Stored(base + i, 0, one.key, one.value, one.headers) for i, one in enumerate(batch)]
        counts = follows == known[base][0]
        known[len(records)] = (frame.id, frame.number) if counts else known[base]
    return records


def plain(records: Sequence[Stored], last: bytes | None) -> list[tuple[int, int]]:
    """Offset and size of each append that the ten lines let count."""
    return [(append[0].offset, len(append)) for append in counted(records, last)]


def judged(records: Sequence[Stored], rule: Rule) -> list[tuple[int, int]]:
    """The same as the engine judges it."""
    fed = (rule.feed(one) for one in records)
    return [(append.base, append.frame.size) for append in fed if append is not None]


@given(journals())
def test_ten_lines_let_the_same_appends_count_as_the_engine(records: list[Stored]) -> None:
    """Proves: LOG-03"""
    assert plain(records, NOTHING.encode()) == judged(records, Rule(START, 0))


@given(journals(), st.data())
def test_ten_lines_may_begin_anywhere(records: list[Stored], data: st.DataObject) -> None:
    """Proves: LOG-03"""
    start = data.draw(st.integers(0, len(records)))
    assert plain(records[start:], None) == judged(records[start:], Rule(None, start))


@pytest.mark.parametrize("seed", range(5))
def test_ten_lines_read_what_writers_that_took_a_journal_from_each_other_left(seed: int) -> None:
    """Proves: LOG-03"""
    run_virtual(_contend(random.Random(seed)))


async def _contend(chance: random.Random) -> None:
    broker = MemoryBroker(LoopClock(asyncio.get_running_loop()).now_ms)
    broker.create(TopicSpec(name=SHARD.topic, partitions=1))
    log = MemoryLog(broker)
    assert await take_turns(log, SHARD, chance, appends=60) > 10
    records = await log.reader(SHARD, 0).read(0.1)
    assert len(records) == await log.end(SHARD)
    appends = await read_appends(log, SHARD)
    assert plain(records, NOTHING.encode()) == [(one.base, one.frame.size) for one in appends]
