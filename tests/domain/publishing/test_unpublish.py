"""How a slot is emptied: by the same compare-and-swap that fills it."""

import pytest

from interlock.domain.asked import asked_of
from interlock.domain.decider import Decision, Intent
from interlock.domain.messages import DecideAt
from interlock.domain.publishing.authority import Authority
from interlock.domain.publishing.claims.events import ClaimsChanged
from interlock.domain.publishing.decide import publication_id
from interlock.domain.publishing.publication.events import PublicationRetired
from interlock.domain.publishing.reference.events import SourceReferenceRetired
from interlock.domain.publishing.reference.state import reference_id
from interlock.domain.publishing.slot.events import SlotEmptied
from interlock.domain.publishing.unpublish.events import (
    Unpublished,
    UnpublishServed,
    UnpublishShardReached,
    UnpublishSuperseded,
)
from interlock.domain.publishing.unpublish.state import unpublish_id
from interlock.domain.sharding import slot_id, stimulus_identity
from tests.support.publishing import SHELL, Desk, answered, document, kinds, publish, reached, unpublish

SLOT = slot_id(SHELL, "orders", "default")
P1 = publication_id(SHELL, "c1")
U1 = unpublish_id(SHELL, "u1")
GATE = ("gate:north",)


def test_slot_publication_and_claims_change_in_one_decision_and_every_routing_shard_is_asked() -> None:
    """Proves: PUB-11, PUB-14"""
    desk = Desk()
    desk.activate("c1")
    desk.now_ms = 2_000
    decide_at = DecideAt(shell=SHELL, publication_id=P1, position=desk.position + 1)
    desk.asked(unpublish()).then(
        SlotEmptied(
            slot_id=SLOT,
            shell=SHELL,
            definition_id="orders",
            name="default",
            publication_id=P1,
            unpublish_id=U1,
            revision=2,
            at_ms=2_000,
        ),
        PublicationRetired(publication_id=P1, replaced_by="", at_ms=2_000, unpublish_id=U1),
        ClaimsChanged(
            shell=SHELL, slot_id=SLOT, definition_id="orders", slot_name="default", publication_id="", claims=()
        ),
        SourceReferenceRetired(reference_id=reference_id(P1), at_ms=2_000),
        Unpublished(
            unpublish_id=U1,
            command_id="u1",
            shell=SHELL,
            definition_id="orders",
            slot_id=SLOT,
            slot_name="default",
            policy_source="host",
            expected_revision=1,
            publication_id=P1,
            revision=2,
            position=desk.position + 1,
            routing_shards=2,
            requested_by="ada",
            requested_at_ms=900,
            at_ms=2_000,
            asked=asked_of(unpublish("u1")),
        ),
        intents=tuple(Intent("routing", "", decide_at, partition=partition) for partition in (0, 1)),
    )


def test_it_is_answered_when_every_routing_shard_decides_at_it() -> None:
    """Proves: PUB-16"""
    desk = Desk()
    desk.activate("c1")
    desk.serve("c1")
    desk.ask(unpublish())
    position = desk.position
    desk.asked(reached("c1", 0, position - 1)).then_nothing()
    first = reached("c1", 1, position)
    desk.asked(first).then(UnpublishShardReached(unpublish_id=U1, partition=1), intents=())
    desk.ask(first)
    desk.asked(first).then_nothing()
    assert desk.replies("u1") == []
    last = reached("c1", 0, position + 7)
    desk.asked(last).then(
        UnpublishShardReached(unpublish_id=U1, partition=0), UnpublishServed(unpublish_id=U1, at_ms=1_000)
    )
    desk.ask(last)
    assert desk.replies("u1") == [
        (
            "done",
            {
                "status": "unpublished",
                "unpublishId": U1,
                "definitionId": "orders",
                "slotId": SLOT,
                "slot": "default",
                "publicationId": P1,
                "revision": 2,
                "position": position,
            },
        )
    ]
    desk.asked(last).then_nothing()


def test_one_word_of_a_shard_counts_for_an_activation_and_the_unpublish_behind_it() -> None:
    """Proves: PUB-16"""
    desk = Desk()
    desk.activate("c1")
    desk.ask(unpublish())
    for partition in (0, 1):
        desk.ask(reached("c1", partition, desk.publication("c1").position))
    assert (len(desk.replies("c1")), len(desk.replies("u1"))) == (1, 0)
    other = Desk()
    other.activate("c1")
    other.ask(unpublish())
    position = other.position
    for partition in (0, 1):
        other.ask(reached("c1", partition, position))
    assert (len(other.replies("c1")), len(other.replies("u1"))) == (1, 1)


