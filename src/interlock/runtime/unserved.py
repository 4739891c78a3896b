"""Says in the log which runs no process can serve, as long as there are any: a run that stands still is never silent.

Such a run goes on by itself where a process presents the code of its next activity.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from interlock.processors.ports import Clock

log = logging.getLogger(__name__)

AGAIN_S: Final = 60.0
"""How often those that are still missing are told again."""


@dataclass(frozen=True, slots=True)
class UnservedRun:
    """A run that waits for code."""

    execution_id: str
    activity: str
    since_ms: int


async def tell_unserved(look: Callable[[], Sequence[UnservedRun]], clock: Clock, *, look_s: float) -> None:
    """Looks every `look_s` seconds for activities that are newly missing, until it is cancelled."""
    loop = asyncio.get_running_loop()
    told: dict[str, float] = {}
    while True:
        by_activity: dict[str, list[UnservedRun]] = {}
        for run in look():
            by_activity.setdefault(run.activity, []).append(run)
        for activity in sorted(told.keys() - by_activity.keys()):
            del told[activity]
            log.info("activity %s has what it waited for: no run is unserved", activity)
        for activity, runs in by_activity.items():
            if activity not in told or loop.time() - told[activity] >= AGAIN_S:
                told[activity] = loop.time()
                oldest = min(runs, key=lambda run: run.since_ms)
                log.warning(
                    "%d run(s) wait for activity %r, which no process presents; the oldest is %s, for %.0f s; "
                    "start a process with the --app that has it",
                    len(runs),
                    activity,
                    oldest.execution_id,
                    max(0, clock.now_ms() - oldest.since_ms) / 1000,
                )
        await asyncio.sleep(look_s)
