"""Lists of a view's rows in pages: one way to ask for them, and one form of their answers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from starlette.requests import Request

from interlock.api.bodies import cursor_of, cursor_text, limit_of
from interlock.api.context import Context
from interlock.api.endpoint import Answer
from interlock.projections.paging import Cursor, goes_on
from interlock.projections.rows import Value
from interlock.sdk.types import Page

R = TypeVar("R", bound=Sequence[Value])
T = TypeVar("T")


class PageRequest(NamedTuple):
    """Which part of a list is asked for."""

    after: Cursor | None
    """Behind which row; None for the beginning."""
    limit: int
    """At most so many rows."""


def page_request(request: Request) -> PageRequest:
    """What the parameters `limit` and `after` say. Raises `Failure`."""
    limit = limit_of(request)
    return PageRequest(cursor_of(request), limit)


async def page_of(
    context: Context,
    view: str,
    asked: PageRequest,
    look: Callable[[PageRequest], Sequence[R]],
    shown: Callable[[R], T],
    place: Callable[[R], Cursor],
) -> Answer[Page[T]]:
    """What `look` finds of a view, each row as it is `shown`; `place` is where a list goes on behind a row.

    `look` is asked for one row more than the page holds, which tells whether there is another page. Raises `WarmingUp`
    where nothing is found in a view that is not filled yet.
    """
    rows = await context.ask(lambda: look(PageRequest(asked.after, asked.limit + 1)))
    if not rows:
        await context.require_caught_up(view)
    page = rows[: asked.limit]
    following = cursor_text(place(page[-1])) if goes_on(rows, asked.limit) else None
    return Answer(200, Page(items=tuple(map(shown, page)), next=following))
