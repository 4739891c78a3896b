"""The journal on every backend: several owners in one process and in several, paused owners, positions, limits.

`test_journal_rule.py` beside it tries the same rules under a log that fails on purpose, from seeds.
"""

import asyncio
import itertools
import random
import signal
from asyncio.subprocess import Process
from collections import Counter

import pytest

from interlock.log.frame import Append, Entry, assemble
from interlock.log.journal import START, Journal, JournalReader, LogChanged, Lost, NotAssigned, behind
from interlock.log.port import BatchTooLarge, Log, OffsetGone, Record, Shard, TopicSpec, batch_bytes
from tests.contract.backends import Backend
from tests.contract.contender import Contender, Fates, commands_of, yes
from tests.contract.processes import child, line_of, lines_of
from tests.support.appends import read_appends

pytestmark = [pytest.mark.contract, pytest.mark.timeout(90)]

IDS = (f"{number:032x}" for number in itertools.count(1))
CONTENDER = "tests.contract.contender"


async def opened(log: Log, shard: Shard, seen: list[Append] | None = None) -> Journal:
    folded: list[Append] = [] if seen is None else seen
    return await Journal.open(
        log, shard, ids=lambda: next(IDS), fold=folded.append, note=lambda: b"opened", still_assigned=yes, wait_s=0.2
    )


def event(value: bytes) -> Entry:
    return Entry("event", b"k:1", value, (("type", b"test"),))


def check_fates(told: list[tuple[str, str]], appends: list[Append]) -> None:
    """What contenders were told is so."""
    fates = Fates()
    for what, name in told:
        fates.tell(what, name)
    fates.check(appends)


async def test_contending_owners_in_one_process_lose_nothing_and_deny_for_good(backend: Backend) -> None:
    """Proves: LOG-01, LOG-06, OWN-01"""
    shard = Shard(await backend.topic(), 0)
    told: list[tuple[str, str]] = []
    enough = asyncio.Event()

    counts: Counter[str] = Counter()
    losers: set[str] = set()

    def tell(what: str, name: str) -> None:
        told.append((what, name))
        counts[what] += 1
        if what == "lost":
            losers.add(name)
        if counts["ack"] > 150 and len(losers) == 3:
            enough.set()

    contenders = [Contender(f"w{i}", backend.open().log, shard, tell, random.Random(i)) for i in range(3)]
    running = [asyncio.create_task(one.run()) for one in contenders]
    await enough.wait()
    for one in contenders:
        one.going = False
    await asyncio.gather(*running)
    check_fates(told, await read_appends(backend.open().log, shard))


async def _told(process: Process, until: str, count: int, told: list[tuple[str, str]]) -> None:
    """Reads what a child says until it has said `until` so often."""
    while count:
        what, _, name = (await line_of(process)).partition(" ")
        assert what, "expected the child to go on, found that it ended"
        told.append((what, name))
        count -= what == until


@pytest.mark.backends("sqlite", "kafka")
async def test_contending_processes_lose_nothing_and_deny_for_good(backend: Backend) -> None:
    """Proves: LOG-01, LOG-06, OWN-01"""
    topic = await backend.topic()
    told: list[tuple[str, str]] = []
    async with (
        child(backend, "contend", topic, "a", module=CONTENDER) as a,
        child(backend, "contend", topic, "b", module=CONTENDER) as b,
    ):
        await asyncio.gather(_told(a, "ack", 60, told), _told(b, "lost", 3, told))
        told += await _ended(a)
        told += await _ended(b)
    check_fates(told, await read_appends(backend.open().log, Shard(topic, 0)))


async def _ended(process: Process) -> list[tuple[str, str]]:
    assert process.stdin is not None
    process.stdin.close()
    parts = [line.partition(" ") for line in await lines_of(process)]
    return [(what, name) for what, _, name in parts]


