"""The life of a view in the process that holds it: projecting, rebuilding beside, swapping, dropping.

    start: lock ─► open the serving copy (or begin one) ─► project; a rebuild that was cut short goes on
    rebuild: a second copy is filled by the same code ─► both stop at the same appends ─► the link moves ─► old one goes
    drop: an empty copy serves at once, and answers "warming up" until it is filled
    verify: as a rebuild, but the second copy is only compared with, row by row

Always true: one process writes a view (a lock beside the file says which); the copy that serves is whole at every
moment, and a crash at any point leaves the old one or the new one serving (PRJ-06).

What would surprise: a view that has stopped keeps answering, with its rows of the time and the reason in `status`. A
rebuild is its remedy, and then swaps when it has caught up, since the stopped copy can't come to the same position.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from interlock.log.port import Log, LogError, Shard
from interlock.log.waiters import Waiters
from interlock.projections.files import ViewFiles
from interlock.projections.projector import Projector, TopicIds, ViewStopped
from interlock.projections.recorded import Codec
from interlock.projections.rows import R, Table
from interlock.projections.status import Progress, Rebuilt, ShardStatus, Status, Verified
from interlock.projections.store import Store, StoreAway, StoreBroken
from interlock.projections.verify import compare, moment
from interlock.projections.view import View

logger = logging.getLogger(__name__)

SWAP_LAG_APPENDS_MAX = 1_000
"""How far a rebuilt copy may be behind when the serving one begins to wait for it: well under a second of folding."""


class RebuildUnderWay(Exception):
    """The view is being rebuilt or verified already."""


class _Copy:
    """One copy of the view and what projects into it."""

    def __init__(self, generation: int, store: Store, projector: Projector) -> None:
        self.generation = generation
        self.store = store
        self.projector = projector
        self.error = ""
        self.task: asyncio.Task[None] | None = None

    async def stop(self) -> None:
        """Ends projecting and closes the file."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        self.store.close()


