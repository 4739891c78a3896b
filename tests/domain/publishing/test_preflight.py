"""What a publish would do, asked beforehand."""

import copy

from interlock.domain.messages import Restore, Unpublish
from interlock.domain.publishing.preflight import Preflight, preflight, preflight_restore, preflight_unpublish
from interlock.domain.refusal import Refusal
from tests.support.publishing import WITH_GATES, Desk, document, publish, restore, unpublish, wish


def look(desk: Desk, text: str, slot: str | None = None, expect_revision: int | None = None) -> Preflight:
    found = preflight(desk.shard, wish(slot, expect_revision), text, providers=WITH_GATES, now_ms=desk.now_ms)
    assert isinstance(found, Preflight), found
    return found


def test_an_empty_slot_would_be_filled() -> None:
    """Proves: PUB-09"""
    found = look(Desk(), document(on=("event:a", "gate:north")))
    assert (found.action, found.slot_name, found.policy_source, found.replaces) == ("fill", "default", "host", "")
    assert (found.expected_revision, found.found_revision) == (0, 0)
    assert [claim.claim for claim in found.added] == ["event:a", "gate:north"]
    assert (found.removed, found.retained, found.conflicts) == ((), (), ())


def test_a_replacement_shows_the_claims_added_removed_and_retained() -> None:
    """Proves: PUB-09"""
    desk = Desk()
    publication = desk.activate("c1", document(on=("event:a", "event:b")), slot="blue")
    found = look(desk, document(on=("event:b", "event:c")), "blue")
    assert (found.action, found.policy_source, found.replaces) == ("replace", "request", publication.publication_id)
    assert [[claim.claim for claim in claims] for claims in (found.added, found.removed, found.retained)] == [
        ["event:c"],
        ["event:a"],
        ["event:b"],
    ]


def test_a_conflict_names_definition_slot_and_publication_of_the_claimant() -> None:
    """Proves: PUB-09"""
    desk = Desk()
    publication = desk.activate("c1", document("keeper", on=("gate:north",)), slot="blue")
    found = look(desk, document("rival", on=("gate:north",)))
    assert found.action == "conflict"
    (conflict,) = found.conflicts
    claimant = conflict.claimant
    assert conflict.claim == "gate:north"
    assert (claimant.definition_id, claimant.slot_name, claimant.slot_id, claimant.publication_id) == (
        "keeper",
        "blue",
        publication.slot_id,
        publication.publication_id,
    )


def test_a_revision_that_has_passed_would_lose() -> None:
    desk = Desk()
    desk.activate("c1")
    found = look(desk, document(), None, 0)
    assert (found.action, found.expected_revision, found.found_revision) == ("lose", 0, 1)


def test_it_is_refused_as_the_publish_would_be() -> None:
    desk = Desk()
    for text, slot, revision in (("{", None, None), (document(), " ", None), (document(), None, 4)):
        refusal = preflight(desk.shard, wish(slot, revision), text, now_ms=desk.now_ms)
        assert isinstance(refusal, Refusal)
        assert refusal == desk.ask(publish("c1", text, slot=slot, expect_revision=revision))


def test_it_says_what_is_wrong_with_a_document_as_the_publish_does() -> None:
    desk = Desk()
    text = document(on=("nobody:knows",))
    refusal = preflight(desk.shard, wish(), text, now_ms=desk.now_ms)
    assert isinstance(refusal, Refusal)
    desk.ask(publish("c1", text))
    failure = desk.publication("c1").failure
    assert failure is not None
    assert [fault.code for fault in refusal.faults] == ["provider"]
    assert (failure.kind, failure.reason) != ("", "")
    assert failure.faults[0].where == refusal.faults[0].where


def test_it_changes_nothing() -> None:
    """Proves: PUB-09"""
    desk = Desk()
    desk.activate("c1", document("keeper", on=("gate:north",)))
    before = copy.deepcopy(desk.shard)
    look(desk, document("keeper", on=("gate:south",)))
    look(desk, document("rival", on=("gate:north",)))
    look(desk, document("nobody"))
    assert desk.shard == before


def test_what_it_says_is_what_the_publish_does() -> None:
    """Proves: PUB-09"""
    desk = Desk()
    desk.activate("c1")
    text = document(pause="2h")
    found = look(desk, text)
    publication = desk.activate("c2", text)
    assert (found.slot_id, found.artifact_id, found.version, found.found_revision + 1) == (
        publication.slot_id,
        publication.artifact_id,
        publication.definition_version,
        publication.revision,
    )