@pytest.mark.backends("sqlite", "kafka")
async def test_a_process_paused_past_anothers_takeover_is_not_heard(backend: Backend) -> None:
    """Proves: OWN-01, LOG-01. G1."""
    topic = await backend.topic()
    told: list[tuple[str, str]] = []
    for round_ in range(3):
        async with child(backend, "contend", topic, f"paused{round_}", module=CONTENDER) as paused:
            await _told(paused, "ack", 20, told)
            paused.send_signal(signal.SIGSTOP)
            async with child(backend, "contend", topic, f"other{round_}", module=CONTENDER) as other:
                await _overtaken(paused, other, told)
                paused.send_signal(signal.SIGCONT)
                await _told(paused, "lost", 1, told)
                told += await _ended(other)
            # Alone again, it takes the journal over, and learns what became of what it was about to write.
            told += await _ended(paused)
    check_fates(told, await read_appends(backend.open().log, Shard(topic, 0)))


async def _overtaken(paused: Process, other: Process, told: list[tuple[str, str]]) -> None:
    """Waits until another has written; where it was stopped with the file's lock, stops it elsewhere."""
    while True:
        try:
            async with asyncio.timeout(5.0):
                await _told(other, "ack", 10, told)
        except TimeoutError:
            paused.send_signal(signal.SIGCONT)
            await _told(paused, "ack", 1, told)
            paused.send_signal(signal.SIGSTOP)
        else:
            return


@pytest.mark.backends("sqlite", "kafka")
async def test_what_a_killed_owner_acknowledged_counts(backend: Backend) -> None:
    """Proves: LOG-01, LOG-06"""
    topic = await backend.topic()
    told: list[tuple[str, str]] = []
    for life in range(3):
        async with child(backend, "contend", topic, f"life{life}", module=CONTENDER) as process:
            await _told(process, "ack", 30, told)
            process.send_signal(signal.SIGKILL)
            parts = [line.partition(" ") for line in await lines_of(process)]
            told += [(what, name) for what, _, name in parts]
    found = commands_of(await read_appends(backend.open().log, Shard(topic, 0)))
    assert all(found[command] == 1 for what, command in told if what == "ack")


async def test_an_owner_that_lost_the_journal_never_writes_again(backend: Backend) -> None:
    """Proves: OWN-01"""
    shard = Shard(await backend.topic(), 0)
    first_log, second_log = backend.open().log, backend.open().log
    first = await opened(first_log, shard)
    await first.append(b"", [event(b"1")])
    second = await opened(second_log, shard)
    with pytest.raises(Lost):
        await first.append(b"", [event(b"late")])
    await second.append(b"", [event(b"2")])
    with pytest.raises(Lost):
        await first.append(b"", [event(b"later")])
    assert second.token > first.token
    assert commands_of(await read_appends(first_log, shard)) == {"1": 1, "2": 1}


async def test_two_openings_at_once_have_one_winner(backend: Backend) -> None:
    """Proves: OWN-01"""
    shard = Shard(await backend.topic(), 0)
    logs = [backend.open().log for _ in range(4)]
    results = await asyncio.gather(*(opened(log, shard) for log in logs), return_exceptions=True)
    winners = [one for one in results if isinstance(one, Journal)]
    assert all(isinstance(one, Journal | Lost) for one in results)
    appended: list[Journal] = []
    for journal in winners:
        try:
            await journal.append(b"", [event(b"mine")])
        except Lost:
            continue
        appended.append(journal)
    assert len(appended) <= 1
    assert commands_of(await read_appends(logs[0], shard))["mine"] == len(appended)


async def test_a_shard_that_was_given_away_is_not_opened(backend: Backend) -> None:
    """Proves: OWN-01"""
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log

    async def no() -> bool:
        return False

    with pytest.raises(NotAssigned):
        await Journal.open(log, shard, ids=lambda: next(IDS), fold=lambda _: None, note=lambda: b"", still_assigned=no)
    assert await log.end(shard) == 0


async def test_what_append_returns_is_what_readers_read(backend: Backend) -> None:
    """Proves: LOG-01, LOG-03"""
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log
    journal = await opened(log, shard)
    promise = Entry("intent", b"to", b"promise", (("destination", b"x/0"),))
    returned = [await journal.append(b"note", [event(b"a"), event(b"b"), promise]) for _ in range(3)]
    read = (await read_appends(log, shard))[1:]
    for mine, theirs in zip(returned, read, strict=True):
        assert (mine.frame, mine.note, mine.base) == (theirs.frame, theirs.note, theirs.base)
        assert [(e.offset, e.key, e.value, e.headers) for e in mine.entries] == [
            (e.offset, e.key, e.value, e.headers) for e in theirs.entries
        ]
    positions = [
        int(dict(e.headers)["position"]) for a in read for e in a.entries if dict(e.headers)["kind"] == b"event"
    ]
    assert positions == [1, 2, 3, 4, 5, 6]


