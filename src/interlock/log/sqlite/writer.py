"""The one thread that writes to the embedded log: it gathers what arrives during a commit into the next one.

    put ──► mailbox ──► gather ──► one INSERT of a row a shard ───────────────► told on the loop, one call a group
                        ▲            │ offset taken, topics changed, lease due
                        │            ▼
                        └─────── BEGIN IMMEDIATE · look up · INSERT · ride · COMMIT

The usual group is a single statement: its implicit transaction takes the write lock, compares `meta.revision`, inserts
and flushes. It uses the offsets that this process knows; where another process has appended, the row's id is taken
and nothing is written, so the slower transaction looks them up and tries again. The single statement is
there because a thread must ask for Python's interpreter lock after every step: a busy event loop answers that after
milliseconds, so a commit of four steps took twice as long as one of one step.

Always true: every answer but `Refused` and its kinds leaves open whether the group landed, and is a `Doubt`; what is
known of offsets is dropped after every failure.

Roads not taken: a transaction a send (a flush each); a commit on the event loop itself (nothing else runs meanwhile).
"""

import asyncio
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from interlock.log.mailbox import Mailbox
from interlock.log.port import Doubt, LogError, NoSuchShard, NotNow, Shard, Unavailable
from interlock.log.sqlite.file import code_of, connect
from interlock.log.sqlite.group import Landed, Offsets, Send

GROUP_SENDS_MAX = 256
"""More sends than that in one transaction save nothing; the prepared statements are as many as rows in a group."""

GROUP_BYTES_MAX = 8 << 20
"""A transaction's size, in bytes: larger ones make those behind them wait, and outgrow SQLite's page cache."""

RETRY_MIN_S = 0.0003
RETRY_MAX_S = 0.010
RETRY_GROWTH = 1.3
"""How often to ask for the lock while another process has it: other than SQLite's own waiting, which soon sleeps for
0.1 s at a time, this meets the gaps between the commits of a busy neighbour."""

LOOK_MIN_S = 0.002
LOOK_MAX_S = 0.020
LOOK_GROWTH = 1.25
"""How often to look for other processes' appends: at first and after each commit, at most, and the growth between."""

LOOK_IDLE_S = 1.0
"""How long looking goes on after the last reader has stopped to wait: most come back, and starting costs a wake-up."""

CERTAINLY_NOT_WRITTEN = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CONSTRAINT,
    }
)
"""Results that mean that no commit mark can be in the file: the lock was not had, or a page found no room before the
mark, which is written last. An I/O error may come after it (a failed flush), and a recovery may then find the mark."""

_T = TypeVar("_T")


class Rider(Protocol):
    """What wants to be written from time to time, and rides along with appends when it is due (leases)."""

    def due(self) -> bool:
        """Whether it wants to be written now."""
        ...

    def ride(self, connection: sqlite3.Connection) -> None:
        """Writes, inside the transaction of an append."""
        ...

    def arrived(self) -> None:
        """Called on the writer's thread after the transaction that it rode in has been committed."""
        ...


class _Call(Enum):
    """Wakes the thread for another reason than something to write."""

    LOOK = "look"
    STOP = "stop"


class _Job(NamedTuple):
    run: Callable[[sqlite3.Connection], Any]
    answer: asyncio.Future[Any]


