"""Who gets authority, message by message."""

import pytest

from interlock.domain.asked import asked_of
from interlock.domain.decider import NOTHING, Decision, Intent
from interlock.domain.definitions.compiler import canonical, compile_document
from interlock.domain.definitions.executable import Executable
from interlock.domain.messages import DecideAt
from interlock.domain.publishing.claims.events import Claim, ClaimsChanged
from interlock.domain.publishing.decide import DUE_MAX, next_due_ms, publication_id
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.publishing.here import ASK_AGAIN_MS
from interlock.domain.publishing.publication.commands import PublicationCommand
from interlock.domain.publishing.publication.events import (
    Binding,
    ProjectionPrepared,
    PublicationActivated,
    PublicationFailed,
    PublicationRequested,
    PublicationRetired,
    PublicationServed,
    PublicationStaged,
    PublicationSuperseded,
    RoutingShardReached,
)
from interlock.domain.publishing.reference.events import SourceReferenceCreated, SourceReferenceRetired
from interlock.domain.publishing.reference.state import reference_id
from interlock.domain.publishing.slot.events import SlotActivated
from interlock.domain.sharding import binding_id, slot_id, stimulus_identity
from tests.support.publishing import PREPARE_MS, SHELL, Desk, answered, document, kinds, publish, reached

GATE = ("gate:north",)


def identity(command_id: str) -> str:
    return publication_id(SHELL, command_id)


def executable(text: str) -> Executable:
    compiled = compile_document(text)
    assert isinstance(compiled, Executable)
    return compiled


# ---- a publish ----------------------------------------------------------------------------------------------------


def test_a_publish_that_names_no_slot_stages_a_candidate_for_the_default_slot() -> None:
    """Proves: PUB-06"""
    desk, compiled, slot = Desk(), executable(document()), slot_id(SHELL, "orders", "default")
    event_identity = stimulus_identity("Event", "order.placed")
    decision = desk.asked(publish("c1")).then(
        PublicationRequested(
            publication_id=identity("c1"),
            command_id="c1",
            shell=SHELL,
            definition_id="orders",
            slot_id=slot,
            slot_name="default",
            policy_source="host",
            expected_revision=0,
            requested_by="ada",
            requested_at_ms=900,
            asked=asked_of(publish("c1")),
        ),
        ExecutableSaved(artifact_id=compiled.artifact_id, content=canonical(compiled)),
        PublicationStaged(
            publication_id=identity("c1"),
            definition_version=compiled.version,
            artifact_id=compiled.artifact_id,
            bindings=(
                Binding(
                    binding_id=binding_id(slot, identity("c1"), "event:order.placed", "event:order.placed"),
                    node_id="event:order.placed",
                    type="Event",
                    name="order.placed",
                    identity=event_identity,
                    cardinality="fan-out",
                    claim="event:order.placed",
                ),
            ),
            required_projections=("trigger-index",),
            deadline_ms=1_000 + PREPARE_MS,
            at_ms=1_000,
            ask_again_ms=1_000 + ASK_AGAIN_MS,
        ),
        intents=(),
    )
    assert [change.stream for change in decision.changes] == [
        f"publication:{identity('c1')}",
        f"executable:{compiled.artifact_id}",
        f"publication:{identity('c1')}",
    ]


def test_a_named_slot_is_the_requests_own_choice() -> None:
    """Proves: PUB-07"""
    desk = Desk()
    decided = desk.ask(publish("c1", slot="canary"))
    assert isinstance(decided, Decision)
    requested = decided.changes[0].event
    assert isinstance(requested, PublicationRequested)
    assert (requested.slot_name, requested.policy_source) == ("canary", "request")
    assert requested.slot_id == slot_id(SHELL, "orders", "canary")


@pytest.mark.parametrize("slot", ["", "  ", " canary", "a\x00b", "s" * 201, "\ud800", "a/b", ".", ".."])
def test_a_slot_needs_a_meaningful_name(slot: str) -> None:
    """Proves: PUB-07"""
    desk = Desk()
    desk.asked(publish(slot=slot)).then_refused("invalid", "slot")


@pytest.mark.parametrize("revision", [2, -1])
def test_a_revision_that_the_slot_never_had_is_refused(revision: int) -> None:
    desk = Desk()
    desk.activate("c1")
    refusal = desk.asked(publish("c2", expect_revision=revision)).then_refused(
        "invalid", "'default'", "0 to 1", str(revision)
    )
    assert dict(refusal.details) == {"expectedRevision": str(revision), "foundRevision": "1"}


def test_a_publish_that_is_sent_again_does_nothing_whatever_became_of_it() -> None:
    desk = Desk()
    for step in (
        lambda: desk.ask(publish("c1")),
        lambda: desk.ask(answered("c1")),
        lambda: desk.serve("c1"),
        lambda: desk.activate("c2"),
    ):
        step()
        desk.asked(publish("c1")).then_nothing()


