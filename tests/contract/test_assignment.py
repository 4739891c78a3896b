"""Who should own a partition: a share each, nothing twice for long, and nothing without an owner for long.

No test waits for time to pass but for leases to run out; a bound (`HANG_S`) only says when to give up.
"""

import asyncio
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from interlock.log.memory import FixedAssignment
from interlock.log.port import Assignment, Record, Shard, TopicSpec
from interlock.log.sqlite.lease import LeaseKeeper
from interlock.log.sqlite.log import SqliteLog
from tests.contract.backends import Backend
from tests.contract.child import LEASE_S
from tests.contract.processes import child, line_of

pytestmark = [pytest.mark.contract]

HANG_S = 30.0

BOTH = frozenset({0, 1})


async def until(assignments: Sequence[Assignment], holds: Callable[[], bool]) -> None:
    """Waits for changes of the assignments until `holds`."""
    async with asyncio.timeout(HANG_S):
        while not holds():
            changes = [asyncio.create_task(each.changed(each.current())) for each in assignments]
            if not holds():
                await asyncio.wait(changes, return_when=asyncio.FIRST_COMPLETED)
            for change in changes:
                change.cancel()
            await asyncio.wait(changes)


def shared(assignments: Sequence[Assignment], partitions: int) -> bool:
    """Whether each partition has one owner, and nobody has two more than another."""
    held = [each.current() for each in assignments]
    whole = sorted(partition for each in held for partition in each) == list(range(partitions))
    return whole and max(map(len, held)) - min(map(len, held)) <= 1


def join(backend: Backend, topic: str) -> Assignment:
    """Takes part as another process would."""
    assignment = backend.open().assignment
    assert assignment is not None
    return assignment(topic)


async def test_a_fixed_assignment_is_what_it_was_told() -> None:
    assignment = FixedAssignment(BOTH)
    assert assignment.current() == BOTH
    assert await assignment.changed(frozenset()) == BOTH
    waiting = asyncio.create_task(assignment.changed(BOTH))
    await asyncio.sleep(0)
    assert not waiting.done()
    assignment.assign(frozenset({1}))
    assert await waiting == {1}
    await assignment.close()
    assert assignment.current() == frozenset()


@pytest.mark.backends("sqlite", "kafka")
async def test_one_process_owns_everything(backend: Backend) -> None:
    topic = await backend.topic(4)
    assignment = join(backend, topic)
    assert await asyncio.wait_for(assignment.changed(frozenset()), HANG_S) == {0, 1, 2, 3}
    await assignment.close()
    assert assignment.current() == frozenset()


@pytest.mark.backends("sqlite", "kafka")
async def test_processes_share_fairly_as_they_come_and_go(backend: Backend) -> None:
    """Proves: LOG-02"""
    topic = await backend.topic(5)
    members = [join(backend, topic)]
    await until(members, lambda: shared(members, 5))
    for _ in range(2):
        members.append(join(backend, topic))
        await until(members, lambda: shared(members, 5))
    await members.pop(0).close()
    await until(members, lambda: shared(members, 5))
    await members.pop().close()
    await until(members, lambda: shared(members, 5))
    await members.pop().close()


@pytest.mark.backends("sqlite", "kafka")
async def test_topics_are_shared_each_for_itself(backend: Backend) -> None:
    topics = [await backend.topic(3), await backend.topic(2)]
    one, other = backend.open().assignment, backend.open().assignment
    assert one is not None
    assert other is not None
    first, second = [[one(topic), other(topic)] for topic in topics]
    await until(first + second, lambda: shared(first, 3) and shared(second, 2))
    await second[0].close()
    await until(first + second, lambda: shared(first, 3) and second[1].current() == BOTH)
    for each in (*first, second[1]):
        await each.close()


@pytest.mark.backends("sqlite", "kafka")
async def test_more_processes_than_partitions_leave_some_without(backend: Backend) -> None:
    topic = await backend.topic(2)
    members = [join(backend, topic) for _ in range(3)]
    await until(members, lambda: shared(members, 2))
    owner = next(each for each in members if each.current())
    members.remove(owner)
    await owner.close()
    await until(members, lambda: shared(members, 2))
    for each in members:
        await each.close()


@pytest.mark.backends("sqlite", "kafka")
async def test_what_a_killed_process_owned_is_taken_over(backend: Backend) -> None:
    topic = await backend.topic(2)
    async with child(backend, "own", topic) as process:
        assert await line_of(process) == "owns 0 1"
        assignment = join(backend, topic)
        await until([assignment], lambda: len(assignment.current()) == 1)
        assert len((await line_of(process)).split()) == 2
        process.send_signal(signal.SIGKILL)
        await until([assignment], lambda: assignment.current() == BOTH)
        await assignment.close()


