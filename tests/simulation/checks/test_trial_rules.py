"""Test runs and used ids: a true history, altered in one place, breaks the rule of that place."""

from dataclasses import replace

import pytest

from interlock.domain.asked import asked_of
from interlock.domain.executions.execution.events import BookmarkCreated, ExecutionStarted
from interlock.domain.messages import Reply, StartExecution, StartTestRun
from interlock.domain.publishing.reference.events import (
    SourceReferenceCreated,
    SourceReferenceExpired,
    SourceReferenceRetired,
    SourceReferenceUsed,
)
from interlock.domain.publishing.unpublish.events import Unpublished
from interlock.domain.reply import body
from tests.simulation.checks import Violation
from tests.simulation.checks.altering import Alter, Cases, broken_by
from tests.simulation.checks.story import Asked, Stage, Story
from tests.simulation.checks.test_journal_rules import swallow
from tests.simulation.checks.trials import run_of
from tests.simulation.checks.used import UsedCheck

pytestmark = pytest.mark.simulation
CASES = Cases()
breaks = CASES.breaks


def nth(story: Story, of: type, /, **fields: object) -> int:
    """Which event or promise of a type has these fields first."""
    found = story.written(of)
    return next(at for at, (_, one) in enumerate(found) if all(getattr(one.value, k) == v for k, v in fields.items()))


def asked(story: Story, command_id: str) -> Asked:
    """What a client has asked for a test run."""
    steps = (step for step in story.steps if isinstance(step, Asked) and isinstance(step.what, StartTestRun))
    return next(step for step in steps if isinstance(step.what, StartTestRun) and step.what.command_id == command_id)


def answer(story: Story, command_id: str, *, last: bool = False) -> int:
    """Which reply answers a command first, or last."""
    found = [at for at, (_, one) in enumerate(story.written(Reply)) if one.value.command_id == command_id]
    return found[-1 if last else 0]


# ---- references -----------------------------------------------------------------------------------------------------


@breaks("reference-life")
def a_reference_lives_longer_than_any(story: Story) -> None:
    story.edit(SourceReferenceCreated, nth(story, SourceReferenceCreated, kind="test-run"), expires_at_ms=2**52)


@breaks("reference-life")
def a_reference_is_created_twice(story: Story) -> None:
    story.repeat(SourceReferenceCreated, nth(story, SourceReferenceCreated, kind="test-run"))


@breaks("reference-life")
def a_reference_expires_before_its_time(story: Story) -> None:
    story.edit(SourceReferenceExpired, 0, at_ms=1)


@breaks("reference-life")
def a_reference_of_a_test_run_is_retired_with_a_publication(story: Story) -> None:
    created = story.written(SourceReferenceCreated)[nth(story, SourceReferenceCreated, kind="test-run")][1].value
    one = story.repeat(SourceReferenceExpired)
    one.value = SourceReferenceRetired(reference_id=created.reference_id, at_ms=1)


@breaks("unfinished")
def a_reference_never_expires(story: Story) -> None:
    story.drop(SourceReferenceExpired)


@breaks("reference-granted")
def a_reference_of_a_test_run_is_of_a_slot(story: Story) -> None:
    story.edit(SourceReferenceCreated, nth(story, SourceReferenceCreated, kind="test-run"), slot_id="a slot")


@breaks("reference-dead")
def a_test_run_starts_without_a_reference(story: Story) -> None:
    story.drop(SourceReferenceCreated, nth(story, SourceReferenceCreated, kind="test-run"))


@breaks("reference-dead")
def a_test_run_starts_once_its_reference_is_over(story: Story) -> None:
    story.edit(SourceReferenceUsed, 1, at_ms=2**52)


# ---- test runs ------------------------------------------------------------------------------------------------------


@breaks("trial-twice")
def a_command_starts_another_run_than_its_own(story: Story) -> None:
    story.edit(SourceReferenceUsed, 0, execution_id="another")


@breaks("trial-twice")
def a_test_run_is_started_twice(story: Story) -> None:
    story.repeat(StartExecution, nth(story, StartExecution, execution_id=run_of("default", "t1")))


@breaks("trial-refused")
def a_test_run_starts_that_was_refused(story: Story) -> None:
    refused = asked(story, "t3").what
    assert isinstance(refused, StartTestRun)
    used = story.written(SourceReferenceUsed)[0][1]
    event = replace(used.value, command_id="t3", execution_id=run_of("default", "t3"), asked=asked_of(refused))
    step = story.written(Reply)[answer(story, "v2", last=True)][0]
    step.written.insert(0, replace(used, value=event))


