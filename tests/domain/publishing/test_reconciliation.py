"""When rows that were found wrong are restated, and what that does to copies that were right and that were not."""

import copy
from dataclasses import replace

import pytest

from interlock.domain.decider import Decision
from interlock.domain.messages import RepairProjection, Reply
from interlock.domain.publishing.authority import Authority
from interlock.domain.publishing.reconciliation.called import called_for
from interlock.domain.publishing.reconciliation.decide import repair
from interlock.domain.publishing.reconciliation.events import ProjectionRepaired, Standing
from interlock.domain.publishing.reconciliation.state import INITIAL, evolve
from interlock.domain.refusal import Refusal
from interlock.domain.sharding import stimulus_identity
from tests.support import tampering
from tests.support.publishing import KIND, SHELL, Desk, document, publish

PLACED = stimulus_identity("Event", "order.placed")


def finding(publication_id: str, standing: Standing, revision: int) -> RepairProjection:
    return RepairProjection(
        command_id="r-1",
        reconciliation_id="pass",
        shell=SHELL,
        kind=KIND,
        publication_id=publication_id,
        standing=standing,
        revision=revision,
        position=7,
        holder="view",
        missing=1,
        foreign=0,
        flipped=0,
        changed=0,
        requested_by="ada",
    )


def repaired(desk: Desk, message: RepairProjection) -> ProjectionRepaired:
    decided = repair(desk.shard, message, desk.now_ms)
    assert isinstance(decided, Decision), decided
    (change,) = decided.changes
    assert change.stream == "reconciliation:pass"
    assert isinstance(change.event, ProjectionRepaired)
    (intent,) = decided.intents
    assert isinstance(intent.message, Reply)
    assert (intent.message.command_id, intent.message.status) == ("r-1", "done")
    return change.event


def told(desk: Desk) -> Authority:
    authority = Authority()
    for change in desk.changes:
        authority.apply(change.stream, change.event)
    return authority


def shown(authority: Authority) -> set[tuple[str, str, str, str]]:
    return {(each.binding.publication_id, each.shell, each.identity, each.state) for each in authority.held()}


def test_the_slots_call_for_visible_rows_of_the_selected_publication_and_invisible_ones_of_its_candidate() -> None:
    """Proves: PRJ-05 (what views are compared with)."""
    desk = Desk()
    first = desk.activate("c1").publication_id
    second = desk.activate("c2").publication_id
    desk.ask(publish("c3"))
    candidate = desk.publication("c3").publication_id
    called = [called_for(desk.shard, publication_id) for publication_id in desk.shard.publications]
    found = {each.publication_id: (each.standing, each.revision) for each in called if each.standing != "gone"}
    assert found == {second: ("active", 2), candidate: ("prepared", 2)}
    assert called_for(desk.shard, candidate).awaited == {KIND}
    assert called_for(desk.shard, first).standing == "gone"
    assert called_for(desk.shard, "never asked for").revision == 0


def test_a_repair_states_the_rows_as_publishing_knows_them() -> None:
    desk = Desk()
    active = desk.activate("c1")
    event = repaired(desk, finding(active.publication_id, "active", 1))
    assert (event.standing, event.bindings, event.awaited) == ("active", active.bindings, False)
    assert (event.missing, event.position, event.holder, event.requested_by) == (1, 7, "view", "ada")
    foreign = repaired(desk, finding("never asked for", "gone", 0))
    assert (foreign.standing, foreign.bindings, foreign.slot_id) == ("gone", (), "")


def test_a_candidate_that_still_waits_is_asked_for_again() -> None:
    desk = Desk()
    desk.ask(publish("c1"))
    candidate = desk.publication("c1")
    event = repaired(desk, finding(candidate.publication_id, "prepared", 0))
    assert (event.awaited, event.deadline_ms) == (True, candidate.deadline_ms)


@pytest.mark.parametrize(("standing", "revision"), [("prepared", 0), ("gone", 0), ("active", 2)])
def test_a_repair_is_refused_where_publication_or_slot_have_moved(standing: Standing, revision: int) -> None:
    """Proves: PRJ-05 (what only lags is never repaired)."""
    desk = Desk()
    moved = desk.activate("c1").publication_id
    decided = repair(desk.shard, finding(moved, standing, revision), desk.now_ms)
    assert isinstance(decided, Refusal)
    assert (decided.kind, dict(decided.details)) == ("state", {"publicationId": moved, "foundRevision": "1"})


def test_a_repair_changes_nothing_in_a_replica_that_was_right() -> None:
    desk = Desk()
    active = desk.activate("c1").publication_id
    desk.activate("c2", document("other"))
    desk.ask(publish("c3"))
    candidate = desk.publication("c3").publication_id
    authority = told(desk)
    before = shown(authority)
    for message in (
        finding(active, "active", 1),
        finding(candidate, "prepared", 1),
        finding("never asked for", "gone", 0),
    ):
        authority.apply("reconciliation:pass", repaired(desk, message))
    assert shown(authority) == before


def test_a_repair_makes_a_replica_as_the_slots_call_for() -> None:
    """Proves: PRJ-05 (replicas: rows lost, foreign ones, wrong visibility)."""
    desk = Desk()
    active = desk.activate("c1").publication_id
    desk.ask(publish("c2"))
    candidate = desk.publication("c2").publication_id
    right = shown(told(desk))
    (right_binding,) = told(desk).bindings(SHELL, PLACED)
    lost, flipped, foreign = told(desk), told(desk), told(desk)
    tampering.lose(lost)
    tampering.show(flipped, SHELL, candidate)
    tampering.add(foreign, SHELL, replace(right_binding, publication_id="stranger", binding_id="b"))
    for wrong in (lost, flipped, foreign):
        assert shown(wrong) != right
        for message in (
            finding(active, "active", 1),
            finding(candidate, "prepared", 1),
            finding("stranger", "gone", 0),
        ):
            wrong.apply("reconciliation:pass", repaired(desk, message))
        assert shown(wrong) == right


def test_after_a_repair_the_next_activation_replaces_what_it_restated() -> None:
    desk = Desk()
    first = desk.activate("c1").publication_id
    authority = told(desk)
    tampering.lose(authority)
    authority.apply("reconciliation:pass", repaired(desk, finding(first, "active", 1)))
    known = len(desk.changes)
    second = desk.activate("c2").publication_id
    for change in desk.changes[known:]:
        authority.apply(change.stream, change.event)
    assert [each.publication_id for each in authority.bindings(SHELL, PLACED)] == [second]


def test_publishing_itself_is_not_changed_by_a_repair() -> None:
    desk = Desk()
    active = desk.activate("c1").publication_id
    before = copy.deepcopy(desk.shard)
    desk.shard.apply("reconciliation:pass", repaired(desk, finding(active, "active", 1)))
    assert desk.shard == before


def test_a_reconciliation_sums_up_what_it_repaired() -> None:
    desk = Desk()
    active = desk.activate("c1").publication_id
    event = repaired(desk, finding(active, "active", 1))
    state = evolve(evolve(INITIAL, event), replace(event, publication_id="p2", missing=0, foreign=3))
    assert (state.publications, state.missing, state.foreign) == ((active, "p2"), 1, 3)