def test_a_publish_with_an_old_revision_is_superseded_at_once_and_answered() -> None:
    """Proves: PUB-11"""
    desk = Desk()
    first = desk.activate("c1")
    assert kinds(desk.ask(publish("c2", expect_revision=0))) == ["PublicationRequested", "PublicationSuperseded"]
    assert desk.slot().publication_id == first.publication_id
    ((status, body),) = desk.replies("c2")
    assert (status, body["kind"]) == ("refused", "superseded")
    assert body["details"]["publicationId"] == identity("c2")
    assert (body["details"]["expectedRevision"], body["details"]["foundRevision"]) == ("0", "1")


@pytest.mark.parametrize("name", ["keeper", "rival"])
def test_neither_a_shared_definition_nor_a_shared_artifact_is_an_exemption(name: str) -> None:
    """Proves: TRG-04"""
    desk = Desk()
    keeper = desk.activate("c1", document("keeper", on=GATE), slot="blue")
    desk.ask(publish("c2", document(name, on=GATE), slot="green"))
    assert desk.publication("c2").status == "failed"
    assert desk.publication("c1") == keeper


def test_the_publication_in_the_own_slot_is_left_out_of_the_check() -> None:
    """Proves: TRG-04"""
    desk = Desk()
    desk.activate("c1", document("keeper", on=GATE))
    desk.activate("c2", document("keeper", on=GATE, pause="2h"))
    assert desk.slot("keeper").publication_id == identity("c2")


def test_exclusive_claims_conflict_within_a_shell_only() -> None:
    """Proves: TRG-04"""
    desk = Desk()
    desk.activate("c1", document("keeper", on=GATE))
    assert "PublicationStaged" in kinds(desk.ask(publish("c2", document("keeper", on=GATE), shell="other")))


def test_events_may_be_listened_to_by_many() -> None:
    """Proves: TRG-01"""
    desk = Desk()
    for command_id, name in (("c1", "orders"), ("c2", "audit")):
        assert desk.activate(command_id, document(name)).status == "active"


# ---- the activation -----------------------------------------------------------------------------------------------


def test_with_the_last_projection_slot_publications_and_claims_change_in_one_decision() -> None:
    """Proves: PUB-02, PUB-10, PUB-11, PUB-17"""
    desk = Desk()
    desk.activate("c1", document(on=("event:order.placed", "event:order.imported")))
    desk.ask(publish("c2"))
    desk.now_ms = 2_000
    slot = slot_id(SHELL, "orders", "default")
    decide_at = DecideAt(shell=SHELL, publication_id=identity("c2"), position=desk.position + 1)
    decision = desk.asked(answered("c2")).then(
        ProjectionPrepared(publication_id=identity("c2"), kind="trigger-index", at_ms=2_000),
        SlotActivated(
            slot_id=slot,
            shell=SHELL,
            definition_id="orders",
            name="default",
            publication_id=identity("c2"),
            replaced_publication_id=identity("c1"),
            revision=2,
            at_ms=2_000,
        ),
        PublicationActivated(
            publication_id=identity("c2"),
            slot_id=slot,
            revision=2,
            position=desk.position + 1,
            routing_shards=2,
            at_ms=2_000,
            source_reference_id=reference_id(identity("c2")),
        ),
        PublicationRetired(publication_id=identity("c1"), replaced_by=identity("c2"), at_ms=2_000),
        ClaimsChanged(
            shell=SHELL,
            slot_id=slot,
            definition_id="orders",
            slot_name="default",
            publication_id=identity("c2"),
            claims=(Claim(claim="event:order.placed", cardinality="fan-out", node_id="event:order.placed"),),
        ),
        SourceReferenceCreated(
            reference_id=reference_id(identity("c2")),
            kind="published",
            publication_id=identity("c2"),
            slot_id=slot,
            shell=SHELL,
            definition_id="orders",
            definition_version=executable(document()).version,
            artifact_id=executable(document()).artifact_id,
            at_ms=2_000,
        ),
        SourceReferenceRetired(reference_id=reference_id(identity("c1")), at_ms=2_000),
        intents=(
            Intent("routing", "", decide_at, partition=0),
            Intent("routing", "", decide_at, partition=1),
        ),
    )
    assert [change.stream for change in decision.changes] == [
        f"publication:{identity('c2')}",
        f"slot:{slot}",
        f"publication:{identity('c2')}",
        f"publication:{identity('c1')}",
        f"claims:{SHELL}",
        f"source-reference:{reference_id(identity('c2'))}",
        f"source-reference:{reference_id(identity('c1'))}",
    ]


