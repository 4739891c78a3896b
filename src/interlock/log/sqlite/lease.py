"""Which partitions a process should own on the embedded log: leases in the log's own file.

    process   one row a process: which boot of the machine it lives in, and until when its lease runs
    member    one row for each group that a process takes part in; a group shares out the partitions of one topic
    lease     one row for each partition that a member has

One row is renewed for all that a process holds: by its appends when a third of the lease has passed, or else by a
*beat*. A beat also buries processes whose lease has run out, gives up what is more than a fair share, and takes what
is free up to it. Beats are rare; between them a process only looks whether anybody came, left or ran out.

Always true: all processes of one boot of a machine read the same monotonic clock, so a deadline means the same to all,
and a row of another boot has run out. A machine that sleeps ages no lease.

What would surprise: nothing here makes a journal safe. A process that was buried alive finds out at its next beat,
and its appends are void by the journal's own rule long before.
"""

import asyncio
import sqlite3
import subprocess
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from interlock.log.port import LogError
from interlock.log.sqlite.writer import Writer
from interlock.log.waiters import Waiters

LEASE_S = 3.0
"""After how many seconds without a sign a process has lost its partitions; half of what Kafka's groups take."""

LEASE_S_MAX = 3600.0
"""A deadline further away than that was written by the clock of another boot, whatever the row says."""

RENEWALS = 3
"""How often a lease is renewed in its time, so that two renewals may fail."""

LOOKS = 15
"""How often in the time of a lease a process looks whether others have come or gone: every 0.2 s."""


class _Beat(NamedTuple):
    """What a beat left behind: each own member's partitions, the state of the leases, and until when they run."""

    held: dict[str, frozenset[int]]
    revision: int
    deadline_ns: int


class SqliteAssignment:
    """The partitions of one topic that this process should own; implements `Assignment`.

    Made by `SqliteLog.assignment`.
    """

    def __init__(self, keeper: "LeaseKeeper", topic: str, group: str) -> None:
        self.topic = topic
        self.group = group
        self.member = str(uuid.uuid4())
        self._keeper = keeper
        self._partitions: frozenset[int] = frozenset()
        self._waiters = Waiters()

    def current(self) -> frozenset[int]:
        """The partitions that are this process's now, as far as it knows."""
        return self._partitions

    async def changed(self, known: frozenset[int]) -> frozenset[int]:
        """Waits until `current()` differs from `known`, then returns it."""
        while self._partitions == known:
            await self._waiters.wait()
        return self._partitions

    async def close(self) -> None:
        """Leaves at once: the partitions are free for others. Where the file can't be written, the lease runs out."""
        await self._keeper.leave(self)

    def assign(self, partitions: frozenset[int]) -> None:
        """Told by the keeper."""
        if partitions != self._partitions:
            self._partitions = partitions
            self._waiters.wake()


