"""Recorders of one application in several processes, on a log that fails in every way, on virtual time, from a seed."""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from uuid import uuid4

import pytest
from eventsourcing.persistence import (
    IntegrityError,
    InternalError,
    OperationalError,
    ProgrammingError,
    StoredEvent,
    Tracking,
)

from interlock.log.faults import (
    FaultRates,
    RandomFaults,
    ScriptedFaults,
    SendOutcome,
    acknowledgement_lost,
    lands_late,
    never_lands,
    refused,
)
from interlock.log.frame import Append, Entry, is_event
from interlock.log.journal import Journal, LogChanged
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import OffsetGone, Shard, TopicSpec, Unavailable
from interlock.log.recorder.commit import Commit
from interlock.log.recorder.host import Store
from interlock.log.recorder.index import Index
from interlock.testing.virtual_time import run_virtual
from tests.support.appends import read_appends

pytestmark = pytest.mark.contract

SHARD = Shard("interlock.app.Storm.journal", 0)

RATES = FaultRates(
    acknowledged_late=0.03,
    acknowledgement_lost=0.05,
    lands_late=0.05,
    never_lands=0.05,
    lands_twice=0.05,
    unavailable=0.05,
    ask_late=0.05,
    latency_s=(0.0005, 0.003),
    delay_s=(0.001, 0.5),
)


class Process:
    """One process's recorder, which may be closed and opened again."""

    def __init__(self, broker: MemoryBroker, faults: RandomFaults | ScriptedFaults, chance: random.Random) -> None:
        self._broker = broker
        self._faults = faults
        self._chance = chance
        self.log: MemoryLog
        self.store: Store
        self.open()

    def open(self) -> None:
        """Begins with an empty index, as after a crash without its file."""
        self.log = MemoryLog(self._broker, faults=self._faults)
        self.store = Store(self.log, SHARD, Index(None, "id"), dense=True, chance=self._chance)

    async def close(self) -> None:
        """Ends what is under way."""
        await self.store.close()
        await self.log.close()

    async def insert(self, *events: StoredEvent, tracking: Tracking | None = None) -> Sequence[int]:
        """As a caller's thread would."""
        commit = Commit(events, tracking)
        self.store.writer.put(commit)
        return await asyncio.wrap_future(commit.answer)


class Ledger:
    """What was asked, and what was answered."""

    def __init__(self) -> None:
        self.acknowledged: dict[bytes, Sequence[int]] = {}
        self.refused: set[bytes] = set()
        self.unknown: set[bytes] = set()


async def appends_of(broker: MemoryBroker) -> list[Append]:
    """Every append that counts, as a reader without faults sees it."""
    log = MemoryLog(broker)
    found = await read_appends(log, SHARD)
    await log.close()
    return found


def event(originator: str, version: int, state: bytes) -> StoredEvent:
    """An event whose state tells it from all others."""
    return StoredEvent(originator, version, "tests:Happened", state)


async def client(name: str, processes: list[Process], chance: random.Random, ledger: Ledger) -> None:
    """Reads an originator that others write too, and writes its next events, as an application would."""
    for number in range(25):
        process = chance.choice(processes)
        originator = chance.choice("abc")
        version = process.store.index.last_version(originator)
        start = 1 if version is None else version + 1
        state = f"{name}-{number}".encode()
        events = [event(originator, start + index, state + b"/%d" % index) for index in range(chance.randint(1, 3))]
        try:
            ledger.acknowledged[state] = await process.insert(*events)
        except (IntegrityError, ProgrammingError):
            # In conflict, or at a process that had been closed: never written.
            ledger.refused.add(state)
        except OperationalError:
            ledger.unknown.add(state)
        await asyncio.sleep(chance.uniform(0, 0.05))


async def storm(seed: int) -> tuple[list[Append], Ledger, list[list[tuple[int, bytes]]]]:
    """Several clients at several processes, of which some are ended meanwhile."""
    chance = random.Random(seed)
    broker = MemoryBroker()
    broker.create(TopicSpec(name=SHARD.topic, partitions=1))
    processes = [Process(broker, RandomFaults(chance, RATES), chance) for _ in range(3)]
    ledger = Ledger()
    clients = [asyncio.create_task(client(f"c{index}", processes, chance, ledger)) for index in range(4)]
    for _ in range(4):
        await asyncio.sleep(chance.uniform(0, 2))
        process = chance.choice(processes)
        await process.close()
        process.open()
    await asyncio.gather(*clients)
    indexes: list[list[tuple[int, bytes]]] = []
    for process in processes:
        await settled(process)
        found = process.store.index.notifications(1, None, (), 10_000)
        indexes.append([(each.id, each.state) for each in found])
        await process.close()
    return await appends_of(broker), ledger, indexes


async def settled(process: Process) -> None:
    """Returns when the process has folded all that landed, however often it is refused an answer."""
    while True:
        try:
            await process.store.follower.barrier()
        except Unavailable:
            continue
        return


