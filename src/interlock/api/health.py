"""Whether the process is well (live) and whether it serves (ready); both say what is missing.

live: nothing stands still until an operator acts; that an answer comes at all shows that the loop runs. ready: shards
are open, views have caught up, and the log answers. A process is restarted for the first and left alone for the
second, so a log that is away makes it unready, not dead.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request

from interlock.api.bodies import wait_of
from interlock.api.context import Context
from interlock.api.endpoint import Answer
from interlock.log.port import LogError
from interlock.projections.files import ViewFiles
from interlock.projections.reader import WarmingUp
from interlock.runtime.engine import Engine
from interlock.sdk.types import Health

LOG_WAIT_S: Final = 2.0
"""How long the log may take to say where a journal ends."""
LOOK_S: Final = 0.05
"""How often a request that waits looks again."""


async def live(context: Context, request: Request) -> Answer[Health]:
    """503 where something stands still until somebody acts."""
    return _answer(context, context.engine.faults())


async def ready(context: Context, request: Request) -> Answer[Health]:
    """503 as long as something has to come before the process serves all that is asked of it; with `wait` once none."""

    async def look() -> list[str]:
        problems = await missing(context.engine)
        for view in context.queries.readers:
            if view not in context.engine.views:
                problems += await _view(context, view)
        return problems

    problems = await until_none(look, wait_of(request), lambda: context.stopping)
    return _answer(context, problems)


async def missing(engine: Engine) -> list[str]:
    """What has to come before the process does its own part."""
    problems = engine.waiting()
    try:
        async with asyncio.timeout(LOG_WAIT_S):
            await engine.parts.backend.log.end(engine.topics.journal("publishing", 0))
    except (LogError, TimeoutError) as error:
        problems.append(f"the log does not answer: {str(error) or f'nothing came within {LOG_WAIT_S:g} s'}")
    return problems


async def until_none(
    look: Callable[[], Awaitable[list[str]]], wait_s: float | None, stopping: Callable[[], bool]
) -> list[str]:
    """The problems, once there is none or the time is over."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (wait_s or 0.0)
    while True:
        problems = await look()
        if not problems or stopping() or loop.time() >= deadline:
            return problems
        await asyncio.sleep(LOOK_S)


async def _view(context: Context, view: str) -> list[str]:
    """What keeps a view that another process projects from answering, or from going on."""
    if not await context.ask(ViewFiles(context.engine.settings.data / "views", view).held):
        return [f"no process projects the view {view}: expected one with the role projector and this data directory"]
    try:
        await context.require_caught_up(view)
    except (WarmingUp, sqlite3.Error) as error:
        return [f"view {view} can't answer: {error}"]
    return []


def _answer(context: Context, problems: list[str]) -> Answer[Health]:
    health = Health(ok=not problems, problems=tuple(problems), roles=context.engine.roles)
    return Answer(503 if problems else 200, health)
