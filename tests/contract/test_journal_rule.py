"""The journal's rule under contending writers and a log that fails in every way, from many seeds.

One writer is an ownership after another: it opens, appends commands, and settles what was in doubt by what its next
opening folds. In the end each command is acknowledged or denied, and the log agrees.
"""

import asyncio
import random
from collections.abc import Callable, Iterator

import pytest

from interlock.log.blobs import log as blob_log
from interlock.log.blobs.log import BlobLog
from interlock.log.blobs.memory import MemoryBlobs, MemoryStore
from interlock.log.faults import FaultRates, RandomFaults
from interlock.log.frame import Append, Entry
from interlock.log.journal import Journal, Lost, Position
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Log, Shard, TopicSpec, Unavailable
from interlock.schemas.codec import AvroCodec
from interlock.testing.virtual_time import LoopClock, run_virtual
from tests.contract.contender import SLEEPY, Contender, Fates, yes
from tests.support.appends import read_appends

SHARD = Shard("t.journal", 0)

FAULTS = FaultRates(
    acknowledged_late=0.05,
    acknowledgement_lost=0.05,
    lands_late=0.08,
    never_lands=0.05,
    lands_twice=0.08,
    refused=0.02,
    ask_late=0.05,
    unavailable=0.05,
    latency_s=(0.0, 0.02),
    delay_s=(0.001, 2.0),
)


def _bare(log: MemoryLog, _: random.Random) -> Log:
    return log


async def _contend(
    seed: int, connect: Callable[[MemoryLog, random.Random], Log] = _bare
) -> tuple[Fates, list[Append], Log]:
    chance = random.Random(seed)
    broker = MemoryBroker(LoopClock(asyncio.get_running_loop()).now_ms)
    broker.create(TopicSpec(name=SHARD.topic, partitions=1))
    fates = Fates()
    chances = [random.Random(seed * 10 + i) for i in range(3)]
    logs = [connect(MemoryLog(broker, faults=RandomFaults(each, FAULTS)), each) for each in chances]
    writers = [Contender(f"w{i}", log, SHARD, fates.tell, chance, pace=SLEEPY) for i, log in enumerate(logs)]
    await asyncio.gather(*(writer.run(40) for writer in writers))
    await asyncio.sleep(60)  # virtual: lets what still is under way land, which must change nothing
    quiet = connect(MemoryLog(broker), random.Random(seed))
    while True:
        try:
            return fates, await read_appends(quiet, SHARD), quiet
        except Unavailable:
            await asyncio.sleep(0.1)


@pytest.mark.contract
@pytest.mark.parametrize("elsewhere", [False, True], ids=["bare", "blobs"])
@pytest.mark.parametrize("seed", range(60))
def test_acknowledged_counts_once_and_denied_never(seed: int, elsewhere: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves: LOG-01, LOG-06, OWN-01; LOG-05 where every value stands in a blob store that is away now and then."""
    store = MemoryStore()
    monkeypatch.setattr(blob_log, "INLINE_BYTES_MAX", 0)
    monkeypatch.setattr(blob_log, "BLOB_BYTES_MIN", 0)

    def with_blobs(log: MemoryLog, chance: random.Random) -> Log:
        return BlobLog(log, MemoryBlobs(store, away=lambda: chance.random() < 0.03), AvroCodec())

    async def scenario() -> None:
        fates, appends, _ = await _contend(seed, with_blobs if elsewhere else _bare)
        assert bool(store.values) == elsewhere
        fates.check(appends)
        assert len(fates.acknowledged) > 20

    run_virtual(scenario())


@pytest.mark.contract
@pytest.mark.parametrize("seed", range(20))
def test_every_reader_folds_the_same_wherever_it_begins(seed: int) -> None:
    """Proves: LOG-01, LOG-03."""

    async def scenario() -> None:
        _, appends, log = await _contend(seed)
        whole = [append.frame.id for append in appends]
        end = await log.end(SHARD)
        for offset in range(0, end, 7):
            found = [append.frame.id for append in await read_appends(log, SHARD, middle=offset)]
            assert found == whole[len(whole) - len(found) :]
            later = [append for append in appends if append.base >= offset and append.base == append.frame.end]
            assert not later or found[0] == later[0].frame.id
        for index in range(0, len(appends), 5):
            append = appends[index]
            events = append.frame.position + len(append.entries)
            place = Position(append.base, append.frame.id, append.frame.number, events)
            assert [one.frame.id for one in await read_appends(log, SHARD, place)] == whole[index + 1 :]

    run_virtual(scenario())


@pytest.mark.contract
def test_a_paused_owner_that_wakes_up_is_not_heard() -> None:
    """Proves: OWN-01, LOG-01. G1."""

    async def scenario() -> None:
        broker = MemoryBroker()
        broker.create(TopicSpec(name=SHARD.topic, partitions=1))
        log = MemoryLog(broker)
        ids = iter(f"{n:032x}" for n in range(1, 100))
        first = await _open(log, ids)
        await first.append(b"", [Entry("event", b"k", b"before", ())])
        second = await _open(log, ids)
        await second.append(b"", [Entry("event", b"k", b"after", ())])
        with pytest.raises(Lost):
            await first.append(b"", [Entry("event", b"k", b"late", ())])
        with pytest.raises(Lost):
            await first.append(b"", [Entry("event", b"k", b"again", ())])
        assert second.token > first.token
        values = [entry.value for append in await read_appends(log, SHARD) for entry in append.entries]
        assert values == [b"before", b"after"]

    run_virtual(scenario())


async def _open(log: Log, ids: Iterator[str]) -> Journal:
    return await Journal.open(
        log, SHARD, ids=lambda: next(ids), fold=lambda _: None, note=lambda: b"", still_assigned=yes
    )