@pytest.mark.parametrize("seed", range(12))
def test_what_was_acknowledged_counts_once_and_what_was_refused_never_does(seed: int) -> None:
    """Proves: LOG-01."""
    appends, ledger, indexes = run_virtual(storm(seed))
    events = [entry for append in appends for entry in append.entries if is_event(entry)]
    names = Counter(entry.value.partition(b"/")[0] for entry in events)
    places = {entry.value: place for place, entry in enumerate(events, 1)}
    assert len(places) == len(events), "an event counts twice"
    for state, ids in ledger.acknowledged.items():
        assert [places[state + b"/%d" % index] for index in range(len(ids))] == list(ids)
    assert ledger.refused & names.keys() == set()
    assert names.keys() <= ledger.acknowledged.keys() | ledger.unknown
    versions: defaultdict[bytes, list[int]] = defaultdict(list)
    for entry in events:
        versions[entry.key].append(int(dict(entry.headers)["revision"]))
    assert all(found == list(range(1, len(found) + 1)) for found in versions.values())
    whole = [(place, entry.value) for place, entry in enumerate(events, 1)]
    assert indexes == [whole] * 3
    assert len(ledger.acknowledged) > 20


async def one_process(faults: ScriptedFaults) -> tuple[MemoryBroker, Process]:
    broker = MemoryBroker()
    broker.create(TopicSpec(name=SHARD.topic, partitions=1))
    return broker, Process(broker, faults, random.Random(1))


@pytest.mark.parametrize("fault", [acknowledgement_lost(), lands_late(0.2, 0.1), never_lands(0.1)])
def test_a_commit_in_doubt_is_settled_by_the_journal_and_answered_once(fault: SendOutcome) -> None:
    async def main() -> None:
        faults = ScriptedFaults()
        broker, process = await one_process(faults)
        await process.insert(event("a", 1, b"one"))
        faults.next_sends(fault)
        assert list(await process.insert(event("a", 2, b"two"))) == [2]
        assert list(await process.insert(event("a", 3, b"three"))) == [3]
        await asyncio.sleep(1)
        await process.close()
        counted = [entry.value for append in await appends_of(broker) for entry in append.entries]
        assert counted == [b"one", b"two", b"three"]

    run_virtual(main())


def test_commits_that_come_while_an_append_is_on_its_way_share_the_next() -> None:
    async def main() -> None:
        broker, process = await one_process(ScriptedFaults())
        answers = [asyncio.create_task(process.insert(event(f"o{index}", 1, b"x"))) for index in range(100)]
        await asyncio.gather(*answers)
        await process.close()
        appends = await appends_of(broker)
        assert [append.frame.opened for append in appends] == [True, False]
        assert [answer.result()[0] for answer in answers] == list(range(1, 101))

    run_virtual(main())


def test_a_commit_that_conflicts_with_one_on_its_way_is_refused_only_once_that_one_counts() -> None:
    async def main() -> None:
        faults = ScriptedFaults()
        _, process = await one_process(faults)
        await process.insert(event("a", 1, b"one"))
        faults.next_sends(never_lands(0.1))
        first = asyncio.create_task(process.insert(event("a", 2, b"first")))
        second = asyncio.create_task(process.insert(event("a", 2, b"second")))
        done, _ = await asyncio.wait((first, second), timeout=0.09)
        assert not done
        assert list(await first) == [2]
        with pytest.raises(IntegrityError, match="version 3 of a to be next, found 2"):
            await second
        await process.close()

    run_virtual(main())


def test_a_batch_that_the_log_refuses_is_told_and_hinders_nothing() -> None:
    async def main() -> None:
        faults = ScriptedFaults()
        _, process = await one_process(faults)
        await process.insert(event("a", 1, b"one"))
        faults.next_sends(refused())
        with pytest.raises(OperationalError, match="refused by a fault"):
            await process.insert(event("a", 2, b"two"))
        assert list(await process.insert(event("a", 2, b"two"))) == [2]
        await process.close()

    run_virtual(main())


def test_a_log_that_is_made_anew_under_a_recorder_stops_it_loudly() -> None:
    async def main() -> None:
        broker, process = await one_process(ScriptedFaults())
        await process.insert(event("a", 1, b"one"))
        broker.delete(SHARD.topic)
        broker.create(TopicSpec(name=SHARD.topic, partitions=1))
        with pytest.raises(InternalError, match=r"has lost records|found offsets 0 to 0 only"):
            await process.insert(event("a", 2, b"two"))
        with pytest.raises((LogChanged, OffsetGone)):
            await process.store.follower.barrier()
        await process.close()

    run_virtual(main())


def test_a_journal_of_another_program_is_not_read_as_events() -> None:
    async def main() -> None:
        broker, process = await one_process(ScriptedFaults())
        journal = await Journal.open(
            MemoryLog(broker), SHARD, ids=lambda: uuid4().hex, fold=ignore, note=lambda: b"{}", still_assigned=always
        )
        await journal.append(b"{}", [Entry("event", b"a", b"state", (("kind-of", b"other"),))])
        with pytest.raises(InternalError, match="another program wrote it"):
            await process.insert(event("a", 1, b"one"))
        await process.close()

    run_virtual(main())


def ignore(_: Append) -> None:
    """Folds nothing."""


async def always() -> bool:
    """It is assigned."""
    return True


def test_what_was_asked_before_the_end_is_finished_and_what_comes_after_it_is_told() -> None:
    async def main() -> None:
        broker, process = await one_process(ScriptedFaults())
        asked = asyncio.create_task(process.insert(event("a", 1, b"one")))
        await asyncio.sleep(0)
        await process.store.close()
        assert list(await asked) == [1]
        with pytest.raises(ProgrammingError, match="closed"):
            await process.insert(event("a", 2, b"two"))
        await process.log.close()
        assert [entry.value for append in await appends_of(broker) for entry in append.entries] == [b"one"]

    run_virtual(main())
