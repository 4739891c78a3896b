"""Writes one journal: gathers commits while an append is on its way, decides them on the folded state, and appends.

    put ─► queue ─► judge on the index and on what is staged ─► append ─► folded ─► answered
                     ├► in conflict with what counts ─► IntegrityError
                     ├► in conflict with what is staged ─► stays in the queue until that is settled
                     └► above the next version ─► read to the end of the log first; then IntegrityError
    the ownership is lost, or in doubt ─► open again, later ─► what counted is answered, the rest decided again

Always true: a refusal rests only on what counts; a commit is in one append as a whole; nothing is written twice,
because what is in doubt is judged again only behind an opening of our own.

What would surprise: any number of processes may write; there is no assignment. A writer that sees that another one
tries to open (something void lies before its own append) gives way for a moment, or the other would never get in.
"""

import asyncio
import random
import secrets
import sqlite3
from collections import deque
from collections.abc import Sequence

from eventsourcing.persistence import IntegrityError

from interlock.log.journal import Journal, Lost
from interlock.log.port import BatchTooLarge, Log, LogError, NotNow, Refused, Shard, Unavailable
from interlock.log.recorder.commit import OPENING, Commit, note_of
from interlock.log.recorder.errors import closed, translated
from interlock.log.recorder.follow import Follower
from interlock.log.recorder.staged import Judgement, Staged
from interlock.log.weight import Load

GROUP_COMMITS_MAX = 1000
"""How many commits go into one append."""
FRAME_BYTES = 1024
"""What a frame takes without what commits add to its note, at most."""
PAUSE_MIN_S = 0.004
PAUSE_MAX_S = 0.5
"""After a loss or an outage it is tried again after a random part of a time that doubles from the one to the other."""
GIVE_WAY_S = 0.02
"""For how long another that tries to open is given way; it tries a few times in that time."""
CLOSE_S = 5.0
"""How long `close` waits for what was asked before."""


