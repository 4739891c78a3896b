"""What a publish would do, asked beforehand."""

import copy

from interlock.domain.publishing.preflight import Preflight, preflight
from interlock.domain.refusal import Refusal
from tests.support.publishing import WITH_GATES, Desk, document, publish, wish


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