def test_a_candidate_waits_for_every_projection_and_has_no_authority_before() -> None:
    """Proves: PRJ-03"""
    desk = Desk(kinds=("trigger-index", "routes"))
    desk.ask(publish("c1"))
    assert kinds(desk.ask(answered("c1", kind="trigger-index"))) == ["ProjectionPrepared"]
    assert desk.publication("c1").status == "pending-projection"
    assert (desk.slot().revision, desk.intents) == (0, [])
    assert "SlotActivated" in kinds(desk.ask(answered("c1", kind="routes")))


def test_where_no_projection_is_required_a_publish_activates_at_once() -> None:
    desk = Desk(kinds=())
    assert kinds(desk.ask(publish("c1")))[3:6] == ["SlotActivated", "PublicationActivated", "ClaimsChanged"]


def test_an_identical_document_is_a_publication_of_its_own_on_the_same_artifact() -> None:
    """Proves: PUB-04, PUB-06"""
    desk = Desk()
    first = desk.activate("c1")
    assert "ExecutableSaved" not in kinds(desk.ask(publish("c2")))
    desk.ask(answered("c2"))
    second = desk.publication("c2")
    assert (second.artifact_id, second.revision) == (first.artifact_id, 2)
    assert [publication.status for publication in desk.shard.publications.values()] == ["retired", "active"]
    assert {binding.binding_id for binding in first.bindings}.isdisjoint(
        binding.binding_id for binding in second.bindings
    )


def test_of_two_candidates_from_one_revision_the_first_wins_and_the_other_is_superseded() -> None:
    """Proves: PUB-11"""
    desk = Desk()
    desk.activate("c0")
    desk.ask(publish("c1"))
    desk.ask(publish("c2"))
    desk.ask(answered("c2"))
    assert kinds(desk.ask(answered("c1"))) == ["ProjectionPrepared", "PublicationSuperseded"]
    assert (desk.slot().publication_id, desk.slot().revision) == (identity("c2"), 2)
    assert desk.publication("c1").status == "superseded"
    assert [status for status, _ in desk.replies("c1")] == ["refused"]


def test_two_exclusive_claims_that_both_passed_their_first_check_do_not_both_activate() -> None:
    """Proves: PUB-12"""
    desk = Desk()
    desk.ask(publish("c1", document("keeper", on=GATE)))
    desk.ask(publish("c2", document("rival", on=GATE)))
    assert desk.publication("c2").status == "pending-projection"
    desk.ask(answered("c1"))
    assert kinds(desk.ask(answered("c2"))) == ["ProjectionPrepared", "PublicationFailed"]
    ((status, body),) = desk.replies("c2")
    assert (status, body["kind"]) == ("failed", "conflict")
    assert "'keeper'" in body["message"]
    assert desk.slot("rival").revision == 0


def test_a_claim_that_its_keeper_gave_up_is_free() -> None:
    desk = Desk()
    desk.activate("c1", document("keeper", on=("gate:north", "gate:south")))
    desk.activate("c2", document("keeper", on=("gate:south",)))
    desk.activate("c3", document("rival", on=GATE))
    assert desk.publication("c3").status == "active"


def test_a_projection_that_can_not_prepare_fails_the_candidate_and_leaves_the_authority() -> None:
    """Proves: PUB-13"""
    desk = Desk()
    desk.activate("c1")
    before = (desk.slot(), desk.publication("c1"))
    desk.ask(publish("c2"))
    decided = desk.ask(answered("c2", prepared=False, reason="disk full"))
    assert kinds(decided) == ["PublicationFailed"]
    assert (desk.slot(), desk.publication("c1")) == before
    ((status, body),) = desk.replies("c2")
    assert (status, body["kind"], body["details"]["publicationId"]) == ("failed", "state", identity("c2"))
    assert "'trigger-index'" in body["message"]
    assert "disk full" in body["message"]


def test_answers_that_come_twice_late_or_for_nobody_change_nothing() -> None:
    desk = Desk(kinds=("trigger-index", "routes"))
    desk.ask(publish("c1"))
    desk.ask(answered("c1"))
    lost: list[PublicationCommand] = [
        answered("c1"),
        answered("c1", kind="schedules"),
        answered("c9"),
        reached("c1", 0, 9),
        reached("c9", 0, 9),
    ]
    desk.ask(publish("failed"))
    desk.ask(answered("failed", prepared=False))
    lost += [answered("failed", kind="routes"), answered("failed", prepared=False), reached("failed", 0, 9)]
    for message in lost:
        desk.asked(message).then_nothing()
    desk.ask(answered("c1", kind="routes"))
    for message in (answered("c1"), answered("c1", prepared=False)):
        desk.asked(message).then_nothing()


