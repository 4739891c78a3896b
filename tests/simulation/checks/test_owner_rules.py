"""Owners: a history that is altered in one place breaks the rule of that place."""

from dataclasses import replace
from typing import Final

import pytest

from interlock.domain.messages import Owner, Reply
from interlock.domain.publishing.slot.events import SlotActivated, SlotEmptied
from interlock.domain.reply import body
from tests.simulation.checks import Violation
from tests.simulation.checks.owners import Change, OwnersCheck
from tests.simulation.checks.story import Asked, Stage, Story

pytestmark = pytest.mark.simulation
OURS: Final = Owner(kind="team", id="ours")
THEIRS: Final = Owner(kind="team", id="theirs")


def test_a_true_history_breaks_none(story: Story) -> None:
    assert found(story.copy()) == ""


def test_a_slot_is_somebodys_although_nobody_was_named(story: Story) -> None:
    altered = story.copy()
    altered.edit(SlotActivated, 0, owner=OURS)
    assert found(altered) == "owner-unsaid"
    emptied = story.copy()
    emptied.edit(SlotEmptied, 0, owner=OURS)
    assert found(emptied) == "owner-unsaid"


def test_a_slot_is_replaced_by_who_names_another_owner_or_nobody(story: Story) -> None:
    altered = owned(story)
    assert found(altered) == "slot-trespassed"
    asks(altered, "v2", owner=THEIRS)
    assert found(altered) == "slot-trespassed"


def test_the_owner_and_who_takes_over_may_replace_it(story: Story) -> None:
    for owner, take_over in ((OURS, False), (THEIRS, True)):
        altered = owned(story)
        for command_id in ("v2", "stale", "back", "u3"):
            asks(altered, command_id, owner=owner, take_over=take_over)
        for nth in range(len(altered.written(SlotActivated))):
            if altered.written(SlotActivated)[nth][1].value.definition_id == "orders" and nth:
                altered.edit(SlotActivated, nth, owner=owner)
        assert found(altered) == ""


def test_a_slot_that_is_empty_is_told_to_a_stranger_as_if_it_were_its_own(story: Story) -> None:
    altered = story.copy()
    asks(altered, "u1", owner=OURS)
    altered.edit(SlotEmptied, 0, owner=OURS)
    assert found(altered) == "slot-trespassed", "u2 finds nothing to unpublish and names nobody"


@pytest.mark.parametrize("owner", [OURS, THEIRS])
def test_a_refusal_names_an_owner_that_the_slot_has_not(story: Story, owner: Owner) -> None:
    """Nobody owns it; or the one does who asks."""
    altered = story.copy()
    if owner == OURS:
        asks(altered, "u1", owner=OURS)
        asks(altered, "u2", owner=OURS)
        altered.edit(SlotEmptied, 0, owner=OURS)
    slot_id = altered.written(SlotEmptied)[0][1].value.slot_id
    details = {"slotId": slot_id, "ownerKind": owner.kind, "ownerId": owner.id}
    refusal = body({"kind": "conflict", "message": "It is somebody's.", "details": details})
    place = next(at for at, (_, one) in enumerate(altered.written(Reply)) if one.value.command_id == "u2")
    altered.edit(Reply, place, status="refused", body=refusal)
    assert found(altered) == "refused-without-owner"


def owned(story: Story) -> Story:
    """A copy in which the first publish says whose the slot is."""
    altered = story.copy()
    asks(altered, "v1", owner=OURS)
    altered.edit(SlotActivated, 0, owner=OURS)
    return altered


def asks(story: Story, command_id: str, *, owner: Owner, take_over: bool = False) -> None:
    """Changes what a client asked for."""
    for step in story.steps:
        if isinstance(step, Asked) and isinstance(step.what, Change) and step.what.command_id == command_id:
            step.what = replace(step.what, owner=owner, take_over=take_over)


def found(story: Story) -> str:
    """The rule of owners that a history breaks; "" if none."""
    stage = Stage()
    tapes = stage.judge().tapes
    check = OwnersCheck(stage.ledger)
    try:
        for step in story.steps:
            stage.play(step)
            for commit in tapes.read()[0]:
                if commit.home[0] == "publishing":
                    check.take(commit)
    except Violation as violation:
        return violation.rule
    return ""
