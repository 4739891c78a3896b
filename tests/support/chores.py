"""A workflow for tests that kill: three activities, the first of which takes a while."""

import asyncio

from interlock import Workflow, activity, event


@activity
async def begin(input: int) -> int:
    """Takes long enough that some are under way at any moment."""
    await asyncio.sleep(4.0)
    return input


@activity
async def go_on(begin: int) -> int:
    """Takes no time."""
    return begin + 1


@activity
async def finish(go_on: int) -> int:
    """Takes no time."""
    return go_on + 1


chores = Workflow("chores", input=int).on(event("chore.asked")).then(begin).then(go_on).then(finish)
chores_v2 = Workflow("chores", input=int).on(event("chore.asked")).then(begin).then(finish, inputs={"go_on": "begin"})
