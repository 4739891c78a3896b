"""Bugs of executions: what a run owes when its owner changes, and what becomes of what it can't use."""

from collections.abc import Awaitable, Callable
from typing import Any

from interlock.domain.decider import NOTHING, Decided, Decision
from interlock.domain.executions.execution import decide as execution
from interlock.domain.executions.shard import ExecutionsShard
from interlock.domain.messages import ResumeDeclined
from interlock.processors.ownership import Ownership
from tests.simulation.bugs import Catalogue, Swaps
from tests.simulation.plan import Lean

executions = Catalogue()


@executions.bug()
def timers_are_dropped_at_a_takeover() -> Swaps:
    """A run that sleeps never wakes up under its next owner. The mistake: to set timers where they are decided, and
    not where they are folded."""
    original = Ownership.open

    async def opened(self: Any, still_assigned: Callable[[], Awaitable[bool]]) -> None:
        await original(self, still_assigned)
        shard: Any = self._handler.shard
        if isinstance(shard, ExecutionsShard):
            shard.__dict__["_due"].clear()
            shard.__dict__["_due_at"].clear()

    return [(Ownership, "open", opened)]


@executions.bug(lean=Lean(cancels=24))
def a_stimulus_that_comes_too_late_is_dropped() -> Swaps:
    """A run that can't be resumed any more keeps the stimulus from those that still wait for it. The mistake: to take
    a resume for a notice that may be ignored."""
    original = execution.resume

    def resume(*args: Any) -> Decided:
        decided = original(*args)
        if isinstance(decided, Decision) and any(isinstance(one.message, ResumeDeclined) for one in decided.intents):
            return NOTHING
        return decided

    return [(execution, "resume", resume)]
