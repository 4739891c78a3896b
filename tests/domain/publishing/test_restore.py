"""How an earlier publication of a slot gets its authority back: as a new one, with all checks made again."""

import pytest

from interlock.domain.decider import Decision
from interlock.domain.publishing.decide import publication_id
from interlock.domain.publishing.publication.events import PublicationRequested
from interlock.domain.publishing.publication.state import Publication
from interlock.domain.refusal import RefusalKind
from interlock.domain.sharding import slot_id
from tests.support.publishing import (
    PREPARE_MS,
    SHELL,
    Desk,
    answered,
    document,
    kinds,
    publish,
    restore,
    unpublish,
)

GATE = ("gate:north",)
OTHER = document(pause="2h")


def identity(command_id: str) -> str:
    return publication_id(SHELL, command_id)


def two(text: str = OTHER) -> Desk:
    """A slot whose second publication is the authority."""
    desk = Desk()
    desk.activate("c1")
    desk.activate("c2", text)
    return desk


def refused(desk: Desk, command: str | None, kind: RefusalKind, *words: str) -> dict[str, str]:
    asked = restore("r1", command)
    outcome = desk.asked(asked)
    return dict(outcome.then_refused(kind, *words).details)


def restored(desk: Desk, command: str | None = None, *, slot: str | None = None) -> Publication:
    desk.ask(restore("r1", command, slot=slot))
    return desk.prepare("r1")


@pytest.mark.parametrize("command", [None, "c1"])
def test_it_is_a_new_publication_that_names_what_it_restores_and_goes_through_preparation(command: str | None) -> None:
    """Proves: PUB-04, PUB-14, PUB-20"""
    desk = two()
    first = desk.publication("c1")
    decided = desk.ask(restore("r1", command))
    assert kinds(decided) == ["PublicationRequested", "PublicationStaged"]
    assert isinstance(decided, Decision)
    requested = decided.changes[0].event
    assert isinstance(requested, PublicationRequested)
    assert (requested.restores, requested.requested_by, requested.expected_revision) == (identity("c1"), "bob", 2)
    assert desk.slot().publication_id == identity("c2")
    found = desk.prepare("r1")
    assert (found.status, found.revision, found.artifact_id) == ("active", 3, first.artifact_id)
    assert found.definition_version == first.definition_version
    assert [binding.claim for binding in found.bindings] == [binding.claim for binding in first.bindings]
    assert {binding.binding_id for binding in found.bindings}.isdisjoint(b.binding_id for b in first.bindings)
    assert (desk.publication("c1"), desk.publication("c2").status) == (first, "retired")
    desk.serve("r1")
    ((status, body),) = desk.replies("r1")
    assert (status, body["status"], body["restores"]) == ("done", "active", identity("c1"))


def test_the_previous_one_is_what_the_slot_selected_before() -> None:
    """Proves: PUB-20"""
    desk = two()
    assert restored(desk).restores == identity("c1")
    desk.ask(restore("r2"))
    assert desk.prepare("r2").restores == identity("c2")
    desk.ask(unpublish())
    desk.ask(restore("r3"))
    found = desk.prepare("r3")
    assert (found.restores, found.status, found.revision) == (identity("r2"), "active", 6)


def test_a_slot_without_an_earlier_one_has_nothing_to_go_back_to() -> None:
    desk = Desk()
    refused(desk, None, "not-found", "'default'", "found none")
    desk.activate("c1")
    refused(desk, None, "not-found", "only the present one")


def test_the_authority_is_not_restored_and_that_is_said() -> None:
    """Proves: PUB-14"""
    desk = two()
    decided = desk.ask(restore("r1", "c2"))
    assert isinstance(decided, Decision)
    assert decided.changes == ()
    ((status, body),) = desk.replies("r1")
    assert (status, body["status"], body["publicationId"]) == ("done", "nothing", identity("c2"))
    assert "nothing to restore" in body["message"]