class LeaseKeeper:
    """Keeps the lease of one process for all its assignments, and rides along with its writer.

    `ask` puts a question to the file. `lease_s` is in seconds; `boot` and `now_ns` tell the boot of the machine and
    its monotonic time. All methods are called on the event loop but those of a `Rider`.
    """

    def __init__(
        self,
        writer: Writer,
        ask: Callable[[Callable[[sqlite3.Connection], bool]], Awaitable[bool]],
        *,
        lease_s: float = LEASE_S,
        boot: str | None = None,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._writer = writer
        self._ask = ask
        self._lease_ns = int(lease_s * 1e9)
        self._look_s = lease_s / LOOKS
        self._boot = boot or boot_id()
        self._now_ns = now_ns
        self._process = str(uuid.uuid4())
        self._assignments: dict[str, SqliteAssignment] = {}
        # Those that joined at the last beat; a new one makes the next beat due.
        self._known: frozenset[str] = frozenset()
        self._joined = Waiters()
        self._revision = -1
        # Also set by the writer's thread, when an append has renewed the lease.
        self._deadline_ns = 0
        self._riding_ns = 0
        self._task: asyncio.Task[None] | None = None

    def join(self, topic: str, group: str) -> SqliteAssignment:
        """Takes part in sharing a topic's partitions in a group, which has its own shares; begins with none.

        While there is no such topic there is nothing to share.
        """
        assignment = SqliteAssignment(self, topic, group)
        self._assignments[assignment.member] = assignment
        self._joined.wake()
        if self._task is None:
            self._writer.rider = self
            self._task = asyncio.create_task(self._keep(), name="interlock-log-lease")
        return assignment

    async def leave(self, assignment: SqliteAssignment) -> None:
        """Frees what the assignment holds, and with the last one the process itself."""
        if self._assignments.pop(assignment.member, None) is None:
            return
        assignment.assign(frozenset())
        last = not self._assignments
        if last and self._task is not None:
            task, self._task = self._task, None
            self._writer.rider = None
            task.cancel()
            await asyncio.wait({task})
        # Where this fails, the lease runs out by itself.
        with suppress(LogError):
            await self._writer.run(lambda connection: self._bury(connection, assignment.member, last=last))

    async def close(self) -> None:
        """Leaves everything."""
        for assignment in list(self._assignments.values()):
            await self.leave(assignment)

    def due(self) -> bool:
        """Whether an append should renew the lease; asked on the writer's thread."""
        return self._now_ns() >= self._deadline_ns - self._lease_ns + self._lease_ns // RENEWALS

    def ride(self, connection: sqlite3.Connection) -> None:
        """Renews the lease if there still is one: a process that was buried comes back by a beat only."""
        self._riding_ns = self._now_ns() + self._lease_ns
        connection.execute("UPDATE process SET deadline_ns = ? WHERE id = ?", (self._riding_ns, self._process))

    def arrived(self) -> None:
        """The renewal is durable."""
        self._deadline_ns = self._riding_ns

    async def _keep(self) -> None:
        """Beats when the lease is due or others have come or gone, for as long as there are assignments."""
        while True:
            # Where the file can't be asked or written now, the next look comes soon enough.
            with suppress(LogError):
                if self._unknown() or self.due() or await self._ask(self._others_changed):
                    await self._beat_or_lapse()
            if not self._unknown():
                await self._joined.wait(self._look_s)

    def _unknown(self) -> bool:
        """Whether anybody has joined since the last beat."""
        return not self._known.issuperset(self._assignments)

    async def _beat_or_lapse(self) -> None:
        """Beats; what is not renewed in time is taken for lost until the beat is through."""
        beat = asyncio.ensure_future(self._writer.run(self._beat))
        try:
            done, _ = await asyncio.wait({beat}, timeout=max(0.0, (self._deadline_ns - self._now_ns()) / 1e9))
            if not done:
                self._lapse()
            self._apply(await beat)
        except LogError:
            if self._now_ns() > self._deadline_ns:
                self._lapse()
            raise
        finally:
            beat.cancel()

    def _apply(self, beat: _Beat) -> None:
        self._known = frozenset(beat.held)
        self._revision = beat.revision
        self._deadline_ns = max(self._deadline_ns, beat.deadline_ns)
        for member, partitions in beat.held.items():
            if member in self._assignments:
                self._assignments[member].assign(partitions)

    def _lapse(self) -> None:
        for assignment in self._assignments.values():
            assignment.assign(frozenset())

    def _others_changed(self, connection: sqlite3.Connection) -> bool:
        """Whether anybody has come, left, or run out; asked on the thread for reading."""
        (revision,) = connection.execute("SELECT lease_revision FROM meta").fetchone()
        return revision != self._revision or bool(self._expired(connection))

    def _expired(self, connection: sqlite3.Connection) -> list[str]:
        now = self._now_ns()
        rows = connection.execute(
            "SELECT id FROM process WHERE boot <> ? OR deadline_ns < ? OR deadline_ns > ?",
            (self._boot, now, now + int(LEASE_S_MAX * 1e9)),
        )
        return [row[0] for row in rows]

    def _beat(self, connection: sqlite3.Connection) -> _Beat:
        """Renews the own lease, buries others, and takes or gives up partitions; on the writer's thread."""
        deadline_ns = self._now_ns() + self._lease_ns
        changes = connection.total_changes
        for process in self._expired(connection):
            if process != self._process:
                connection.execute("DELETE FROM process WHERE id = ?", (process,))
        _drop_orphans(connection)
        # A copy, as the loop may add to it meanwhile.
        members = list(self._assignments.items())
        for member, assignment in members:
            connection.execute(
                "INSERT INTO member VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (member, assignment.group, self._process)
            )
            _share(connection, assignment)
        if connection.total_changes != changes:
            connection.execute("UPDATE meta SET lease_revision = lease_revision + 1")
        # Behind the count of changes, as a mere renewal concerns nobody.
        connection.execute(
            "INSERT INTO process VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET deadline_ns = ?3",
            (self._process, self._boot, deadline_ns),
        )
        (revision,) = connection.execute("SELECT lease_revision FROM meta").fetchone()
        held: dict[str, set[int]] = {member: set() for member, _ in members}
        rows = connection.execute(
            "SELECT lease.member, lease.partition FROM lease JOIN member ON member.id = lease.member"
            " WHERE member.process = ?",
            (self._process,),
        )
        for member, partition in rows:
            held.setdefault(member, set()).add(partition)
        return _Beat({member: frozenset(found) for member, found in held.items()}, revision, deadline_ns)

    def _bury(self, connection: sqlite3.Connection, member: str, *, last: bool) -> None:
        """Removes an own member, and the process with the last one."""
        connection.execute("DELETE FROM member WHERE id = ?", (member,))
        if last:
            connection.execute("DELETE FROM process WHERE id = ?", (self._process,))
        _drop_orphans(connection)
        connection.execute("UPDATE meta SET lease_revision = lease_revision + 1")


def boot_id() -> str:
    """Names the present boot of this machine; "unknown" where the system doesn't tell."""
    linux = Path("/proc/sys/kernel/random/boot_id")
    if linux.exists():
        return linux.read_text().strip()
    with suppress(OSError, subprocess.SubprocessError):
        asked = subprocess.run(
            ["sysctl", "-n", "kern.bootsessionuuid"], capture_output=True, text=True, check=True, timeout=5
        )
        return asked.stdout.strip()
    return "unknown"


def _drop_orphans(connection: sqlite3.Connection) -> None:
    """Removes members without a process, and leases without a member."""
    connection.execute("DELETE FROM member WHERE process NOT IN (SELECT id FROM process)")
    connection.execute("DELETE FROM lease WHERE member NOT IN (SELECT id FROM member)")


def _share(connection: sqlite3.Connection, assignment: SqliteAssignment) -> None:
    """Gives up what a member holds above its fair share, or takes what is free up to it.

    Members are ranked by what they hold, then by id, and the first get the remainder: so all members reckon the
    same, and nothing moves that need not.
    """
    group, member = assignment.group, assignment.member
    topic = connection.execute("SELECT partitions FROM topic WHERE name = ?", (assignment.topic,)).fetchone()
    partitions: int = 0 if topic is None else topic[0]
    members = connection.execute('SELECT id FROM member WHERE "group" = ?', (group,))
    held: dict[str, list[int]] = {row[0]: [] for row in members}
    taken: set[int] = set()
    leases = connection.execute('SELECT member, partition FROM lease WHERE "group" = ? ORDER BY partition', (group,))
    for owner, partition in leases:
        held[owner].append(partition)
        taken.add(partition)
    ranked = sorted(held, key=lambda each: (-len(held[each]), each))
    share, remainder = divmod(partitions, len(ranked))
    share += ranked.index(member) < remainder
    own = held[member]
    for partition in own[share:]:
        connection.execute('DELETE FROM lease WHERE "group" = ? AND partition = ?', (group, partition))
    free = [partition for partition in range(partitions) if partition not in taken]
    for partition in free[: max(0, share - len(own))]:
        connection.execute("INSERT INTO lease VALUES (?, ?, ?)", (group, partition, member))