class ViewHost:
    """Holds one view, from `start` to `close`."""

    def __init__(
        self,
        view: View,
        directory: Path,
        *,
        log: Log,
        topic_ids: TopicIds,
        codec: Codec,
        shards: Sequence[Shard],
    ) -> None:
        """`shards` are all the shards of the journals of `view.contexts`."""
        self.view = view
        self.shards = tuple(shards)
        self._files = ViewFiles(directory, view.name)
        self._log = log
        self._topic_ids = topic_ids
        self._codec = codec
        self._changed = Waiters()
        self._copy: _Copy | None = None
        self._filling: _Copy | None = None
        self._rebuild: asyncio.Task[Rebuilt] | None = None
        self._fresh: _Copy | None = None
        """What the rows are compared with, while they are verified."""

    # ---- life ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begins to project. Raises `ViewHeld` where another process does, `StoreAway` where no file can be made."""
        self._files.hold()
        try:
            self._files.remove_verification()
            self._copy = self._open_serving()
            self._run(self._copy)
            if any(each > self._serving.generation for each in self._files.generations()):
                self._begin_rebuild(compare=False).add_done_callback(self._note_resumed)
        except BaseException:
            self._files.let_go()
            raise

    async def close(self) -> None:
        """Ends projecting. A rebuild that is under way goes on at the next start."""
        if self._rebuild is not None:
            self._rebuild.cancel()
            await asyncio.gather(self._rebuild, return_exceptions=True)
        if self._copy is not None:
            await self._copy.stop()
            self._copy = None
        self._changed.wake()
        self._files.let_go()

    async def rebuild(self, *, compare: bool = False, join: bool = False) -> Rebuilt:
        """Fills a second copy from the log alone and lets it serve; returns then.

        `compare` takes digests of both at the position where they swap, while neither moves. `join` waits for the end
        of one that is under way, such as one that went on at the start; it has its own `compare`. Raises
        `RebuildUnderWay`; `ViewStopped` where the new copy can't be filled: then the old one goes on serving.
        When the caller is cancelled it goes on by itself; when the process ends, at the next start.
        """
        under_way = self._rebuild if join and self._rebuild is not None and not self._rebuild.done() else None
        rebuild = under_way or self._begin_rebuild(compare=compare)
        await asyncio.wait([rebuild])
        if rebuild.cancelled():
            raise ViewStopped(f"the rebuild of {self.view.name!r} was cut short; it goes on when the view starts again")
        return rebuild.result()

    async def verify(self) -> Verified:
        """Compares every row that serves with a fresh fold of the journals, where both are at the same appends.

        Changes nothing, and the view goes on serving and projecting. Raises `RebuildUnderWay`; `ViewStopped` where
        the fresh copy can't be filled.
        """
        self._refuse_during_rebuild()
        fresh = self._fresh = self._new_copy(0, self._files.verification)
        try:
            # Never further than what serves: a view that has stopped is verified where it stands.
            fresh.projector.limit(self._numbers(self._serving))
            self._run(fresh)
            while self._behind(fresh, stopped_too=True) > SWAP_LAG_APPENDS_MAX:
                numbers = self._numbers(self._serving)
                fresh.projector.limit(numbers)
                await self._until(lambda: self._is_at(fresh, numbers))  # noqa: B023 - used at once
                if fresh.error:
                    raise ViewStopped(fresh.error)
            await self._meet(fresh, exactly=True)
            positions = {shard: fresh.projector.position(shard) for shard in self.shards}
            with moment(fresh.store.path) as made, moment(self._serving.store.path) as serving:
                self._serving.projector.limit(None)
                return Verified(positions=positions, tables=await compare(self.view, made, serving))
        except (StoreAway, StoreBroken, OSError, sqlite3.Error) as error:
            raise ViewStopped(f"expected to compare {self.view.name!r} with a fresh fold, found: {error}") from error
        finally:
            self._fresh = None
            self._serving.projector.limit(None)
            await fresh.stop()
            self._files.remove_verification()

    async def drop(self) -> None:
        """Throws the rows away and makes them anew; returns at once, with the view warming up."""
        self._refuse_during_rebuild()
        old = self._serving
        fresh = self._new_copy(old.generation + 1)
        fresh.store.marks()
        await self._replace(old, fresh)
        self._run(fresh)

    # ---- questions -------------------------------------------------------------------------------------------------

    async def reached(self, numbers: Mapping[Shard, int], timeout_s: float) -> bool:
        """Waits until the rows hold these appends; False if that takes longer (read your own writes, PRJ-08).

        Shards of other contexts say nothing about this view and are left out.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while not all(
            self._serving.projector.position(shard).number >= number
            for shard, number in numbers.items()
            if shard in self.shards
        ):
            remaining_s = deadline - loop.time()
            if remaining_s <= 0:
                return False
            await self._changed.wait(remaining_s)
        return True

    async def changed(self, wait_s: float | None = None) -> None:
        """Returns when something here is new, or after `wait_s` seconds; look again then."""
        await self._changed.wait(wait_s)

    @property
    def caught_up(self) -> bool:
        """Whether the rows have reached the end that was seen at the start, and still move."""
        return self._copy is not None and self._copy.projector.caught_up and not self._copy.error

    def rows(self, table: Table[R]) -> list[R]:
        """All rows of a table of few, by the connection that writes them; others ask by `ViewReader`, which has to find
        the copy that serves. Raises `StoreAway`, `StoreBroken`."""
        return self._serving.store.rows(table)

    @property
    def error(self) -> str:
        """Why the view has stopped, and what to do; "" if it hasn't."""
        return self._serving.error

    @property
    def fault(self) -> str:
        """Why somebody has to act before the view goes on in this process; "" if nobody has.

        A copy whose file was deleted under the process is written on and can be read by nobody.
        """
        if self._copy is None or self._files.link.exists():
            return ""
        return (
            f"expected the file of the view {self.view.name!r} at {self._files.link}, found none: it was deleted under "
            "this process; start the process again, which makes it anew from the journals"
        )

    @property
    def unwritten(self) -> str:
        """Why its file can't be written now, which passes by itself as a full disk does; "" if it can."""
        return self._serving.projector.store_away

    @property
    def oldest_ms(self) -> int | None:
        """The log's time of the oldest append that was read and isn't in the rows; None where there is none."""
        return self._serving.projector.oldest_ms

    @property
    def waiting_for(self) -> str:
        """What passes by itself, such as a log that can't be reached; "" if nothing."""
        return self._serving.projector.waiting_for()

    @property
    def working(self) -> Literal["", "rebuild", "verify"]:
        """What is done with a second copy now."""
        if self._fresh is not None:
            return "verify"
        return "rebuild" if self._filling is not None else ""

    @property
    def verifying(self) -> Progress | None:
        """How far a verification is; None while there is none."""
        return None if self._fresh is None else self._progress(self._fresh)

    def digest(self) -> str:
        """A digest over all rows that serve; reads the whole view."""
        return self._serving.store.digest()

    async def status(self) -> Status:
        """How the view is now."""
        copy = self._serving
        shards = tuple([await self._shard_status(copy, shard) for shard in self.shards])
        lags = [each.lag for each in shards if each.lag is not None]
        return Status(
            view=self.view.name,
            state="stopped" if copy.error else "live" if copy.projector.caught_up else "warming up",
            generation=copy.generation,
            shards=shards,
            lag=sum(lags) if len(lags) == len(shards) else None,
            waiting_for=copy.projector.waiting_for(),
            error=copy.error,
            rebuild=None if self._filling is None else self._progress(self._filling),
        )

    async def _shard_status(self, copy: _Copy, shard: Shard) -> ShardStatus:
        try:
            end = await self._log.end(shard)
        except LogError:
            end = None
        return ShardStatus(
            shard=shard,
            position=copy.projector.position(shard),
            end=end,
            lag=None if end is None else max(0, end - copy.projector.stored_to(shard)),
        )

    def _progress(self, filling: _Copy) -> Progress:
        done = sum(filling.projector.position(shard).number for shard in self.shards)
        serving = sum(self._serving.projector.position(shard).number for shard in self.shards)
        return Progress(appends_done=done, appends_total=max(done, serving))

    # ---- copies ----------------------------------------------------------------------------------------------------

    @property
    def _serving(self) -> _Copy:
        if self._copy is None:
            raise AssertionError(f"expected the view {self.view.name!r} to be started, found it closed")
        return self._copy

    def _new_copy(self, generation: int, path: Path | None = None) -> _Copy:
        store = Store(path or self._files.path(generation), self.view)
        projector = Projector(
            self.view,
            store,
            log=self._log,
            topic_ids=self._topic_ids,
            codec=self._codec,
            shards=self.shards,
            changed=self._changed.wake,
        )
        return _Copy(generation, store, projector)

    def _open_serving(self) -> _Copy:
        """The copy that serves; a new one where there is none, or where another release made it or it is damaged."""
        serving = self._files.serving()
        generations = self._files.generations()
        if serving is not None and self._is_ours(serving):
            for old in (each for each in generations if each < serving):
                self._files.remove(old)
            return self._new_copy(serving)
        fresh = self._new_copy(max([*generations, serving or 0]) + 1)
        fresh.store.marks()
        self._files.serve(fresh.generation)
        for old in generations:
            self._files.remove(old)
        return fresh

    def _open_filling(self) -> _Copy:
        """The copy of a rebuild: one that was cut short, or a new one."""
        serving = self._serving.generation
        for generation in (each for each in self._files.generations() if each > serving):
            if self._is_ours(generation):
                return self._new_copy(generation)
            self._files.remove(generation)
        return self._new_copy(serving + 1)

    def _is_ours(self, generation: int) -> bool:
        """Whether a copy can be gone on with."""
        if not self._files.path(generation).exists():
            return False
        store = Store(self._files.path(generation), self.view)
        try:
            return store.marks().fingerprint == self.view.fingerprint
        except StoreBroken:
            logger.exception("the view %s is damaged and is made anew", self.view.name)
            return False
        finally:
            store.close()

    def _run(self, copy: _Copy) -> None:
        copy.task = asyncio.create_task(self._project(copy), name=f"project {self.view.name} {copy.generation}")

    async def _project(self, copy: _Copy) -> None:
        """Projects into a copy until it stops; then says so, and leaves it as it is."""
        try:
            await copy.projector.run()
        except Exception as error:
            copy.error = str(error) if isinstance(error, ViewStopped) else f"the program failed: {error!r}"
            logger.exception("the view %s has stopped", self.view.name)
            try:
                copy.store.mark_stopped(copy.error)
            except (StoreAway, StoreBroken):
                logger.exception("the view %s can't keep why it stopped", self.view.name)
        finally:
            self._changed.wake()

    # ---- the swap --------------------------------------------------------------------------------------------------

    def _refuse_during_rebuild(self) -> None:
        if self._fresh is not None:
            raise RebuildUnderWay(f"expected {self.view.name!r} to be left alone, found it being verified; wait")
        if self._rebuild is not None and not self._rebuild.done():
            raise RebuildUnderWay(f"expected no rebuild of {self.view.name!r}, found one under way; wait for its end")

    def _begin_rebuild(self, *, compare: bool) -> asyncio.Task[Rebuilt]:
        self._refuse_during_rebuild()
        self._rebuild = asyncio.create_task(self._fill_and_swap(compare=compare), name=f"rebuild {self.view.name}")
        return self._rebuild

    def _note_resumed(self, rebuild: asyncio.Task[Rebuilt]) -> None:
        """Nobody waits for a rebuild that went on by itself; so what ended it is logged."""
        if not rebuild.cancelled() and (error := rebuild.exception()) is not None:
            logger.error("the rebuild of the view %s, which was cut short, has failed", self.view.name, exc_info=error)

    async def _fill_and_swap(self, *, compare: bool) -> Rebuilt:
        filling = self._filling = self._open_filling()
        try:
            self._run(filling)
            await self._until(lambda: self._is_close(filling))
            return await self._swap(filling, compare=compare)
        except (StoreAway, StoreBroken, OSError) as error:
            raise ViewStopped(
                f"expected to swap the rebuilt copy of {self.view.name!r} in, found: {error}; "
                "the old one goes on serving, and the next rebuild goes on with the new one"
            ) from error
        finally:
            self._filling = None
            if self._serving is not filling:
                await filling.stop()
                self._serving.projector.limit(None)
                if filling.error:
                    self._files.remove(filling.generation)

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._changed.wait()

    def _is_close(self, filling: _Copy) -> bool:
        """Whether a filling copy is near enough to the serving one for a swap. Raises `ViewStopped`."""
        if filling.error:
            raise ViewStopped(filling.error)
        return filling.projector.caught_up and self._behind(filling) <= SWAP_LAG_APPENDS_MAX

    def _behind(self, filling: _Copy, *, stopped_too: bool = False) -> int:
        serving = self._serving
        if serving.error and not stopped_too:
            return 0
        positions = (
            (serving.projector.position(shard).number, filling.projector.position(shard).number)
            for shard in self.shards
        )
        return sum(max(0, ahead - number) for ahead, number in positions)

    async def _swap(self, filling: _Copy, *, compare: bool) -> Rebuilt:
        """Brings both copies to the same appends, where neither moves, and lets the new one serve."""
        serving = self._serving
        await self._meet(filling, exactly=False)
        positions = {shard: filling.projector.position(shard) for shard in self.shards}
        replaced = serving.store.digest() if compare else ""
        rebuilt = filling.store.digest() if compare else ""
        filling.store.flush_to_file()
        await self._replace(serving, filling)
        filling.projector.limit(None)
        return Rebuilt(positions=positions, replaced_digest=replaced, rebuilt_digest=rebuilt)

    async def _meet(self, other: _Copy, *, exactly: bool) -> None:
        """Brings both copies to the same appends, where neither moves. Raises `ViewStopped`.

        Where the serving one has stopped, the other one comes to it `exactly`, or stays where it is.
        """
        copies = (self._serving, other)
        met = False
        while not met:
            moving = [copy for copy in copies if exactly or not copy.error]
            meeting = {shard: max(copy.projector.position(shard).number for copy in moving) for shard in self.shards}
            for copy in moving:
                copy.projector.limit(meeting)
            await self._until(lambda: all(self._is_at(copy, meeting) for copy in copies))  # noqa: B023 - used at once
            if other.error:
                raise ViewStopped(other.error)
            # What was on its way into a file when the limit was set may have gone past it; then they meet further on.
            met = (not exactly and bool(self._serving.error)) or all(
                copy.projector.position(shard).number == number for copy in copies for shard, number in meeting.items()
            )

    def _numbers(self, copy: _Copy) -> dict[Shard, int]:
        return {shard: copy.projector.position(shard).number for shard in self.shards}

    def _is_at(self, copy: _Copy, numbers: Mapping[Shard, int]) -> bool:
        """Whether a copy is at these appends, or never will be."""
        return bool(copy.error) or all(
            copy.projector.position(shard).number >= number for shard, number in numbers.items()
        )

    async def _replace(self, old: _Copy, new: _Copy) -> None:
        """Lets `new` serve, and removes `old`."""
        self._files.serve(new.generation)
        self._copy = new
        await old.stop()
        self._files.remove(old.generation)
        self._changed.wake()