class Writer:
    """The writing side of one journal; lives on one loop."""

    def __init__(self, log: Log, shard: Shard, follower: Follower, *, dense: bool, chance: random.Random) -> None:
        """`dense` where each event of an originator must be the next one; else any version is taken once.

        `chance` is what keeps writers that hinder each other from doing so in step.
        """
        self._log = log
        self._shard = shard
        self._follower = follower
        self._dense = dense
        self._chance = chance
        self._queue: deque[Commit] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self._is_ahead = False
        """Whether a commit of the queue is above the next version, as far as is known."""
        self._journal: Journal | None = None
        self._next_offset: int | None = None
        """Where the next append lands if nobody writes in between; None before the first of an ownership."""
        self._task = asyncio.create_task(self._write())

    def put(self, commit: Commit) -> None:
        """Takes a commit, which is answered in any case."""
        bytes_max = self._log.batch_bytes_max - FRAME_BYTES
        if self._closing:
            self._answer(commit, closed(str(self._shard)))
        elif self._follower.failure is not None:
            self._answer(commit, self._follower.failure)
        elif not commit.load.fits(bytes_max):
            self._answer(commit, BatchTooLarge(f"expected events that fit at once: {commit.load.told(bytes_max)}"))
        else:
            self._queue.append(commit)
            self._wake.set()

    async def close(self, reason: BaseException) -> None:
        """Finishes what was asked, for a while, and answers the rest with `reason`."""
        self._closing = True
        self._wake.set()
        await asyncio.wait((self._task,), timeout=CLOSE_S)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._answer_all(reason)

    async def _write(self) -> None:
        attempt = 0
        while await self._has_work():
            try:
                await self._turn()
                attempt = 0
            except (Lost, NotNow, Unavailable):
                attempt = min(attempt + 1, 16)
                await asyncio.sleep(self._chance.uniform(0, min(PAUSE_MAX_S, PAUSE_MIN_S * 2**attempt)))
            except Refused as error:
                self._answer_all(error)
            except (LogError, OSError, sqlite3.Error, ValueError) as error:
                # Told to every caller from now on: nothing may go on where the log or the index can't be trusted.
                self._follower.fail(error)
                self._answer_all(error)
            except Exception as error:
                self._follower.fail(error)
                self._answer_all(error)
                raise

    async def _has_work(self) -> bool:
        """Waits for something to do; False where nothing will come any more."""
        await self._follower.recognised.wait()
        while not self._queue:
            if self._closing:
                return False
            self._wake.clear()
            await self._wake.wait()
        return True

    async def _turn(self) -> None:
        """One append, if there is something for it."""
        self._follower.check()
        if self._is_ahead:
            await self._catch_up()
        group = self._take()
        if not group:
            return
        journal = self._journal
        if journal is None or journal.position.id != self._follower.index.position.id:
            # What the opening folds may change what fits.
            self._put_back(group)
            await self._open()
        else:
            await self._append(journal, group)

    async def _catch_up(self) -> None:
        """Folds all that is in the log, so that a gap that is left is a real one."""
        waiting = list(self._queue)
        await self._follower.barrier()
        for commit in waiting:
            commit.caught_up = True
        self._is_ahead = False

    def _take(self) -> list[Commit]:
        """The commits of the next append. Those that can never fit are answered; the others stay in their order."""
        group: list[Commit] = []
        stay: list[Commit] = []
        staged = Staged(self._follower.index, dense=self._dense)
        load = Load()
        while self._queue and len(group) < GROUP_COMMITS_MAX:
            commit = self._queue[0]
            if not load.has_room(commit.load, self._log.batch_bytes_max - FRAME_BYTES):
                break
            self._queue.popleft()
            if commit.answer.done() or commit.abandoned.is_set():
                self._follower.awaited.pop(commit.id, None)
                continue
            judgement, sentence = staged.judge(commit)
            if judgement is Judgement.FITS:
                group.append(commit)
                load.add_load(commit.load)
            elif judgement is Judgement.STAGED:
                stay.append(commit)
            elif judgement is Judgement.AHEAD and not commit.caught_up:
                self._is_ahead = True
                stay.append(commit)
            else:
                self._answer(commit, IntegrityError(sentence))
        self._put_back(stay)
        return group

    async def _open(self) -> None:
        follower = self._follower
        self._journal = self._next_offset = None
        self._journal = await Journal.open(
            self._log,
            self._shard,
            ids=_new_id,
            start=follower.index.position,
            fold=lambda append: follower.fold((append,)),
            note=lambda: OPENING,
            still_assigned=_always,
        )
        follower.passed(self._journal.position.base + 1)
        # Behind an opening of ours nothing is in doubt: what isn't answered by now never counts.
        follower.awaited.clear()

    async def _append(self, journal: Journal, group: list[Commit]) -> None:
        self._follower.awaited |= {commit.id: commit for commit in group}
        try:
            append = await journal.append(note_of(group), [entry for commit in group for entry in commit.entries])
        except Refused as error:
            # Nothing was written: no need to look for them in the journal.
            self._follower.awaited.clear()
            if isinstance(error, NotNow):
                self._put_back(group)
                raise
            for commit in group:
                self._answer(commit, error)
            return
        except Lost:
            self._journal = None
            self._put_back(group)
            raise
        self._follower.fold((append,))
        self._follower.passed(append.next_offset)
        elsewhere = self._next_offset is not None and append.base != self._next_offset
        self._next_offset = append.next_offset
        if elsewhere:
            await asyncio.sleep(GIVE_WAY_S)

    def _put_back(self, commits: Sequence[Commit]) -> None:
        self._queue.extendleft(reversed(commits))

    def _answer_all(self, error: BaseException) -> None:
        waiting = [*self._queue, *self._follower.awaited.values()]
        self._queue.clear()
        for commit in waiting:
            self._answer(commit, error)

    def _answer(self, commit: Commit, error: BaseException) -> None:
        in_doubt = self._follower.awaited.pop(commit.id, None) is not None
        told = translated(error)
        if in_doubt and not isinstance(told, IntegrityError):
            told = type(told)(f"{told}; the events may have been recorded: read them before trying again")
        if not commit.answer.done():
            commit.answer.set_exception(told)


def _new_id() -> str:
    return secrets.token_hex(16)


async def _always() -> bool:
    """Who writes is not assigned: any process may, and the journal's rule decides between them."""
    return True
