"""Preflights: an answer that differs in one place from what was so breaks the rule of that place."""

from dataclasses import replace
from typing import Final

import pytest

from interlock.domain.messages import Owner
from interlock.domain.publishing.candidate import Wish
from interlock.domain.publishing.claims.events import Claim
from interlock.domain.publishing.claims.state import Claimant, Conflict
from interlock.domain.publishing.preflight import Preflight, preflight
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.refusal import Refusal
from interlock.testing.virtual_time import run_virtual
from tests.simulation.checks import Violation
from tests.simulation.checks.preflights import PreflightsCheck
from tests.simulation.checks.story import Stage, Story
from tests.simulation.checks.telling import document
from tests.simulation.ledger import Looked

pytestmark = pytest.mark.simulation
DOCUMENT: Final = document("orders", "order.placed", "ship")
CLAIMS: Final = (("event:order.placed", "fan-out"),)
WISH: Final = Wish(shell="default", slot=None, expect_revision=None, owner=None, take_over=False)
SOMEBODY: Final = Owner(kind="team", id="somebody")


def test_what_the_engine_foresees_at_each_position_breaks_none(story: Story) -> None:
    told = [looked_at(story, position) for position in range(12)]
    actions = [each.outcome.action for each in told if isinstance(each.outcome, Preflight)]
    assert actions[0] == "fill"
    assert actions[-1] == "replace"
    assert found(story, *told) == ""


def test_a_revision_that_was_never_there_is_refused(story: Story) -> None:
    refused = looked_at(story, 9, replace(WISH, expect_revision=99))
    assert isinstance(refused.outcome, Refusal)
    assert found(story, refused) == ""
    assert found(story, replace(refused, outcome=looked_at(story, 9).outcome)) == "foresaw-refusal"


def test_a_refusal_names_an_owner_that_nobody_is(story: Story) -> None:
    refusal = Refusal("conflict", "It is somebody's.", (("ownerId", "somebody"),))
    assert found(story, replace(looked_at(story, 9), outcome=refusal)) == "foresaw-refusal"


def test_an_answer_differs_in_one_place(story: Story) -> None:
    true = looked_at(story, 9)
    assert isinstance(true.outcome, Preflight)
    claim = Claim(claim="event:other", cardinality="fan-out", node_id="other")
    claimant = Claimant(
        definition_id="alerts", slot_id="s", slot_name="default", publication_id="p", node_id="n", cardinality="fan-out"
    )
    conflict = Conflict(claim="event:order.placed", node_id="n", claimant=claimant)
    for wrong in (
        replace(true.outcome, action="fill"),
        replace(true.outcome, slot_id="another"),
        replace(true.outcome, found_revision=0),
        replace(true.outcome, replaces=""),
        replace(true.outcome, added=(claim,)),
        replace(true.outcome, removed=(claim,)),
        replace(true.outcome, retained=()),
        replace(true.outcome, conflicts=(conflict,)),
        replace(true.outcome, found_owner=SOMEBODY),
        replace(true.outcome, owner=SOMEBODY),
    ):
        assert found(story, replace(true, outcome=wrong)) == "foresaw-otherwise", wrong


def test_an_answer_is_of_an_older_position_than_it_says(story: Story) -> None:
    assert found(story, replace(looked_at(story, 1), position=9)) == "foresaw-otherwise"


def looked_at(story: Story, position: int, wish: Wish = WISH) -> Looked:
    """What the engine foresees of a publish, knowing of publishing up to a position."""
    stage, shard = Stage(), PublishingShard()
    tapes = stage.judge().tapes
    for step in story.copy().steps:
        stage.play(step)
    for commit in tapes.read()[0]:
        if commit.home[0] == "publishing" and commit.number <= position:
            for stream, event in commit.events:
                shard.apply(stream, event)
    outcome = preflight(shard, wish, DOCUMENT, now_ms=stage.now_ms)
    return Looked(position=position, definition_id="orders", claims=CLAIMS, wish=wish, outcome=outcome)


def found(story: Story, *looked: Looked) -> str:
    """The rule of preflights that these answers break; "" if none."""

    async def run() -> str:
        stage = Stage()
        judge = stage.judge()
        for step in story.copy().steps:
            stage.play(step)
            await judge.look()
        stage.ledger.looked += looked
        check = PreflightsCheck(stage.ledger, judge.authority, judge.owners)
        try:
            check.look()
        except Violation as violation:
            return violation.rule
        return ""

    return run_virtual(run())
