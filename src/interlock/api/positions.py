"""Read your own writes: a query carries the position that it has to know of, and waits for it (PRJ-08).

    publishing/0:17     append 17 of shard 0 of publishing's journal
    executions/2@4711   whatever the message at offset 4711 of that shard's inbox has brought about

What is asked of the engine is answered with such a text (`atLeast`); several may be given, with commas between. An
answer that is not "pending" names the append that it was decided in. A message that nothing was heard of yet is named
by its place in the inbox, and is reached with the append that consumed it: every frame says how far that is.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from interlock.api.context import Context
from interlock.api.failures import Failure, invalid
from interlock.domain.progress import Progress
from interlock.log.frame import read_frame
from interlock.log.journal import JournalReader, Position
from interlock.log.port import LogError, Shard
from interlock.projections.reader import WarmingUp

PLACES_MAX: Final = 64
"""Positions that one query may carry: one for each of many shards."""
READ_S: Final = 0.5
"""How long one read of a journal waits for an append that is still to come."""
REACH_S: Final = 5.0
"""How long a query waits for its position where it doesn't say how long it may take."""
_PLACE = re.compile(r"([a-z]+)/([0-9]{1,5})([:@])([0-9]{1,16})")


class Place(NamedTuple):
    """A place in a context's journal or inbox."""

    context: str
    partition: int
    number: int | None
    """The append of the journal."""
    offset: int | None
    """The offset in the inbox."""

    def __str__(self) -> str:
        at = f":{self.number}" if self.number is not None else f"@{self.offset}"
        return f"{self.context}/{self.partition}{at}"


def places_of(text: str, partitions: Mapping[str, int]) -> tuple[Place, ...]:
    """The places in `at_least`. Raises `Failure` for what names none of this installation."""
    given = text.split(",")
    if len(given) > PLACES_MAX:
        raise invalid(f"Expected at most {PLACES_MAX} positions in `at_least`, found {len(given)}.")
    return tuple(_place_of(each.strip(), partitions) for each in given)


async def reach(context: Context, views: Sequence[str], text: str, wait_s: float | None) -> None:
    """Waits until every view that is folded from these places knows of them. Raises `Failure`, `WarmingUp`."""
    engine = context.engine
    places = places_of(text, engine.topics.partitions)
    deadline = asyncio.get_running_loop().time() + (REACH_S if wait_s is None else wait_s)
    for place in places:
        folding = [view for view in views if place.context in context.queries.readers[view].view.contexts]
        if not folding:
            known = sorted({each for view in views for each in context.queries.readers[view].view.contexts})
            raise invalid(f"Expected a position of {', '.join(known)}, which this answer is made from, found {place}.")
        for view in folding:
            await _reach(context, view, place, deadline)


async def _reach(context: Context, view: str, place: Place, deadline: float) -> None:
    reader, loop = context.queries.readers[view], asyncio.get_running_loop()
    shard = context.engine.topics.journal(place.context, place.partition)
    try:
        async with asyncio.timeout_at(deadline):
            number = await _number(context, view, place, shard) if place.number is None else place.number
    except TimeoutError:
        number = None
    if number is None or not await reader.reached({shard: number}, max(0.0, deadline - loop.time())):
        # What is not filled yet, or catches up after a start, says so itself.
        await context.require_caught_up(view)
        found = (await context.position(view, shard)).number
        reached = f"{place.context}/{place.partition}:{found}"
        raise Failure(
            504,
            "not-reached",
            f"Expected the view {view!r} at {place} in time, found it at {reached}; ask again later (by HTTP also for "
            "longer, with `wait`). `interlock projections list` shows how far the views are.",
            {"view": view, "asked": str(place), "reached": reached},
        )


async def _number(context: Context, view: str, place: Place, shard: Shard) -> int:
    """The append that consumed a message of the inbox, as soon as it is there; or an earlier one that knows of it."""
    assert place.offset is not None
    position = await context.position(view, shard)
    try:
        if position.number and await _consumed(context, shard, position.base) > place.offset:
            return position.number
        return await _consumer(context, shard, position, place.offset)
    except LogError as error:
        raise WarmingUp(f"expected to find in {shard} what was asked, found: {error}") from error


async def _consumed(context: Context, shard: Shard, base: int) -> int:
    """How far the inbox was consumed with the append whose frame is at this offset; 0 where that can't be read."""
    reader = context.engine.parts.backend.log.reader(shard, base)
    try:
        stored = await reader.read(READ_S)
    finally:
        await reader.close()
    if not stored or read_frame(stored[0]) is None:
        return 0
    return _inbox(context, stored[0].value)


async def _consumer(context: Context, shard: Shard, position: Position, offset: int) -> int:
    reader = JournalReader(context.engine.parts.backend.log, shard, position)
    try:
        while True:
            for append in await reader.read(READ_S):
                if _inbox(context, append.note) > offset:
                    return append.frame.number
    finally:
        await reader.close()


def _inbox(context: Context, note: bytes) -> int:
    progress = context.engine.parts.codec.decode(note)
    return progress.inbox if isinstance(progress, Progress) else 0


def _place_of(text: str, partitions: Mapping[str, int]) -> Place:
    found = _PLACE.fullmatch(text)
    if found is None or found[1] not in partitions or int(found[2]) >= partitions[found[1]]:
        known = ", ".join(f"{context}/0 to {count - 1}" for context, count in partitions.items())
        raise invalid(
            "Expected a position as `atLeast` of an answer gives it, such as publishing/0:17 or executions/2@4711 "
            f"(of {known}), found {text[:80]!r}."
        )
    number = int(found[4])
    in_journal = found[3] == ":"
    return Place(found[1], int(found[2]), number if in_journal else None, None if in_journal else number)