def test_what_is_empty_is_what_was_asked_for_and_that_is_said() -> None:
    """Proves: PUB-14"""
    desk = Desk()
    desk.ask(unpublish("u0"))
    ((status, never),) = desk.replies("u0")
    assert (status, never["status"], never["revision"]) == ("done", "nothing", 0)
    assert "never" in never["message"]
    desk.activate("c1")
    desk.ask(unpublish("u1"))
    for number, revision in enumerate((None, 0, 1, 2)):
        decided = desk.ask(unpublish(f"again-{number}", expect_revision=revision))
        assert isinstance(decided, Decision)
        assert decided.changes == ()
        ((status, body),) = desk.replies(f"again-{number}")
        assert (status, body["status"], body["revision"]) == ("done", "nothing", 2)
        assert "nothing to unpublish" in body["message"]
    desk.asked(unpublish("u1")).then_nothing()


def test_an_old_revision_is_recorded_as_superseded_and_changes_nothing() -> None:
    """Proves: PUB-11"""
    desk = Desk()
    desk.activate("c1")
    desk.activate("c2")
    before = (desk.slot(), desk.publication("c2"))
    decision = desk.asked(unpublish(expect_revision=1)).decision()
    (change,) = decision.changes
    assert isinstance(change.event, UnpublishSuperseded)
    assert (change.event.expected_revision, change.event.found_revision) == (1, 2)
    desk.ask(unpublish(expect_revision=1))
    assert (desk.slot(), desk.publication("c2")) == before
    ((status, body),) = desk.replies("u1")
    assert (status, body["kind"]) == ("refused", "superseded")
    assert (body["details"]["expectedRevision"], body["details"]["foundRevision"]) == ("1", "2")
    desk.asked(unpublish(expect_revision=1)).then_nothing()


@pytest.mark.parametrize("revision", [2, -1])
def test_a_revision_that_the_slot_never_had_is_refused(revision: int) -> None:
    desk = Desk()
    desk.activate("c1")
    desk.asked(unpublish(expect_revision=revision)).then_refused("invalid", "'default'", "0 to 1", str(revision))


@pytest.mark.parametrize(("definition", "slot"), [("orders", " "), (" ", None), ("a\x00b", None)])
def test_what_can_not_be_a_name_is_refused(definition: str, slot: str | None) -> None:
    Desk().asked(unpublish("u1", definition, slot=slot)).then_refused("invalid", "name")


def test_a_candidate_that_saw_the_slot_before_loses() -> None:
    """Proves: PUB-11"""
    desk = Desk()
    desk.activate("c1")
    desk.ask(publish("c2"))
    desk.ask(unpublish())
    assert kinds(desk.ask(answered("c2"))) == ["ProjectionPrepared", "PublicationSuperseded"]
    assert desk.slot().publication_id == ""


def test_the_claims_of_an_emptied_slot_are_free() -> None:
    desk = Desk()
    desk.activate("c1", document("keeper", on=GATE))
    desk.ask(publish("c2", document("rival", on=GATE)))
    assert desk.publication("c2").status == "failed"
    desk.ask(unpublish("u1", "keeper"))
    assert desk.activate("c3", document("rival", on=GATE)).status == "active"


def test_an_emptied_slot_is_filled_again_at_the_next_revision() -> None:
    desk = Desk()
    desk.activate("c1")
    desk.ask(unpublish())
    second = desk.activate("c2")
    assert (second.status, second.revision) == ("active", 3)
    assert desk.publication("c1").replaced_by == ""


def test_of_two_slots_that_share_an_artifact_the_other_keeps_its_bindings() -> None:
    """Proves: PUB-03, TRG-05"""
    desk = Desk()
    blue = desk.activate("c1", slot="blue")
    green = desk.activate("c2", slot="green")
    assert blue.artifact_id == green.artifact_id
    desk.ask(unpublish("u1", slot="blue"))
    authority = Authority()
    for change in desk.changes:
        authority.apply(change.stream, change.event)
    bindings = authority.bindings(SHELL, stimulus_identity("Event", "order.placed"))
    assert [binding.publication_id for binding in bindings] == [green.publication_id]
    slot = authority.slot(SHELL, "orders", "blue")
    assert slot is not None
    assert (slot.publication_id, slot.revision) == ("", 2)
    assert authority.executable(blue.artifact_id) is not None
