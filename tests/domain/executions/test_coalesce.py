"""Several checkpoints as one event."""

import pytest

from interlock.domain.decider import Change, fold
from interlock.domain.executions.coalesce import COALESCED_STEPS_MAX, coalesce
from interlock.domain.executions.execution.events import CheckpointsCoalesced, ExecutionCompleted, Step
from interlock.domain.executions.execution.state import UnfoldableEvent, evolve
from tests.domain.executions.scenario import RUN, completed, consumed, evolve_known, sleeping, started, waiting

pytestmark = pytest.mark.domain

STREAM = f"execution:{RUN}"
STEPS: tuple[Step, ...] = (
    started(),
    completed("a"),
    waiting("paid"),
    consumed("paid"),
    ExecutionCompleted(output="1", at_ms=9),
)


def test_a_single_step_stays_itself() -> None:
    """Proves: CHK-03"""
    change = Change(STREAM, started())
    assert coalesce([change]) is change


def test_several_steps_are_one_event_that_folds_alike() -> None:
    """Proves: CHK-03"""
    one = coalesce([Change(STREAM, step) for step in STEPS])
    assert one == Change(STREAM, CheckpointsCoalesced(steps=STEPS))
    assert evolve(None, CheckpointsCoalesced(steps=STEPS)) == fold(evolve_known, None, STEPS)
    parts = (CheckpointsCoalesced(steps=STEPS[:2]), CheckpointsCoalesced(steps=STEPS[2:]))
    assert fold(evolve_known, None, parts) == fold(evolve_known, None, STEPS)


@pytest.mark.parametrize("count", [0, COALESCED_STEPS_MAX + 1])
def test_steps_are_coalesced_within_a_cap(count: int) -> None:
    """Proves: CHK-03"""
    with pytest.raises(ValueError, match=f"Expected 1 to 50 checkpoints to coalesce, found {count}"):
        coalesce([Change(STREAM, completed("a"))] * count)


def test_what_does_not_belong_together_is_not_coalesced() -> None:
    first = Change(STREAM, started())
    with pytest.raises(ValueError, match="found TimerSet of 'execution:run-2'"):
        coalesce([first, Change("execution:run-2", sleeping("nap", 1))])
    with pytest.raises(ValueError, match="found CheckpointsCoalesced of 'execution:run-1'"):
        coalesce([first, Change(STREAM, CheckpointsCoalesced(steps=STEPS))])


@pytest.mark.parametrize(
    "event", [completed("a"), CheckpointsCoalesced(steps=()), CheckpointsCoalesced(steps=STEPS[1:])]
)
def test_a_history_that_does_not_begin_with_its_start_stops_loudly(event: Step | CheckpointsCoalesced) -> None:
    with pytest.raises(UnfoldableEvent, match="Expected the history of an execution to begin with ExecutionStarted"):
        evolve(None, event)
