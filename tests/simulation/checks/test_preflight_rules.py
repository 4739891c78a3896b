"""Preflights: an answer that differs in one place from what was so breaks the rule of that place."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Literal

import pytest

from interlock.domain.messages import Owner, Restore, Unpublish
from interlock.domain.publishing.candidate import Wish
from interlock.domain.publishing.claims.events import Claim
from interlock.domain.publishing.claims.state import Claimant, Conflict
from interlock.domain.publishing.preflight import Preflight, preflight, preflight_restore, preflight_unpublish
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.refusal import Refusal
from interlock.testing.virtual_time import run_virtual
from tests.simulation.checks import Violation
from tests.simulation.checks.authority import publication_of
from tests.simulation.checks.preflights import PreflightsCheck
from tests.simulation.checks.story import Stage, Story
from tests.simulation.checks.telling import document
from tests.simulation.ledger import Looked

pytestmark = pytest.mark.simulation
DOCUMENT: Final = document("orders", "order.placed", "ship")
CLAIMS: Final = (("event:order.placed", "fan-out"),)
WISH: Final = Wish(shell="default", slot=None, expect_revision=None, owner=None, take_over=False)
SOMEBODY: Final = Owner(kind="team", id="somebody")
NOW_MS: Final = 1_700_000_100_000
Of = Literal["publish", "restore", "unpublish"]
ACTIONS: Final = {"restore": {"fill", "replace", "nothing", "lose"}, "unpublish": {"nothing", "empty", "lose"}}
REFUSALS: Final = {"restore": {"invalid", "not-found", "state"}, "unpublish": {"invalid"}}


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


@pytest.mark.parametrize("of", ["restore", "unpublish"])
def test_what_the_engine_foresees_of_a_slot_at_each_position_breaks_none(of: Of, story: Story) -> None:
    wishes = [WISH, replace(WISH, expect_revision=0), replace(WISH, owner=SOMEBODY), replace(WISH, expect_revision=99)]
    named = [None, of_command("v1"), of_command("stale"), of_command("nobody")] if of == "restore" else [None]
    told = [
        looked(shard, position, wish, of, publication_id, definition)
        for position, shard in states(story)
        for wish in (*wishes, replace(WISH, take_over=True))
        for publication_id in named
        for definition in ("orders", "alerts")
    ]
    assert {one.outcome.action for one in told if isinstance(one.outcome, Preflight)} == ACTIONS[of]
    assert {one.outcome.kind for one in told if isinstance(one.outcome, Refusal)} == REFUSALS[of]
    assert found(story, *told) == ""


@pytest.mark.parametrize("of", ["restore", "unpublish"])
def test_an_answer_for_a_slot_differs_in_one_place(of: Of, story: Story) -> None:
    told = looked_at(story, 20, of=of)
    true = told.outcome
    assert isinstance(true, Preflight)
    for wrong in (
        replace(true, action="nothing"),
        replace(true, found_revision=7),
        replace(true, replaces="another"),
        replace(true, restores="another"),
        replace(true, beside=("second",)),
        replace(true, removed=(), retained=(), added=()),
    ):
        assert found(story, replace(told, outcome=wrong)) == "foresaw-otherwise", wrong


def test_a_restore_of_what_never_had_authority_is_refused(story: Story) -> None:
    refused = looked_at(story, 20, of="restore", publication_id=of_command("stale"))
    assert found(story, refused) == ""
    named = replace(refused, publication_id=of_command("v1"))
    assert found(story, named) == "foresaw-refusal"


def looked_at(
    story: Story, position: int, wish: Wish = WISH, of: Of = "publish", publication_id: str | None = None
) -> Looked:
    """What the engine foresees of a request, knowing of publishing up to a position."""
    shard = next((shard for at, shard in states(story) if at == position), PublishingShard())
    return looked(shard, position, wish, of, publication_id, "orders")


def states(story: Story) -> Iterator[tuple[int, PublishingShard]]:
    """The state behind each append of publishing, which goes on with the next."""
    stage, shard = Stage(), PublishingShard()
    tapes = stage.judge().tapes
    for step in story.copy().steps:
        stage.play(step)
    for commit in tapes.read()[0]:
        if commit.home[0] == "publishing":
            for stream, event in commit.events:
                shard.apply(stream, event)
            yield commit.number, shard


def looked(
    shard: PublishingShard, position: int, wish: Wish, of: Of, publication_id: str | None, definition_id: str
) -> Looked:
    """What the engine foresees in a state."""
    return Looked(
        position=position,
        definition_id=definition_id,
        claims=CLAIMS if of == "publish" else (),
        wish=wish,
        of=of,
        publication_id=publication_id,
        outcome=foreseen(shard, wish, of, publication_id, definition_id),
    )


def foreseen(
    shard: PublishingShard, wish: Wish, of: Of, publication_id: str | None, definition_id: str
) -> Preflight | Refusal:
    """The answer to who looks ahead."""
    if of == "publish":
        return preflight(shard, wish, DOCUMENT, now_ms=NOW_MS)
    if of == "unpublish":
        return preflight_unpublish(
            shard,
            Unpublish(
                command_id="ahead",
                shell=wish.shell,
                definition_id=definition_id,
                slot=wish.slot,
                expect_revision=wish.expect_revision,
                requested_by="client",
                requested_at_ms=NOW_MS,
                owner=wish.owner,
                take_over=wish.take_over,
            ),
        )
    asked = Restore(
        command_id="ahead",
        shell=wish.shell,
        definition_id=definition_id,
        slot=wish.slot,
        publication_id=publication_id,
        expect_revision=wish.expect_revision,
        requested_by="client",
        requested_at_ms=NOW_MS,
        owner=wish.owner,
        take_over=wish.take_over,
    )
    return preflight_restore(shard, asked, now_ms=NOW_MS)


def of_command(command_id: str) -> str:
    """The publication that a command has made."""
    return publication_of("default", command_id)


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