@pytest.mark.backends("sqlite", "kafka")
async def test_what_a_process_leaves_is_taken_over_before_its_lease_runs_out(backend: Backend) -> None:
    topic = await backend.topic(2)
    async with child(backend, "own", topic) as process:
        assert await line_of(process) == "owns 0 1"
        assignment = join(backend, topic)
        await until([assignment], lambda: len(assignment.current()) == 1)
        assert process.stdin is not None
        process.stdin.close()
        await until([assignment], lambda: assignment.current() == BOTH)
        await assignment.close()


class Machine:
    """A boot of a machine whose clock the test moves."""

    def __init__(self, boot: str, now_s: float) -> None:
        self.boot = boot
        self.now_s = now_s

    def now_ns(self) -> int:
        """The monotonic time in nanoseconds."""
        return int(self.now_s * 1e9)

    def keeper(self, log: SqliteLog) -> LeaseKeeper:
        """The leases of a process that lives in this boot."""
        return LeaseKeeper(log.writer, log.ask, lease_s=LEASE_S, boot=self.boot, now_ns=self.now_ns)


async def two_logs(folder: Path) -> tuple[SqliteLog, SqliteLog]:
    logs = SqliteLog(folder / "log.db"), SqliteLog(folder / "log.db")
    await logs[0].create([TopicSpec(name="t", partitions=2)])
    return logs


async def close(*opened: Assignment | SqliteLog) -> None:
    for each in opened:
        await each.close()


async def test_leases_of_another_boot_have_run_out(tmp_path: Path) -> None:
    log, other = await two_logs(tmp_path)
    before = Machine("before", 1_000_000.0).keeper(log).join("t", "g")
    await until([before], lambda: before.current() == BOTH)
    after = Machine("after", 5.0).keeper(other).join("t", "g")
    await until([after], lambda: after.current() == BOTH)
    await close(before, after, log, other)


async def test_a_deadline_beyond_reason_has_run_out(tmp_path: Path) -> None:
    """Where a system does not tell its boot, only the clock tells two boots apart."""
    log, other = await two_logs(tmp_path)
    before = Machine("unknown", 1_000_000.0).keeper(log).join("t", "g")
    await until([before], lambda: before.current() == BOTH)
    after = Machine("unknown", 5.0).keeper(other).join("t", "g")
    await until([after], lambda: after.current() == BOTH)
    await close(before, after, log, other)


class RidingKeeper(LeaseKeeper):
    """Counts the renewals that rode along with appends."""

    rides = 0

    def arrived(self) -> None:
        """As `Rider.arrived`."""
        super().arrived()
        self.rides += 1


async def test_appends_renew_a_lease(tmp_path: Path) -> None:
    """One that is due is part of the next append, so an owner that works needs no flush for it."""
    log, other = await two_logs(tmp_path)
    machine = Machine("boot", 100.0)
    keeper = RidingKeeper(log.writer, log.ask, lease_s=LEASE_S, boot=machine.boot, now_ns=machine.now_ns)
    assignment = keeper.join("t", "g")
    await until([assignment], lambda: assignment.current() == BOTH)
    for number in range(1, 6):
        machine.now_s += LEASE_S / 2
        for _ in range(3):
            await log.send(Shard("t", 0), [Record(b"", b"")])
        assert keeper.rides == number
        found = await other.ask(lambda connection: connection.execute("SELECT deadline_ns FROM process").fetchall())
        assert found == [(machine.now_ns() + int(LEASE_S * 1e9),)]
    assert assignment.current() == BOTH
    await close(assignment, log, other)


async def test_a_process_that_was_buried_alive_comes_back(tmp_path: Path) -> None:
    log, other = await two_logs(tmp_path)
    machine = Machine("boot", 100.0)
    assignment = machine.keeper(log).join("t", "g")
    await until([assignment], lambda: assignment.current() == BOTH)
    await other.write(lambda connection: connection.execute("DELETE FROM process").rowcount)
    second = machine.keeper(other).join("t", "g")
    await until([assignment, second], lambda: shared([assignment, second], 2))
    assert await other.ask(lambda connection: connection.execute("SELECT count(*) FROM process").fetchone()) == (2,)
    await close(assignment, second, log, other)


async def test_who_can_not_renew_gives_its_partitions_up(tmp_path: Path) -> None:
    log, other = await two_logs(tmp_path)
    assignment = SqliteLog.assignment(log, "t")
    await until([assignment], lambda: assignment.current() == BOTH)
    machine = Machine("boot", 100.0)
    keeper = machine.keeper(other)
    second = keeper.join("t", "other group")
    await until([second], lambda: second.current() == BOTH)
    # Somebody else holds the file, so that the beat behind the clock's jump has no answer.
    hold, free = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def holding(_: object) -> None:
        loop.call_soon_threadsafe(hold.set)
        asyncio.run_coroutine_threadsafe(free.wait(), loop).result(HANG_S)

    holder = asyncio.create_task(log.write(holding))
    await hold.wait()
    machine.now_s += 2 * LEASE_S
    await until([second], lambda: second.current() == frozenset())
    free.set()
    await holder
    await until([second], lambda: second.current() == BOTH)
    await close(assignment, second, log, other)
