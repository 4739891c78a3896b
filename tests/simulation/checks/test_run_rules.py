"""Runs and clients: a true history, altered in one place, breaks the rule of that place."""

from dataclasses import replace

import pytest

from interlock.domain.executions.execution.events import (
    ActivityCompleted,
    BookmarkConsumed,
    BookmarkCreated,
    BookmarkExpired,
    CancelRequested,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionStarted,
    TimerFired,
    TimerSet,
)
from interlock.domain.messages import (
    RegisterWait,
    ResumeDeclined,
    WithdrawWait,
)
from tests.simulation.checks.altering import Alter, Cases, broken_by, routed
from tests.simulation.checks.story import TOPICS, Asked, Heard, Story

pytestmark = pytest.mark.simulation
CASES = Cases()
breaks = CASES.breaks


# ---- runs ---------------------------------------------------------------------------------------------------------


@breaks("wrong-shard")
def a_run_is_written_by_another_shard(story: Story) -> None:
    step, one = story.written(ExecutionStarted)[0]
    names = (f"{number:032x}" for number in range(99))
    one.key = "execution:" + next(run for run in names if TOPICS.partition("executions", run) != step.home[1])


@breaks("started-twice")
def a_run_starts_twice(story: Story) -> None:
    story.repeat(ExecutionStarted)


@breaks("started-unasked")
def a_run_starts_that_nobody_asked_for(story: Story) -> None:
    story.edit(ExecutionStarted, 0, execution_id="e" * 32)


@breaks("pinned-wrong")
def a_run_is_pinned_to_another_artifact(story: Story) -> None:
    story.edit(ExecutionStarted, 0, artifact_id="another")


@breaks("step-before-start")
def a_run_goes_on_that_has_not_begun(story: Story) -> None:
    step, one = story.written(ActivityCompleted)[0]
    names = (f"{number:032x}" for number in range(99))
    one.key = "execution:" + next(run for run in names if TOPICS.partition("executions", run) == step.home[1])


@breaks("step-after-end")
def a_run_ends_twice(story: Story) -> None:
    story.repeat(ExecutionCompleted)


@breaks("out-of-order")
def a_run_does_another_node(story: Story) -> None:
    story.edit(ActivityCompleted, 0, node_id="ship")


@breaks("completed-early")
def a_run_completes_before_its_last_node(story: Story) -> None:
    run = story.written(ExecutionCompleted)[0][1].key
    last = [nth for nth, (_, one) in enumerate(story.written(ActivityCompleted)) if one.key == run][-1]
    story.drop(ActivityCompleted, last)


@breaks("cancelled-unasked")
def a_run_is_cancelled_that_nobody_asked_to(story: Story) -> None:
    story.drop(CancelRequested)


@breaks("two-waits")
def a_run_sets_two_timers(story: Story) -> None:
    story.repeat(TimerSet)


@breaks("bookmark-twice")
def two_runs_share_a_bookmark(story: Story) -> None:
    story.edit(BookmarkCreated, 1, bookmark_id=story.written(BookmarkCreated)[0][1].value.bookmark_id)


@breaks("wait-unpromised")
def a_bookmark_is_not_registered(story: Story) -> None:
    story.drop(RegisterWait)


@breaks("withdrawal-unpromised")
def a_run_ends_and_leaves_its_wait(story: Story) -> None:
    story.drop(WithdrawWait)


@breaks("bookmark-consumed-twice")
def a_bookmark_is_consumed_twice(story: Story) -> None:
    story.repeat(BookmarkConsumed)


@breaks("resumed-by-other")
def a_run_is_resumed_by_a_stimulus_that_did_not_take_its_wait(story: Story) -> None:
    story.edit(BookmarkConsumed, 0, stimulus_id=routed(story, "p2")[1].value.stimulus_id)


@breaks("resumed-with-other")
def a_run_is_resumed_with_another_payload(story: Story) -> None:
    story.edit(BookmarkConsumed, 0, data="{}")


@breaks("wait-expired-early")
def a_wait_times_out_too_early(story: Story) -> None:
    story.edit(BookmarkExpired, 0, at_ms=1)


@breaks("timer-unset")
def a_timer_fires_that_was_not_set(story: Story) -> None:
    story.drop(TimerSet)


@breaks("timer-early")
def a_timer_fires_too_early(story: Story) -> None:
    story.edit(TimerFired, 0, at_ms=1)


@breaks("timer-wrong")
def a_timer_is_set_to_another_time(story: Story) -> None:
    story.edit(TimerSet, 0, due_at_ms=story.written(TimerSet)[0][1].value.due_at_ms + 1)


@breaks("decline-wrong")
def a_run_declines_what_it_waits_for(story: Story) -> None:
    step, one = story.written(RegisterWait)[0]
    wait = one.value
    declined = ResumeDeclined(
        shell=wait.shell,
        identity=wait.identity,
        correlation=wait.correlation,
        execution_id=wait.execution_id,
        bookmark_id=wait.bookmark_id,
        stimulus_id="any",
    )
    step.written.append(replace(one, value=declined))


# ---- clients ------------------------------------------------------------------------------------------------------


def hears(story: Story, word: str) -> Heard:
    """The first time that a client was told a word."""
    return next(step for step in story.steps if isinstance(step, Heard) and step.told.word == word)


@breaks("told-unpromised")
def a_client_is_told_before_anything_is_decided(story: Story) -> None:
    heard = hears(story, "done")
    story.steps.remove(heard)
    asked = next(step for step in story.steps if isinstance(step, Asked))
    story.steps.insert(story.steps.index(asked) + 1, heard)


@breaks("told-differently")
def a_client_is_told_something_else(story: Story) -> None:
    heard = hears(story, "done")
    heard.told = replace(heard.told, body={**heard.told.body, "revision": 99})


@breaks("acknowledged-lost")
def a_stimulus_that_was_acknowledged_is_not_there(story: Story) -> None:
    heard = hears(story, "landed")
    heard.told = replace(heard.told, offset=99)


@breaks("acknowledged-lost")
def a_run_goes_on_that_was_told_to_have_ended(story: Story) -> None:
    story.drop(ExecutionCancelled)


@breaks("refused-happened")
def a_cancel_that_was_refused_is_noted_by_the_run(story: Story) -> None:
    again = story.repeat(CancelRequested)
    again.value = replace(again.value, command_id="c2")


@breaks("refused-landed")
def a_stimulus_that_was_refused_is_there(story: Story) -> None:
    asked = [step for step in story.steps if isinstance(step, Asked)]
    number = next(at for at, step in enumerate(asked) if isinstance(step.what, bytes) and b'"p9"' in step.what)
    heard = next(step for step in story.steps if isinstance(step, Heard) and step.number == number)
    heard.told = replace(heard.told, word="never", offset=-1)


@breaks("unfinished")
def a_run_is_not_ended(story: Story) -> None:
    story.steps = story.steps[: story.steps.index(story.written(ActivityCompleted)[-1][0])]


@pytest.mark.parametrize(("rule", "alter"), CASES.both())
def test_an_altered_history_breaks_its_rule(rule: str, alter: Alter, story: Story) -> None:
    """Proves: LOG-01, PRJ-04."""
    assert broken_by(alter, story) == rule