# ---- restore and unpublish ------------------------------------------------------------------------------------------


def look_at(desk: Desk, message: Restore | Unpublish) -> Preflight | Refusal:
    before = copy.deepcopy(desk.shard)
    if isinstance(message, Restore):
        found = preflight_restore(desk.shard, message, now_ms=desk.now_ms)
    else:
        found = preflight_unpublish(desk.shard, message)
    assert desk.shard == before
    return found


def names(found: Preflight) -> list[list[str]]:
    return [[claim.claim for claim in claims] for claims in (found.added, found.removed, found.retained)]


def test_a_restore_shows_beforehand_what_it_would_bring_back() -> None:
    """Proves: PUB-09, PUB-14, PUB-20"""
    desk = Desk()
    first = desk.activate("c1", document(on=("event:a", "event:b")))
    second = desk.activate("c2", document(on=("event:b", "event:c")))
    found = look_at(desk, restore("r1"))
    assert isinstance(found, Preflight)
    assert (found.action, found.restores, found.replaces) == ("replace", first.publication_id, second.publication_id)
    assert (found.artifact_id, found.version) == (first.artifact_id, first.definition_version)
    assert names(found) == [["event:a"], ["event:c"], ["event:b"]]
    desk.ask(restore("r1"))
    restored = desk.publication("r1")
    assert (restored.artifact_id, restored.restores) == (found.artifact_id, found.restores)


def test_a_restore_into_an_empty_slot_would_fill_it_and_one_of_the_present_authority_do_nothing() -> None:
    """Proves: PUB-09, PUB-14"""
    desk = Desk()
    first = desk.activate("c1")
    present = look_at(desk, restore("r1", "c1"))
    assert isinstance(present, Preflight)
    assert (present.action, present.replaces, present.restores) == ("nothing", "", "")
    assert names(present) == [[], [], ["event:order.placed"]]
    desk.ask(unpublish("u1"))
    empty = look_at(desk, restore("r1"))
    assert isinstance(empty, Preflight)
    assert (empty.action, empty.restores, empty.replaces) == ("fill", first.publication_id, "")


def test_a_restore_that_would_clash_names_the_claimant_and_one_that_is_late_loses() -> None:
    """Proves: PUB-09, PUB-14"""
    desk = Desk()
    first = desk.activate("c1", document("keeper", on=("gate:north",)))
    desk.activate("c2", document("keeper", on=("gate:south",)))
    rival = desk.activate("c3", document("rival", on=("gate:north",)))
    late = look_at(desk, restore("r1", definition_id="keeper", expect_revision=1))
    assert isinstance(late, Preflight)
    assert (late.action, late.found_revision) == ("lose", 2)
    found = look_at(desk, restore("r1", definition_id="keeper"))
    assert isinstance(found, Preflight)
    assert (found.action, found.restores) == ("conflict", first.publication_id)
    assert [each.claimant.publication_id for each in found.conflicts] == [rival.publication_id]


def test_a_restore_or_unpublish_is_refused_beforehand_as_it_would_be() -> None:
    """Proves: PUB-09, PUB-14"""
    desk = Desk()
    desk.activate("c1")
    desk.ask(publish("c2", document(on=("nobody:knows",))))
    asked = (
        restore("r1"),
        restore("r1", "c2"),
        restore("r1", "never"),
        restore("r1", expect_revision=7),
        unpublish("u1", expect_revision=7),
        unpublish("u1", slot=" "),
    )
    for message in asked:
        refusal = look_at(desk, message)
        assert isinstance(refusal, Refusal)
        assert refusal == desk.ask(message)


def test_an_unpublish_shows_beforehand_what_would_be_given_up() -> None:
    """Proves: PUB-09, PUB-14"""
    desk = Desk()
    first = desk.activate("c1", document(on=("event:a", "gate:north")))
    desk.activate("c2", document(on=("event:a",)), slot="blue")
    found = look_at(desk, unpublish("u1"))
    assert isinstance(found, Preflight)
    assert (found.action, found.replaces, found.artifact_id, found.beside) == (
        "empty",
        first.publication_id,
        "",
        ("blue",),
    )
    assert names(found) == [[], ["event:a", "gate:north"], []]
    late = look_at(desk, unpublish("u1", expect_revision=0))
    assert isinstance(late, Preflight)
    assert late.action == "lose"
    desk.ask(unpublish("u1"))
    nothing = look_at(desk, unpublish("u2"))
    assert isinstance(nothing, Preflight)
    assert (nothing.action, nothing.replaces, names(nothing)) == ("nothing", "", [[], [], []])