class Writer:
    """Owns the write connection. All methods but those of the thread are called on the event loop `loop`.

    `landed` is called on the loop with each group, `foreign` when another process has committed; `now_ms` is the
    log's clock. `watched` tells whether anybody waits for other processes' appends, `busy_s` how long, in seconds, to
    wait for their transactions.
    """

    def __init__(
        self,
        path: Path,
        *,
        loop: asyncio.AbstractEventLoop,
        landed: Callable[[Sequence[Landed]], None],
        foreign: Callable[[], None],
        watched: Callable[[], bool],
        now_ms: Callable[[], int],
        busy_s: float,
    ) -> None:
        self.rider: Rider | None = None
        self._path = path
        self._loop = loop
        self._landed = landed
        self._foreign = foreign
        self._watched = watched
        self._now_ms = now_ms
        self._busy_s = busy_s
        self._mailbox: Mailbox[Send | _Job | _Call] = Mailbox()
        self._connection: sqlite3.Connection | None = None
        self._offsets = Offsets()
        self._stopping = False
        self._looking = False
        self._look_s = LOOK_MIN_S
        self._look_at = 0.0
        self._look_until = 0.0
        self._data_version = -1
        self._stopped: asyncio.Future[None] = loop.create_future()
        # A daemon: a program that ends without closing its log must end.
        self._thread = threading.Thread(target=self._main, name="interlock-log-writer", daemon=True)
        self._thread.start()

    def put(self, send: Send) -> None:
        """Sends a batch on its way; its answer is set on the loop."""
        self._mailbox.put(send)

    async def run(self, job: Callable[[sqlite3.Connection], _T]) -> _T:
        """Runs `job` inside a transaction of its own and returns what it returns, once that is durable.

        Raises what `job` raises, after a rollback, and `Unavailable` where the file can't be written now.
        """
        if self._stopping:
            raise Unavailable(f"expected {self._path} to be open, found it closed")
        answer: asyncio.Future[_T] = self._loop.create_future()
        self._mailbox.put(_Job(job, answer))
        return await answer

    def watch(self) -> None:
        """Makes sure that other processes' appends are looked for; to be called after `watched` has become true."""
        if not self._looking:
            self._mailbox.put(_Call.LOOK)

    async def stop(self) -> None:
        """Finishes the transaction under way, drops what is behind it, and closes the connection."""
        self._stopping = True
        self._mailbox.put(_Call.STOP)
        await asyncio.shield(self._stopped)
        # It has nothing left to do but to end. Only behind that the pipe may go: its number may be another file's next.
        self._thread.join()
        self._mailbox.close()

    # The rest runs on the thread.

    def _main(self) -> None:
        try:
            while not self._stopping:
                sends, jobs = self._gather()
                if sends:
                    self._append(sends)
                for job in jobs:
                    self._do(job)
                self._look()
        finally:
            self._disconnect()
            for job in self._gather_rest():
                self._tell(_fail, job.answer, Unavailable(f"expected {self._path} to be open, found it closed"))
            self._tell(_settle, self._stopped)

    def _gather(self) -> tuple[list[Send], list[_Job]]:
        """What has arrived, at least one thing unless it is time to look first."""
        sends: list[Send] = []
        jobs: list[_Job] = []
        size = 0
        self._mailbox.wait(self._look_at - time.monotonic() if self._looking else None)
        while size < GROUP_BYTES_MAX and len(sends) < GROUP_SENDS_MAX:
            item = self._mailbox.take()
            if item is None:
                break
            if isinstance(item, Send):
                sends.append(item)
                size += item.encoded.size
            elif isinstance(item, _Job):
                jobs.append(item)
            elif item is _Call.LOOK:
                self._start_looking()
        return sends, jobs

    def _gather_rest(self) -> list[_Job]:
        """What nobody will do any more; the sends among it are in doubt since the log was closed."""
        rest: list[_Job] = []
        while (item := self._mailbox.take()) is not None:
            if isinstance(item, _Job):
                rest.append(item)
        return rest

    def _append(self, sends: list[Send]) -> None:
        """Writes a group and tells its senders, by the short way if it may go."""
        try:
            connection = self._connect()
            landed = self._append_at_once(connection, sends) or self._append_after_look(connection, sends)
        except Exception as error:  # noqa: BLE001
            # Whatever it is, the senders wait for an answer, and the next group gets a new connection.
            self._fail(sends, error)
        else:
            self._tell(self._landed, landed)
            self._look_soon()

    def _append_at_once(self, connection: sqlite3.Connection, sends: list[Send]) -> list[Landed] | None:
        """Appends at the offsets that are known; None, with nothing written, where they are not the right ones."""
        if self.rider is not None and self.rider.due():
            return None
        if not all(self._offsets.knows(send.shard) for send in sends):
            return None
        plan = self._offsets.plan(sends, self._now_ms())
        try:
            if not self._when_free(lambda: self._offsets.insert(connection, plan)):
                return None
        except sqlite3.IntegrityError:
            return None
        self._offsets.learn(plan)
        return plan.landed

    def _append_after_look(self, connection: sqlite3.Connection, sends: list[Send]) -> list[Landed]:
        """Appends at the offsets found in the file, refuses what has no shard there, and lets the rider along."""
        rider = self.rider if self.rider is not None and self.rider.due() else None
        self._when_free(lambda: connection.execute("BEGIN IMMEDIATE"))
        try:
            self._offsets.look_up(connection, {send.shard for send in sends})
            present = [send for send in sends if self._offsets.knows(send.shard)]
            plan = self._offsets.plan(present, self._now_ms())
            if present and not self._offsets.insert(connection, plan):
                raise sqlite3.DatabaseError("the revision changed inside a transaction")
            if rider is not None:
                rider.ride(connection)
        except BaseException as error:
            connection.rollback()
            raise NotNow(f"expected to append to {self._path}, found: {error}; try again") from error
        connection.execute("COMMIT")
        self._offsets.learn(plan)
        if rider is not None:
            rider.arrived()
        for send in sends:
            if not self._offsets.knows(send.shard):
                missing = NoSuchShard(f"expected {self._path} to have {send.shard}, found none; create it first")
                self._tell(_fail, send.answer, missing)
        return plan.landed

    def _when_free(self, call: Callable[[], _T]) -> _T:
        """Repeats a call that needs the write lock until it has it, or until `busy_s` is over."""
        deadline = time.monotonic() + self._busy_s
        pause_s = RETRY_MIN_S
        while True:
            try:
                return call()
            except sqlite3.OperationalError as error:
                if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline or self._stopping:
                    raise
            # A little chance, so that several processes don't ask in step.
            time.sleep(pause_s * random.uniform(0.5, 1.5))
            pause_s = min(pause_s * RETRY_GROWTH, RETRY_MAX_S)

    def _do(self, job: _Job) -> None:
        """Runs a job in a transaction of its own and tells how it ended."""
        try:
            connection = self._connect()
            self._when_free(lambda: connection.execute("BEGIN IMMEDIATE"))
            try:
                result = job.run(connection)
            except BaseException:
                connection.rollback()
                raise
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._forget(error)
            unavailable = Unavailable(f"expected to write to {self._path}, found: {error}; try again")
            self._tell(_fail, job.answer, unavailable)
        except BaseException as error:  # noqa: BLE001 - it is raised again where the job was asked for
            self._tell(_fail, job.answer, error)
        else:
            self._tell(_settle, job.answer, result)

    def _fail(self, sends: list[Send], error: BaseException) -> None:
        self._forget(error)
        for send in sends:
            self._tell(_fail, send.answer, _verdict(send.shard, error))

    def _forget(self, error: BaseException) -> None:
        """Drops what is known, as nothing of it is sure after a failure, and the connection where it may be broken."""
        self._offsets.clear()
        sound = isinstance(error, NotNow) or _certain(error)
        # Closing rolls back what a failed commit has left open.
        if not sound or self._connection is None or self._connection.in_transaction:
            self._disconnect()

    def _look(self) -> None:
        """Looks, when it is time, whether other processes have committed; own commits don't change this number."""
        now = time.monotonic()
        if not self._looking or now < self._look_at:
            return
        try:
            (version,) = self._connect().execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            # What can't be looked at now is looked at again.
            version = None
        if version == self._data_version:
            self._look_s = min(self._look_s * LOOK_GROWTH, LOOK_MAX_S)
        else:
            self._data_version = version
            self._look_s = LOOK_MIN_S
            self._tell(self._foreign)
        self._look_at = now + self._look_s
        if self._watched():
            self._look_until = now + LOOK_IDLE_S
        elif now > self._look_until:
            self._looking = False
            # In this order, so that a reader that came just now sees either this or is seen here.
            if self._watched():
                self._start_looking()

    def _start_looking(self) -> None:
        self._looking = True
        self._look_until = time.monotonic() + LOOK_IDLE_S
        self._look_s = LOOK_MIN_S
        self._look_at = 0.0

    def _look_soon(self) -> None:
        """After an own append another process may have an answer soon."""
        if self._looking:
            self._look_s = LOOK_MIN_S
            self._look_at = min(self._look_at, time.monotonic() + LOOK_MIN_S)

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connect(self._path, busy_s=0)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        # A new connection counts anew, and may have missed something in between.
        self._data_version = -1
        if connection is not None:
            connection.close()

    def _tell(self, call: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            # The loop is closed: nobody is left who could be told.
            self._stopping = True


def _certain(error: BaseException) -> bool:
    return isinstance(error, sqlite3.Error) and code_of(error) in CERTAINLY_NOT_WRITTEN


def _verdict(shard: Shard, error: BaseException) -> LogError:
    """What a sender is told of a failed group."""
    if isinstance(error, LogError):
        return error
    if _certain(error):
        return NotNow(f"expected {shard} to take a batch, found: {error}; nothing was written, try again")
    return Doubt(f"expected {shard} to take a batch, found: {error!r}; read the log")


def _settle(answer: asyncio.Future[Any], result: object = None) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: asyncio.Future[Any], error: BaseException) -> None:
    if not answer.done():
        answer.set_exception(error)
