"""What every handler of the API has: the engine, the views, and ways to ask them without holding up the event loop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from interlock.api.failures import Failure
from interlock.api.queries import Queries
from interlock.log.journal import START, JournalReader, Position
from interlock.log.port import LogError, Shard
from interlock.projections.reader import WarmingUp
from interlock.runtime.engine import Engine

T = TypeVar("T")

THREADS: Final = 4
"""Questions to views at once; one takes well under a millisecond."""
POSITION_WAIT_S: Final = 5.0
"""How long an answer waits for a view to reach the position that it was asked for."""
LAST_NUMBER_READ_S: Final = 1.0
"""How long one read waits for records that are known to be there."""
LOOK_FIRST_S: Final = 0.002
LOOK_MAX_S: Final = 0.05
"""How often a waiting request looks again while things change, or while another process projects the view."""
LOOKS_AT_ONCE_MAX: Final = 8
"""How often it does so without a pause: a run that is awaited by its caller takes a handful of changes."""


class Context:
    """One an app."""

    def __init__(self, engine: Engine, queries: Queries) -> None:
        self.engine = engine
        self.queries = queries
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="api")
        self.stopping = False
        """Whether the process is about to end: requests that wait answer with what is there."""

    def now_ms(self) -> int:
        """The time by the engine's clock."""
        return self.engine.parts.clock.now_ms()

    def stop(self) -> None:
        """Lets requests that wait answer with what is there, so that the process can end."""
        self.stopping = True

    def close(self) -> None:
        """Ends the threads and closes the views' files."""
        self._threads.shutdown(wait=True)
        self.queries.close()

    async def ask(self, question: Callable[[], T]) -> T:
        """Asks a view, in a thread. Raises what the question raises."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, question)

    async def require_caught_up(self, view: str) -> None:
        """To be called before a list that is empty, or a count, is answered. Raises `WarmingUp` (PRJ-09)."""

        def check() -> None:
            with self.queries.readers[view].snapshot() as snapshot:
                snapshot.require_caught_up()

        await self.ask(check)

    async def at_position(self, view: str, position: int | None) -> None:
        """Waits until a view knows of an append of the publishing journal (PRJ-08). Raises `WarmingUp`."""
        if position is None:
            return
        shard: Shard = self.engine.topics.journal("publishing", 0)
        if not await self.queries.readers[view].reached({shard: position}, POSITION_WAIT_S):
            raise WarmingUp(f"expected the view {view!r} at position {position} of publishing, found it before that")

    async def require_current(self, view: str) -> None:
        """To be called before "not found" is said: the view holds everything that counted when the request came.

        A view that was live may be behind since: its process may have died. Raises `WarmingUp` where it does not get
        there in time, or where the log can't be asked.
        """
        positions = await self.ask(lambda: self._positions(view))
        try:
            numbers = {
                shard: await self._last_number(shard, positions.get(shard, START))
                for shard in self.engine.shards_of(self.queries.readers[view].view)
            }
        except LogError as error:
            raise WarmingUp(f"expected to compare the view {view!r} with the log, found: {error}") from error
        if not await self.queries.readers[view].reached(numbers, POSITION_WAIT_S):
            raise WarmingUp(
                f"expected the view {view!r} to hold what the journals held when it was asked, found it behind; "
                "is a process with the role projector running? `interlock projections list` shows how far it is"
            )

    async def position(self, view: str, shard: Shard) -> Position:
        """How far a view has come on a journal; `START` while it is not filled yet."""
        try:
            return (await self.ask(lambda: self._positions(view))).get(shard, START)
        except WarmingUp:
            return START

    def _positions(self, view: str) -> Mapping[Shard, Position]:
        with self.queries.readers[view].snapshot() as snapshot:
            return snapshot.positions()

    async def _last_number(self, shard: Shard, position: Position) -> int:
        """The number of the last append of a journal that counts now."""
        log = self.engine.parts.backend.log
        end = await log.end(shard)
        reader = JournalReader(log, shard, position)
        try:
            while reader.next_offset < end:
                await reader.read(LAST_NUMBER_READ_S)
            return reader.position.number
        finally:
            await reader.close()

    async def until(
        self,
        views: Sequence[str],
        wait_s: float | None,
        look: Callable[[], Awaitable[T]],
        enough: Callable[[T], bool],
    ) -> T:
        """Looks until what is found is enough, or the time is over; then answers what is there, or raises why not.

        While something that was asked for is not there yet, or a view warms up, it goes on looking too.
        """
        # The loop's time, as for every wait: on a virtual loop no time passes while a test computes.
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (wait_s or 0.0)
        looks, current = 0, False
        while True:
            # Listening begins before the look, or a change between the two would be missed.
            changed = asyncio.ensure_future(self._changed(views, looks))
            await asyncio.sleep(0)
            try:
                found, problem = await look(), None
            except (Failure, WarmingUp) as error:
                found, problem = None, error
            try:
                if found is not None and (wait_s is None or enough(found)):
                    return found
                remaining_s = deadline - loop.time()
                if remaining_s <= 0 or self.stopping or not _may_pass(problem):
                    if isinstance(problem, Failure) and problem.status == 404 and not current:
                        # Only a view that has read to the ends of its journals may say so.
                        await asyncio.gather(*(self.require_current(view) for view in views))
                        current = True
                        continue
                    if problem is not None:
                        raise problem
                    assert found is not None
                    return found
                await asyncio.wait([changed], timeout=remaining_s)
            finally:
                changed.cancel()
            looks += 1

    async def _changed(self, views: Sequence[str], looks: int) -> None:
        """Returns when a view may have changed; after a pause where the caller has looked often."""
        pause_s = min(LOOK_FIRST_S * 2 ** min(max(0, looks - LOOKS_AT_ONCE_MAX), 10), LOOK_MAX_S)
        held = self.engine.views
        if any(view not in held for view in views):
            await asyncio.sleep(pause_s)
            return
        waiting = [asyncio.ensure_future(held[view].changed(1.0)) for view in views]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        if looks >= LOOKS_AT_ONCE_MAX:
            await asyncio.sleep(pause_s)


def _may_pass(problem: Exception | None) -> bool:
    """Whether what stands against an answer may be over soon."""
    return not isinstance(problem, Failure) or problem.status in (404, 503)
