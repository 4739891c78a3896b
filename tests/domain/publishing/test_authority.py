"""What routers and executions see of the publishing journals."""

from interlock.domain.decider import Change
from interlock.domain.definitions.compiler import compile_document
from interlock.domain.publishing.authority import AuthoritativeBinding, Authority
from interlock.domain.sharding import slot_id, stimulus_identity
from tests.support.publishing import SHELL, WITH_GATES, Desk, answered, document, publish

PLACED = stimulus_identity("Event", "order.placed")


def read(*desks: Desk) -> Authority:
    """The authority after everything that was decided at the desks."""
    authority = Authority()
    for desk in desks:
        take(authority, desk.changes)
    return authority


def take(authority: Authority, changes: list[Change]) -> None:
    for change in changes:
        authority.apply(change.stream, change.event)


def starters(authority: Authority, identity: str = PLACED) -> list[str]:
    return [binding.publication_id for binding in authority.bindings(SHELL, identity)]


def test_a_binding_of_the_selected_publication_carries_all_that_a_start_needs() -> None:
    """Proves: PUB-03"""
    desk = Desk()
    publication = desk.activate("c1")
    (binding,) = publication.bindings
    assert read(desk).bindings(SHELL, PLACED) == (
        AuthoritativeBinding(
            binding_id=binding.binding_id,
            node_id="event:order.placed",
            type="Event",
            name="order.placed",
            identity=PLACED,
            cardinality="fan-out",
            claim="event:order.placed",
            publication_id=publication.publication_id,
            slot_id=publication.slot_id,
            definition_id="orders",
            artifact_id=publication.artifact_id,
        ),
    )


def test_a_candidate_starts_nothing_before_its_slot_selects_it_nor_when_it_ends() -> None:
    """Proves: PUB-03, PRJ-03"""
    desk = Desk()
    desk.ask(publish("c1"))
    assert starters(read(desk)) == []
    desk.ask(answered("c1", prepared=False))
    assert starters(read(desk)) == []


def test_every_event_of_a_replacement_finds_exactly_one_authority() -> None:
    """Proves: PRJ-04"""
    desk = Desk()
    first = desk.activate("c1").publication_id
    authority, known = read(desk), len(desk.changes)
    second = desk.activate("c2").publication_id
    seen: list[str] = []
    for change in desk.changes[known:]:
        authority.apply(change.stream, change.event)
        seen.extend(starters(authority))
    assert len(seen) == len(desk.changes) - known
    assert seen == sorted(seen, key=[first, second].index)
    assert set(seen) == {first, second}


def test_a_replacement_takes_the_bindings_that_the_new_one_lacks_away() -> None:
    """Proves: PUB-03"""
    desk = Desk()
    desk.activate("c1", document(on=("event:order.placed", "event:order.imported")))
    desk.activate("c2", document(on=("event:order.imported",)))
    authority = read(desk)
    assert starters(authority) == []
    assert len(starters(authority, stimulus_identity("Event", "order.imported"))) == 1


def test_slots_side_by_side_both_start_in_an_order_that_never_changes() -> None:
    desk = Desk()
    for command_id, slot in (("c1", None), ("c2", "canary"), ("c3", "shadow")):
        desk.activate(command_id, slot=slot)
    slots = [binding.slot_id for binding in read(desk).bindings(SHELL, PLACED)]
    assert slots == sorted(slot_id(SHELL, "orders", name) for name in ("default", "canary", "shadow"))


def test_the_order_between_shards_does_not_matter() -> None:
    """Proves: PRJ-06"""
    north, south = Desk(), Desk()
    north.activate("c1", document("orders"))
    south.activate("c2", document("audit"))
    south.activate("c3", document("audit", pause="2h"))
    assert read(north, south).bindings(SHELL, PLACED) == read(south, north).bindings(SHELL, PLACED)


def test_shells_see_their_own_bindings_only() -> None:
    desk = Desk()
    desk.activate("c1")
    authority = read(desk)
    assert authority.bindings("other", PLACED) == ()
    assert authority.slot("other", "orders", "default") is None


def test_an_executable_is_read_once_and_outlives_its_publication() -> None:
    """Proves: PUB-18"""
    desk = Desk()
    first = desk.activate("c1", document(on=("gate:north",)))
    desk.activate("c2", document(pause="2h"))
    authority = read(desk)
    executable = authority.executable(first.artifact_id)
    assert executable == compile_document(document(on=("gate:north",)), WITH_GATES)
    assert authority.executable(first.artifact_id) is executable
    assert authority.executable("unknown") is None


def test_a_slot_is_seen_with_its_revision() -> None:
    desk = Desk()
    desk.activate("c1")
    desk.activate("c2")
    assert read(desk).slot(SHELL, "orders", "default") == desk.slot()
    assert read(desk).slot(SHELL, "orders", "canary") is None
