"""The history of any aggregate."""

import re
from collections.abc import Callable
from typing import Final

from starlette.requests import Request

from interlock.api import answers
from interlock.api.bodies import above_of, limit_of, shell_of, wait_of
from interlock.api.context import Context
from interlock.api.endpoint import Answer, path_parts
from interlock.api.failures import not_found
from interlock.domain.sharding import slot_id
from interlock.projections.history.query import EVENTS_MAX
from interlock.projections.history.states import STATES
from interlock.projections.paging import PAGE_BYTES_MAX
from interlock.sdk.types import HistoryEntry, Page

VIEW: Final = "history"
KINDS: Final = tuple(STATES)
"""The kinds of streams that there are: an id alone is looked for among all of them, so that none is forgotten."""
_BARE = re.compile(r"[^:]+|[0-9a-f]{32}:[^:]+")
"""An id without the kind of its stream; that of a wait has two parts, its run's and its bookmark's."""


async def history(context: Context, request: Request) -> Answer[Page[HistoryEntry]]:
    """The events of an aggregate in order, above the revision `after`.

    It is named by its stream (`execution:<id>`), by its id alone, whatever kind it is of, or as `<definition>/<slot>`.
    """
    above, limit = above_of(request), limit_of(request, EVENTS_MAX)
    parts = path_parts(request, "/v1/history/")
    streams = streams_of(parts, shell_of(request))

    async def look() -> Page[HistoryEntry]:
        entries, may_be_cut = await context.ask(_question(context, streams, above, limit))
        if not entries and above == 0:
            raise not_found(
                f"Expected the history of {'/'.join(parts)!r}, found none; name a stream such as execution:<id>, an "
                f"id (of: {', '.join(KINDS)}), or <definition>/<slot>."
            )
        following = str(entries[-1].revision) if len(entries) == limit or may_be_cut else None
        return Page(items=entries, next=following)

    return Answer(200, await context.until((VIEW,), wait_of(request), look, lambda found: bool(found.items)))


def _question(
    context: Context, streams: tuple[str, ...], above: int, limit: int
) -> Callable[[], tuple[tuple[HistoryEntry, ...], bool]]:
    """The first entries of the first stream that has any, and whether they may be fewer than there are."""

    def ask() -> tuple[tuple[HistoryEntry, ...], bool]:
        for stream in streams:
            entries = context.queries.history.history(stream, above=above, limit=limit)
            if entries:
                # A character is four bytes at most, and a page that was cut is larger than its bound.
                may_be_cut = 4 * sum(len(entry.data) for entry in entries) > PAGE_BYTES_MAX
                return tuple(answers.history_entry(entry) for entry in entries), may_be_cut
        return (), False

    return ask


def streams_of(parts: tuple[str, ...], shell: str) -> tuple[str, ...]:
    """The streams that a name may mean, to be tried in order."""
    if len(parts) == 2 and ":" not in parts[0]:
        return (f"slot:{slot_id(shell, *parts)}",)
    name = "/".join(parts)
    if _BARE.fullmatch(name):
        return tuple(f"{kind}:{name}" for kind in KINDS)
    return (name,)