@breaks("trial-unasked")
def a_test_run_starts_and_uses_no_reference(story: Story) -> None:
    story.drop(SourceReferenceUsed, 1)


@breaks("trial-unasked")
def a_test_run_is_of_a_command_that_asks_for_something_else(story: Story) -> None:
    story.edit(SourceReferenceUsed, 0, command_id="c1", execution_id=run_of("default", "c1"))


@breaks("trial-unpromised")
def a_test_run_gets_other_data(story: Story) -> None:
    story.edit(StartExecution, nth(story, StartExecution, execution_id=run_of("default", "t1")), data="{}")


@breaks("trial-unpromised")
def a_test_run_belongs_to_a_slot(story: Story) -> None:
    story.edit(StartExecution, nth(story, StartExecution, execution_id=run_of("default", "t1")), slot_id="a slot")


@breaks("trial-of-other")
def a_test_run_is_of_another_document(story: Story) -> None:
    step = asked(story, "t1")
    assert isinstance(step.what, StartTestRun)
    step.what = replace(step.what, document=step.what.document.replace("try", "other"))


@breaks("trial-of-other")
def a_test_run_is_of_another_reference(story: Story) -> None:
    step = asked(story, "t2")
    assert isinstance(step.what, StartTestRun)
    step.what = replace(step.what, reference_id="another")


@breaks("trial-answered-early")
def a_test_run_is_answered_that_is_none(story: Story) -> None:
    told = body({"status": "started", "executionId": run_of("default", "t3")})
    story.edit(Reply, answer(story, "t3"), status="done", body=told)


@breaks("start-by-reference")
def a_stimulus_starts_a_run_through_a_reference(story: Story) -> None:
    story.edit(StartExecution, nth(story, StartExecution, test_reference_id=""), test_reference_id="a reference")


@breaks("pinned-wrong")
def a_test_run_begins_as_any_other_run(story: Story) -> None:
    run = run_of("default", "t1")
    story.edit(ExecutionStarted, nth(story, ExecutionStarted, execution_id=run), test_reference_id="")


@breaks("listens-elsewhere")
def a_test_run_waits_for_what_others_wait_for(story: Story) -> None:
    plain = story.written(BookmarkCreated)[0][1].value.identity
    theirs = next(at for at, (_, one) in enumerate(story.written(BookmarkCreated)) if one.value.identity != plain)
    story.edit(BookmarkCreated, theirs, identity=plain)


@breaks("swallowed-trial")
def a_test_run_is_swallowed(story: Story) -> None:
    step = asked(story, "t1")
    assert isinstance(step.what, StartTestRun)
    swallow(story, "publishing", replace(step.what, command_id="another"))


# ---- ids ------------------------------------------------------------------------------------------------------------


@breaks("id-used-twice")
def a_command_starts_two_test_runs(story: Story) -> None:
    story.repeat(SourceReferenceUsed)


@breaks("id-used-twice")
def two_commands_use_one_id_up(story: Story) -> None:
    story.edit(Unpublished, 0, command_id="v1")


@breaks("used-unrefused")
def another_command_under_a_used_id_is_refused_for_itself(story: Story) -> None:
    refusal = body({"kind": "state", "message": "It is something else.", "details": {}})
    story.edit(Reply, answer(story, "v2", last=True), body=refusal)


@breaks("refused-unused")
def a_command_is_refused_for_another_one_that_there_is_none_of(story: Story) -> None:
    details = {"firstUsedTo": "publish something", "publicationId": "p"}
    refusal = body({"kind": "conflict", "message": "It is used.", "details": details})
    story.edit(Reply, answer(story, "t3"), body=refusal)


@pytest.mark.parametrize(("rule", "alter"), CASES.both())
def test_an_altered_history_breaks_its_rule(rule: str, alter: Alter, story: Story) -> None:
    """Proves: PUB-17."""
    assert broken_by(alter, story) == rule


@pytest.mark.parametrize("told", ["alike", "apart"])
def test_commands_under_one_id_are_told_apart_where_they_differ_and_nowhere_else(told: str, story: Story) -> None:
    stage = Stage()
    for step in story.copy().steps:
        stage.play(step)
    first, *others = stage.ledger.by_command["v2"]
    assert len(others) == 1
    if told == "alike":
        others[0].asked = first.asked
    else:
        stage.ledger.send("client", 0, first.what).asked = "another"
    with pytest.raises(Violation) as found:
        follow(stage)
    assert found.value.rule == "asked-alike"


def follow(stage: Stage) -> None:
    """Lets the checker of ids follow all that has landed."""
    check = UsedCheck(stage.ledger)
    for commit in stage.judge().tapes.read()[0]:
        if commit.home[0] == "publishing":
            check.take(commit)