def test_what_never_had_authority_is_refused_and_why() -> None:
    """Proves: PUB-14"""
    desk = two()
    desk.ask(publish("failed"))
    desk.ask(answered("failed", prepared=False, reason="disk full"))
    desk.ask(publish("lost", expect_revision=1))
    desk.ask(publish("pending"))
    assert refused(desk, "failed", "state", "failed", "disk full")["status"] == "failed"
    assert refused(desk, "lost", "state", "superseded")["status"] == "superseded"
    assert refused(desk, "pending", "state", "pending")["status"] == "pending-projection"
    refused(desk, "never", "not-found", identity("never"))


def test_a_publication_of_another_slot_or_definition_is_refused() -> None:
    desk = two()
    desk.activate("blue", slot="blue")
    desk.activate("audit", document("audit"))
    assert refused(desk, "blue", "invalid", "'blue'", "--slot")["slot"] == "blue"
    refused(desk, "audit", "not-found", "'orders'")
    desk.activate("green", OTHER, slot="blue")
    assert restored(desk, "blue", slot="blue").slot_id == slot_id(SHELL, "orders", "blue")


def test_an_executable_that_is_gone_fails_it_and_the_authority_stays() -> None:
    """Proves: PUB-13, PUB-14"""
    desk = two()
    artifact = desk.publication("c1").artifact_id
    desk.shard.executables.discard(artifact)
    assert kinds(desk.ask(restore())) == ["PublicationRequested", "PublicationFailed"]
    failure = desk.publication("r1").failure
    assert failure is not None
    assert failure.kind == "state"
    assert artifact in failure.reason
    assert desk.slot().publication_id == identity("c2")


def test_a_claim_that_somebody_else_has_by_now_fails_it() -> None:
    """Proves: PUB-12, PUB-14"""
    desk = Desk()
    desk.activate("c1", document(on=GATE))
    desk.activate("c2", document())
    desk.activate("rival", document("rival", on=GATE))
    assert kinds(desk.ask(restore())) == ["PublicationRequested", "PublicationFailed"]
    ((status, body),) = desk.replies("r1")
    assert (status, body["kind"], body["conflicts"][0]["definitionId"]) == ("failed", "conflict", "rival")


def test_a_claim_that_is_taken_while_it_is_prepared_fails_it_too() -> None:
    """Proves: PUB-12"""
    desk = Desk()
    desk.activate("c1", document(on=GATE))
    desk.activate("c2", document())
    desk.ask(restore())
    desk.activate("rival", document("rival", on=GATE))
    assert kinds(desk.ask(answered("r1"))) == ["ProjectionPrepared", "PublicationFailed"]
    assert desk.slot().publication_id == identity("c2")


def test_an_old_revision_is_superseded_and_one_that_never_was_is_refused() -> None:
    """Proves: PUB-11"""
    desk = two()
    assert kinds(desk.ask(restore("r1", expect_revision=1))) == ["PublicationRequested", "PublicationSuperseded"]
    outcome = desk.asked(restore("r2", expect_revision=3))
    outcome.then_refused("invalid", "0 to 2")


def test_of_a_publish_and_a_restore_from_one_revision_one_wins() -> None:
    """Proves: PUB-11"""
    desk = two()
    desk.ask(restore("r1"))
    desk.activate("c3")
    assert kinds(desk.ask(answered("r1"))) == ["ProjectionPrepared", "PublicationSuperseded"]


def test_a_candidate_of_a_restore_has_a_deadline_too() -> None:
    desk = two()
    desk.ask(restore())
    desk.now_ms += PREPARE_MS
    assert kinds(desk.due()) == ["PublicationFailed"]


def test_a_restore_that_is_sent_again_does_nothing() -> None:
    desk = two()
    desk.ask(restore())
    desk.asked(restore()).then_nothing()
    desk.prepare("r1")
    desk.asked(restore()).then_nothing()
