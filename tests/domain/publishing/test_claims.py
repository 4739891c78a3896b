"""What stands against a claim, whatever came before."""

from hypothesis import given
from hypothesis import strategies as st

from interlock.domain.publishing.claims.events import Claim, ClaimsChanged
from interlock.domain.publishing.claims.state import conflicts, evolve, initial

SLOTS = ("a", "b", "c", "d")
CLAIMS = st.lists(
    st.builds(
        Claim,
        claim=st.sampled_from(("event:x", "http:y", "gate:z")),
        cardinality=st.sampled_from(("exclusive", "fan-out")),
        node_id=st.just("n"),
    ),
    max_size=3,
)


def changed(slot_id: str, claims: list[Claim]) -> ClaimsChanged:
    return ClaimsChanged(
        shell="default",
        slot_id=slot_id,
        definition_id=f"of {slot_id}",
        slot_name="default",
        publication_id=f"p {slot_id}" if claims else "",
        claims=tuple(claims),
    )


@given(st.lists(st.tuples(st.sampled_from(SLOTS), CLAIMS)), st.sampled_from(SLOTS), CLAIMS)
def test_a_claim_meets_all_others_of_its_name_unless_both_share(
    history: list[tuple[str, list[Claim]]], slot_id: str, wanted: list[Claim]
) -> None:
    """Proves: TRG-04 (a conflict with anybody's exclusive claim but one's own slot's, and with nothing else)."""
    ledger = initial()
    held: dict[str, list[Claim]] = {}
    for changed_slot, claims in history:
        evolve(ledger, changed(changed_slot, claims))
        held[changed_slot] = claims
    met = {
        (mine.claim, other)
        for mine in wanted
        for other, theirs in held.items()
        for one in theirs
        if other != slot_id and one.claim == mine.claim and "exclusive" in (one.cardinality, mine.cardinality)
    }
    found = conflicts(ledger, slot_id, wanted)
    assert [(one.claim, one.claimant.slot_id) for one in found] == sorted(met)
