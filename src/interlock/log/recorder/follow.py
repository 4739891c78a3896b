"""Follows one journal: folds every append that counts into the index, and tells those who wait for it.

    reader ─► append that counts ─┐
    writer ─► own append ─────────┼─► fold (once, by number) ─► index ─► own commits are answered ─► others are woken
    opening ─► fold to the end ───┘

Always true: an append is folded once and in order, whoever brings it first; a commit is answered only from an append
that was folded. So a commit whose sender is in doubt is answered as soon as the journal shows that it counts.

`index`, `news`, `events`, `failure` and `closed` are for other threads too; all else belongs to the loop.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from threading import Condition

from interlock.log.frame import Append
from interlock.log.journal import START, JournalReader, LogChanged
from interlock.log.port import Log, LogError, NoSuchShard, Shard, Unavailable
from interlock.log.recorder.commit import Commit, Folded, take_apart
from interlock.log.recorder.index import Index
from interlock.log.waiters import Waiters

READ_S = 5.0
"""How long a read waits at a time; a record ends the wait."""
PAUSE_S = 0.2
"""How long nothing is asked of a log that could not be read."""
STALL_S = 30.0
"""A fold that has not moved for so many seconds is given up by those who wait for it."""

_logger = logging.getLogger("interlock.log.recorder")


class Follower:
    """The fold of one journal, from `start` until `close`; lives on one loop."""

    def __init__(self, log: Log, shard: Shard, index: Index) -> None:
        self.index = index
        self.news = Condition()
        """Notified with every event, and at the end."""
        self.events = index.position.events
        """How many events are folded; read and changed with `news` held."""
        self.failure: BaseException | None = None
        """Why nothing goes on any more."""
        self.closed = False
        """Whether `failure` is no failure, but an end in order."""
        self.recognised = asyncio.Event()
        """Set once it is known that the index belongs to this log."""
        self.awaited: dict[str, Commit] = {}
        """Own commits that are on their way, or in doubt, by id."""
        self.moved = Waiters()
        self._log = log
        self._shard = shard
        self._reader = JournalReader(log, shard, index.position)
        self._folded_to = 0
        self._task: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[int] | None = None
        self._next_asking: asyncio.Task[int] | None = None

    def start(self) -> None:
        """Begins to follow."""
        if self.index.position == START:
            self.recognised.set()
        self._task = asyncio.create_task(self._follow())

    async def barrier(self) -> None:
        """Returns when everything that was in the log when this was called is folded.

        Raises what the log raises, `Unavailable` where the fold does not move, and what the fold failed with.
        """
        end = await self._end()
        while self._folded_to < end:
            self.check()
            before = self._folded_to
            if not await self._moves(before):
                raise Unavailable(f"expected {self._shard} to be read up to {end}, found it standing at {before}")
        self.check()

    def fold(self, appends: Sequence[Append]) -> None:
        """Folds those of the appends that were not folded yet. Raises `LogChanged` where one between is missing."""
        known = self.index.position.number
        fresh = [append for append in appends if append.frame.number > known]
        if not fresh:
            return
        if fresh[0].frame.number != known + 1:
            raise LogChanged(f"expected append {known + 1} of {self._shard} to be next, found {fresh[0].frame.number}")
        folded = [take_apart(append) for append in fresh]
        self.index.apply(folded)
        self._answer(folded)
        with self.news:
            self.events = self.index.position.events
            self.news.notify_all()

    def passed(self, offset: int) -> None:
        """Everything before `offset` is folded."""
        self._folded_to = max(self._folded_to, offset)
        self.moved.wake()

    def check(self) -> None:
        """Raises what the fold failed with."""
        if self.failure is not None:
            raise self.failure

    def fail(self, error: BaseException) -> None:
        """Ends everything with `error`: what waits, and what is asked from now on."""
        if self.failure is None:
            with self.news:
                self.failure = error
                self.news.notify_all()
        self.recognised.set()
        self.moved.wake()

    async def close(self, reason: BaseException) -> None:
        """Ends what waits, and lets go of the reader; the index stays open."""
        self.closed = self.failure is None
        self.fail(reason)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._reader.close()

    async def _follow(self) -> None:
        while self.failure is None:
            try:
                appends = await self._reader.read(READ_S)
                self.fold(appends)
            except (Unavailable, NoSuchShard):
                # Who asks for something meanwhile is told by the log itself.
                await asyncio.sleep(PAUSE_S)
            except LogChanged as error:
                await self._changed(error)
            except (LogError, OSError, sqlite3.Error, ValueError) as error:
                self.fail(error)
            except Exception as error:
                self.fail(error)
                raise
            else:
                self.recognised.set()
                self.passed(self._reader.next_offset)

    async def _end(self) -> int:
        """Where the log ends, asked after this call. Those who come while it is asked share the next asking."""
        if self._next_asking is None:
            self._next_asking = asyncio.create_task(self._ask_behind(self._asking))
        return await asyncio.shield(self._next_asking)

    async def _ask_behind(self, asking: "asyncio.Task[int] | None") -> int:
        if asking is not None:
            await asyncio.wait((asking,))
        self._asking, self._next_asking = self._next_asking, None
        return await self._log.end(self._shard)

    async def _moves(self, before: int) -> bool:
        """Whether the fold gets beyond `before`, or fails, in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STALL_S
        while self._folded_to == before and self.failure is None:
            if loop.time() >= deadline:
                return False
            await self.moved.wait(deadline - loop.time())
        return True

    async def _changed(self, error: LogChanged) -> None:
        """A kept index that the log doesn't know is built anew; a log that changes under our eyes is not followed."""
        if self.recognised.is_set():
            self.fail(error)
            return
        _logger.warning("the index of %s is built anew: %s", self._shard, error)
        await self._reader.close()
        self.index.reset()
        self._reader = JournalReader(self._log, self._shard, START)
        self.recognised.set()

    def _answer(self, folded: Sequence[Folded]) -> None:
        for append, note, _ in folded:
            first = append.frame.position + 1
            for commit_id, count in note.commits:
                commit = self.awaited.pop(commit_id, None)
                if commit is not None:
                    commit.answer.set_result(range(first, first + count))
                first += count
