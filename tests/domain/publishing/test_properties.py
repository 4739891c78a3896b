"""Whatever is asked of a publishing shard, in whatever order and however often, these rules hold."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.domain.decider import NOTHING, Decision
from interlock.domain.messages import Publish
from interlock.domain.publishing.authority import Authority, KeptAuthority
from interlock.domain.publishing.publication.commands import PublicationCommand
from interlock.domain.publishing.publication.events import PublicationSuperseded
from interlock.domain.publishing.reference.state import is_live
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.publishing.slot.events import SlotActivated, SlotEmptied
from interlock.domain.publishing.unpublish.events import UnpublishSuperseded
from interlock.domain.sharding import stimulus_identity
from interlock.schemas.states import StateFormat
from tests.support.publishing import PREPARE_MS, SHELL, Desk, answered, document, publish, reached, restore, unpublish
from tests.support.snapshots import through_text

KINDS = ("trigger-index", "routes")
FORM = StateFormat(KeptAuthority, PublishingShard)
COMMANDS = st.sampled_from([f"c{number}" for number in range(10)])
TRIGGERS = ("event:a", "gate:north", "gate:south")

Messages = tuple[PublicationCommand, ...]


def published(command_id: str, name: str, on: frozenset[str], slot: str | None, revision: int | None) -> Messages:
    text = document(name, on=tuple(sorted(on)))
    return (publish(command_id, text, slot=slot, expect_revision=revision),)


def emptied(command_id: str, name: str, slot: str | None, revision: int | None) -> Messages:
    return (unpublish(command_id, name, slot=slot, expect_revision=revision),)


def restored(command_id: str, earlier: str | None, name: str, slot: str | None, revision: int | None) -> Messages:
    asked = restore(command_id, earlier, definition_id=name, slot=slot, expect_revision=revision)
    return (asked, *voted(command_id, KINDS, True))


def prepared(messages: Messages) -> Messages:
    (asked,) = messages
    assert isinstance(asked, Publish)
    return messages + voted(asked.command_id, KINDS, True)


def voted(command_id: str, kinds: tuple[str, ...], ready: bool) -> Messages:
    return tuple(answered(command_id, kind=kind, prepared=ready) for kind in kinds)


def decided_at(command_id: str, partitions: tuple[int, ...], position: int) -> Messages:
    return tuple(reached(command_id, partition, position) for partition in partitions)


PUBLISHES = st.builds(
    published,
    COMMANDS,
    st.sampled_from(["orders", "audit"]),
    st.frozensets(st.sampled_from(TRIGGERS), min_size=1, max_size=2),
    st.sampled_from([None, None, "canary"]),
    st.sampled_from([None, None, None, 0, 1, 2]),
)
MESSAGES = st.one_of(
    PUBLISHES,
    st.builds(
        emptied,
        st.sampled_from([f"u{number}" for number in range(6)]),
        st.sampled_from(["orders", "audit"]),
        st.sampled_from([None, None, "canary"]),
        st.sampled_from([None, None, 0, 1, 2]),
    ),
    st.builds(
        restored,
        st.sampled_from([f"r{number}" for number in range(6)]),
        st.none() | COMMANDS,
        st.sampled_from(["orders", "audit"]),
        st.sampled_from([None, None, "canary"]),
        st.sampled_from([None, None, 0, 1, 2]),
    ),
    # Most candidates have to get through, or nothing would ever be replaced.
    st.builds(prepared, PUBLISHES),
    st.builds(voted, COMMANDS, st.sampled_from([KINDS, KINDS[:1], KINDS[1:]]), st.sampled_from([True, True, False])),
    st.builds(decided_at, COMMANDS, st.sampled_from([(0, 1), (0,), (1,)]), st.sampled_from([1, 999])),
)
STEPS = st.lists(MESSAGES | st.integers(1, PREPARE_MS), min_size=5, max_size=40)
"""Messages that come together, or milliseconds that pass."""


def walk(steps: list[Messages | int]) -> Desk:
    """A desk after the steps. After each one the rules are looked at."""
    desk = Desk(kinds=KINDS)
    for step in steps:
        if isinstance(step, int):
            desk.now_ms += step
            desk.due()
        else:
            for message in step:
                desk.ask(message)
                # What was decided is done; only a refusal, and that nothing is to be done, is said again.
                again = desk.decide(desk.shard, message)
                assert not isinstance(again, Decision) or not again.changes
        at_most_one_authority(desk.shard)
        one_keeper_for_each_gate(desk.shard)
        claims_are_those_of_the_authorities(desk.shard)
        live_references_are_those_of_the_authorities(desk.shard)
    return desk


def at_most_one_authority(shard: PublishingShard) -> None:
    active = {key for key, publication in shard.publications.items() if publication.status == "active"}
    selected = [slot.publication_id for slot in shard.slots.values() if slot.publication_id]
    assert active == set(selected)
    assert len(selected) == len(set(selected))


def claims_are_those_of_the_authorities(shard: PublishingShard) -> None:
    held = {slot_id: claims for ledger in shard.ledgers.values() for slot_id, claims in ledger.by_slot.items()}
    for slot in shard.slots.values():
        wanted = shard.publications[slot.publication_id].bindings if slot.publication_id else ()
        assert [claim.claim for claim in held.pop(slot.slot_id, ())] == [binding.claim for binding in wanted]
    assert held == {}


def live_references_are_those_of_the_authorities(shard: PublishingShard) -> None:
    live = [
        reference.created.publication_id
        for reference in shard.references.values()
        if reference.created and is_live(reference, shard.publications[reference.created.publication_id])
    ]
    assert sorted(live) == sorted(slot.publication_id for slot in shard.slots.values() if slot.publication_id)
    unretired = [reference for reference in shard.references.values() if not reference.retired]
    assert len(unretired) == len(live)


def one_keeper_for_each_gate(shard: PublishingShard) -> None:
    gates = Counter(
        binding.claim
        for publication in shard.publications.values()
        if publication.status == "active"
        for binding in publication.bindings
        if binding.cardinality == "exclusive"
    )
    assert [claim for claim, keepers in gates.items() if keepers > 1] == []


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_a_slot_has_one_authority_and_a_gate_one_keeper_whatever_comes(steps: list[Messages | int]) -> None:
    """Proves: PUB-01, PUB-02, PUB-12, PUB-17, TRG-04"""
    walk(steps)


@settings(max_examples=75, deadline=None)
@given(STEPS)
def test_each_activation_and_each_unpublish_raises_its_slot_by_one_from_what_the_candidate_observed(
    steps: list[Messages | int],
) -> None:
    """Proves: PUB-11"""
    desk = walk(steps)
    revisions: dict[str, int] = {}
    for event in (change.event for change in desk.changes):
        if isinstance(event, SlotActivated):
            revisions[event.slot_id] = revisions.get(event.slot_id, 0) + 1
            assert event.revision == revisions[event.slot_id]
            assert desk.shard.publications[event.publication_id].expected_revision == event.revision - 1
        elif isinstance(event, SlotEmptied):
            revisions[event.slot_id] += 1
            assert event.revision == revisions[event.slot_id]
            assert desk.shard.publications[event.publication_id].unpublish_id == event.unpublish_id
        elif isinstance(event, PublicationSuperseded):
            assert event.expected_revision < event.found_revision


@settings(max_examples=75, deadline=None)
@given(STEPS)
def test_the_journal_alone_gives_the_same_shard(steps: list[Messages | int]) -> None:
    """Proves: PRJ-06"""
    desk = walk(steps)
    replayed = PublishingShard()
    for change in desk.changes:
        replayed.apply(change.stream, change.event)
    assert replayed == desk.shard


@settings(max_examples=75, deadline=None)
@given(STEPS, st.integers(0, 100))
def test_a_snapshot_and_the_rest_of_the_journal_give_the_same_shard_and_the_same_authority(
    steps: list[Messages | int], percent: int
) -> None:
    """Proves: PRJ-06"""
    desk = walk(steps)
    cut = len(desk.changes) * percent // 100
    shard, authority = PublishingShard(), Authority()
    for change in desk.changes[:cut]:
        shard.apply(change.stream, change.event)
        authority.apply(change.stream, change.event)
    kept, found = through_text(FORM, authority.keep(), shard)
    assert isinstance(kept, KeptAuthority)
    assert isinstance(found, PublishingShard)
    assert found == shard
    restored = Authority()
    restored.restore(kept)
    for change in desk.changes[cut:]:
        found.apply(change.stream, change.event)
        authority.apply(change.stream, change.event)
        restored.apply(change.stream, change.event)
    assert found == desk.shard
    assert restored.keep() == authority.keep()


@settings(max_examples=75, deadline=None)
@given(STEPS)
def test_what_others_see_as_bindings_is_what_the_slots_select(steps: list[Messages | int]) -> None:
    """Proves: PUB-03"""
    desk = walk(steps)
    authority = Authority()
    for change in desk.changes:
        authority.apply(change.stream, change.event)
    for trigger in TRIGGERS:
        type_, name = trigger.split(":")
        identity = stimulus_identity(type_.title(), name)
        expected = {
            binding.binding_id
            for slot in desk.shard.slots.values()
            if slot.publication_id
            for binding in desk.shard.publications[slot.publication_id].bindings
            if binding.identity == identity
        }
        assert {binding.binding_id for binding in authority.bindings(SHELL, identity)} == expected


@settings(max_examples=75, deadline=None)
@given(STEPS)
def test_each_command_is_answered_once_and_only_at_its_end(steps: list[Messages | int]) -> None:
    """Proves: PUB-16"""
    desk = walk(steps)
    for publication in desk.shard.publications.values():
        ended = publication.served or publication.status in ("failed", "superseded")
        replies = [body for _, body in desk.replies(publication.command_id) if body.get("status") != "nothing"]
        assert len(replies) == (1 if ended else 0)
    for asked in desk.shard.unpublishes.values():
        assert asked.outcome is not None
        ended = asked.served or isinstance(asked.outcome, UnpublishSuperseded)
        replies = [body for _, body in desk.replies(asked.outcome.command_id) if body.get("status") != "nothing"]
        assert len(replies) == (1 if ended else 0)
    assert desk.due() is NOTHING