# ---- served -------------------------------------------------------------------------------------------------------


def test_active_is_answered_when_every_routing_shard_decides_at_the_activation() -> None:
    """Proves: PUB-16"""
    desk = Desk()
    desk.now_ms = 3_000
    publication = desk.activate("c1")
    first = reached("c1", 1, publication.position)
    desk.asked(first).then(RoutingShardReached(publication_id=identity("c1"), partition=1), intents=())
    desk.ask(first)
    last = reached("c1", 0, publication.position + 5)
    desk.asked(last).then(
        RoutingShardReached(publication_id=identity("c1"), partition=0),
        PublicationServed(publication_id=identity("c1"), at_ms=3_000),
    )
    desk.ask(last)
    assert desk.replies("c1") == [
        (
            "done",
            {
                "status": "active",
                "publicationId": identity("c1"),
                "definitionId": "orders",
                "slotId": publication.slot_id,
                "slot": "default",
                "revision": 1,
                "position": publication.position,
                "artifactId": publication.artifact_id,
                "version": publication.definition_version,
            },
        )
    ]


def test_a_routing_shard_counts_once_and_only_from_the_activation_on() -> None:
    """Proves: PUB-16"""
    desk = Desk()
    position = desk.activate("c1").position
    desk.ask(reached("c1", 0, position))
    useless = [
        reached("c1", 0, position),
        reached("c1", 0, position + 3),
        reached("c1", 1, position - 1),
        reached("c1", 2, position),
        reached("c1", -1, position),
    ]
    for message in useless:
        desk.asked(message).then_nothing()
    desk.ask(reached("c1", 1, position))
    desk.asked(reached("c1", 1, position)).then_nothing()
    assert len(desk.replies("c1")) == 1


def test_a_publication_that_was_replaced_before_it_was_served_still_gets_its_answer() -> None:
    """Proves: PUB-16"""
    desk = Desk()
    desk.activate("c1")
    desk.activate("c2")
    assert desk.replies("c1") == []
    desk.serve("c1")
    ((status, body),) = desk.replies("c1")
    assert (status, body["status"], body["revision"]) == ("done", "active", 1)
    assert body["replacedBy"] == identity("c2")
    assert desk.publication("c1").status == "retired"


# ---- deadlines ----------------------------------------------------------------------------------------------------


def test_a_candidate_whose_projections_do_not_answer_in_time_fails() -> None:
    """Proves: PUB-13"""
    desk = Desk(kinds=("trigger-index", "routes"))
    desk.ask(publish("c1"))
    desk.ask(answered("c1"))
    desk.now_ms = 1_000 + PREPARE_MS - 1
    desk.due()
    assert desk.due() is NOTHING
    assert next_due_ms(desk.shard) == 1_000 + PREPARE_MS
    desk.now_ms += 1
    assert kinds(desk.due()) == ["PublicationFailed"]
    ((status, body),) = desk.replies("c1")
    assert (status, body["kind"]) == ("failed", "state")
    assert "no answer of: routes" in body["message"]
    assert next_due_ms(desk.shard) is None
    assert desk.due() is NOTHING


def test_a_late_candidate_whose_slot_has_moved_lost_the_slot_and_not_the_time() -> None:
    """Proves: PUB-11"""
    desk = Desk()
    desk.ask(publish("c1"))
    desk.activate("c2")
    desk.now_ms += PREPARE_MS
    decided = desk.due()
    assert isinstance(decided, Decision)
    assert decided.changes[0].event == PublicationSuperseded(
        publication_id=identity("c1"), expected_revision=0, found_revision=1, at_ms=desk.now_ms
    )


def test_many_late_candidates_end_in_bounded_steps() -> None:
    desk = Desk()
    for number in range(DUE_MAX + 1):
        desk.ask(publish(f"c{number}", document(f"definition-{number}")))
    desk.now_ms += PREPARE_MS
    assert [len(kinds(desk.due())) for _ in range(2)] == [DUE_MAX, 1]
    assert next_due_ms(desk.shard) is None


# ---- the shard ----------------------------------------------------------------------------------------------------


def test_a_shard_stops_at_an_event_that_it_can_not_fold() -> None:
    shard = Desk().shard
    with pytest.raises(TypeError, match="expected an event of publishing in x, found str"):
        shard.apply("x", "no event")
    failed = PublicationFailed(publication_id="p", kind="state", reason="", faults=(), conflicts=(), at_ms=1)
    with pytest.raises(ValueError, match="expected the request of p"):
        shard.apply("publication:p", failed)


def test_bodies_are_written_the_same_each_time() -> None:
    first, second = Desk(), Desk()
    for desk in (first, second):
        desk.activate("c1")
        desk.serve("c1")
    assert first.intents == second.intents
