"""Clocks: a history that is altered in one place breaks the rule of that place, unless a clock explains it."""

import pytest

from interlock.domain.executions.execution.events import TimerFired, TimerSet
from interlock.domain.routing.stimulus.events import StimulusRouted
from tests.simulation.checks import Shift, Violation
from tests.simulation.checks.clocks import ClocksCheck
from tests.simulation.checks.story import Decided, Stage, Story

pytestmark = pytest.mark.simulation
HOUR_MS = 3_600_000


def test_a_true_history_breaks_none(story: Story) -> None:
    assert found(story.copy()) == ""


def test_an_event_is_of_a_time_that_no_clock_showed(story: Story) -> None:
    altered = story.copy()
    step, _ = altered.written(TimerSet)[0]
    said_at(step, step.at_ms + HOUR_MS)
    assert found(altered) == "clock-unshown"
    assert found(altered, Shift("p0", step.at_ms, HOUR_MS)) == ""


def test_a_timer_fires_before_its_time_although_no_clock_was_ahead(story: Story) -> None:
    altered = story.copy()
    step, _ = altered.written(TimerFired)[0]
    right_ms = step.at_ms
    step.at_ms -= 10_000
    said_at(step, step.at_ms)
    assert found(altered) == "ended-early"
    assert found(altered, Shift("p0", right_ms - 20_000, HOUR_MS)) == ""
    was_right_again = Shift("p0", right_ms - 2 * HOUR_MS, HOUR_MS), Shift("p0", right_ms - HOUR_MS, 0)
    assert found(altered, *was_right_again) == "ended-early"


def test_a_shard_believes_a_time_that_the_log_has_not_come_to(story: Story) -> None:
    altered = story.copy()
    step, one = altered.written(StimulusRouted)[0]
    altered.edit(StimulusRouted, 0, arrived_at_ms=one.value.arrived_at_ms + HOUR_MS)
    assert found(altered) == "ahead-of-the-log"
    assert found(altered, Shift("p0", step.at_ms, HOUR_MS)) == "ahead-of-the-log", "no clock explains it"


def said_at(step: Decided, time_ms: int) -> None:
    """Lets the writer of an append have said another time."""
    for one in step.written:
        one.headers = tuple((name, b"%d" % time_ms if name == "time" else value) for name, value in one.headers)


def found(story: Story, *shifts: Shift) -> str:
    """The rule of clocks that a history breaks; "" if none."""
    stage = Stage()
    tapes = stage.judge().tapes
    check = ClocksCheck(shifts, skew_ms=2_000)
    try:
        for step in story.steps:
            stage.play(step)
            for commit in tapes.read()[0]:
                check.take(commit)
    except Violation as violation:
        return violation.rule
    return ""