async def test_an_append_up_to_the_limit_fits_and_one_over_it_changes_nothing(backend: Backend) -> None:
    """Proves: LOG-05. F4."""
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log
    journal = await opened(log, shard)
    probe = await journal.append(b"", [event(b"")])
    room = log.batch_bytes_max - _append_bytes(probe) - 8  # numbers in headers may grow by a digit or two
    await journal.append(b"", [event(b"x" * room)])
    for size in (room + 64, 10 * room):
        # Many values that are too small to stand elsewhere are too large for every log.
        values = [b"x"] * size if backend.blobs else [b"x" * size]
        with pytest.raises(BatchTooLarge):
            await journal.append(b"", [event(value) for value in values])
    await journal.append(b"", [event(b"after")])
    assert commands_of(await read_appends(log, shard))["after"] == 1


def _append_bytes(append: Append) -> int:
    entries = [Entry("event", e.key, e.value, (("type", b"test"),)) for e in append.entries]
    return batch_bytes(assemble(append.frame, append.note, entries))


async def test_a_reader_goes_on_from_a_stored_position(backend: Backend) -> None:
    """Proves: LOG-01"""
    shard = Shard(await backend.topic(), 0)
    log = backend.open().log
    journal = await opened(log, shard)
    for index in range(5):
        await journal.append(b"", [event(b"%d" % index)])
    appends = await read_appends(log, shard)
    for index, append in enumerate(appends):
        reader = JournalReader(log, shard, behind(append))
        rest: list[Append] = []
        while reader.position.number < appends[-1].frame.number:
            rest += await reader.read(1.0)
        assert rest == appends[index + 1 :]
        await reader.close()


async def test_a_journal_whose_head_was_trimmed_is_read_from_the_cut(backend: Backend) -> None:
    """Proves: LOG-01. E18."""
    shard = Shard(await backend.topic(), 0)
    connection = backend.open()
    journal = await opened(connection.log, shard)
    for index in range(5):
        await journal.append(b"", [event(b"%d" % index)])
    appends = await read_appends(connection.log, shard)
    await connection.admin.trim(shard, appends[3].base)
    assert await read_appends(connection.log, shard, middle=appends[3].base) == appends[3:]
    reader = JournalReader(connection.log, shard, START)
    with pytest.raises(OffsetGone):
        await reader.read(0.1)
    await reader.close()


async def test_a_position_of_another_log_is_recognised(backend: Backend) -> None:
    """Proves: LOG-07, LOG-01. E8."""
    topic = await backend.topic()
    shard = Shard(topic, 0)
    connection = backend.open()
    journal = await opened(connection.log, shard)
    for index in range(3):
        await journal.append(b"", [event(b"%d" % index)])
    place = journal.position
    await connection.admin.delete(topic)
    await connection.admin.create([TopicSpec(name=topic, partitions=1)])
    fresh = backend.open().log
    for _ in range(2):
        reader = JournalReader(fresh, shard, place)
        with pytest.raises(LogChanged):
            await _read_until_raised(reader)
        await reader.close()
        other = await opened(fresh, shard)
        for index in range(6):
            await other.append(b"", [event(b"%d" % index)])


@pytest.mark.backends("memory")
async def test_a_log_cut_exactly_at_a_position_is_recognised(backend: Backend) -> None:
    """Proves: LOG-07. E8."""
    topic = await backend.topic()
    shard = Shard(topic, 0)
    connection = backend.open()
    journal = await opened(connection.log, shard)
    await journal.append(b"", [event(b"1")])
    place = journal.position
    await connection.admin.delete(topic)
    await connection.admin.create([TopicSpec(name=topic, partitions=1)])
    # One record stands before the cut, so that the place is the end of the log and reading there is no error.
    await connection.log.send(shard, [Record(b"", b"") for _ in range(place.base)])
    reader = JournalReader(connection.log, shard, place)
    with pytest.raises(LogChanged):
        await _read_until_raised(reader)
    await reader.close()


async def _read_until_raised(reader: JournalReader) -> None:
    async with asyncio.timeout(30):
        while True:
            await reader.read(0.1)
