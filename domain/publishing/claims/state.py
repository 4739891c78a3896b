"""State of a shell's ledger of claims.

It is folded in place, unlike other aggregates' states: a shell has one ledger over all its slots, and copying it with
each activation would cost its size. `evolve` still only assigns, and gives the ledger that it was given.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from interlock.domain.definitions.executable import Cardinality
from interlock.domain.frozen import frozen
from interlock.domain.publishing.claims.events import Claim, ClaimsChanged


@frozen(kw_only=True)
class Claimant:
    """An authoritative publication that claims something."""

    definition_id: str
    slot_id: str
    slot_name: str
    publication_id: str
    node_id: str
    """Its trigger's node."""
    cardinality: Cardinality


@frozen(kw_only=True)
class Conflict:
    """A claim that a candidate can't have, and who has it."""

    claim: str
    node_id: str
    """The candidate's trigger node that asks for it."""
    claimant: Claimant


@dataclass(slots=True)
class Ledger:
    """What each slot of a shell claims, and who claims each thing."""

    by_slot: dict[str, tuple[Claim, ...]] = field(default_factory=dict[str, tuple[Claim, ...]])
    """Slot id → what its authority claims."""
    by_claim: dict[str, tuple[Claimant, ...]] = field(default_factory=dict[str, tuple[Claimant, ...]])
    """Claim → who claims it; tuples, which a snapshot shares instead of copying each."""
    exclusive: dict[str, tuple[Claimant, ...]] = field(default_factory=dict[str, tuple[Claimant, ...]])
    """The same, of those alone that share with nobody: who shares need not look at all the others who do."""


def initial() -> Ledger:
    """A ledger without claims."""
    return Ledger()


def evolve(state: Ledger, event: ClaimsChanged) -> Ledger:
    """The same ledger, after the event."""
    for given_up in state.by_slot.pop(event.slot_id, ()):
        for held in (state.by_claim, state.exclusive):
            left = tuple([one for one in held.pop(given_up.claim, ()) if one.slot_id != event.slot_id])
            if left:
                held[given_up.claim] = left
    if event.claims:
        state.by_slot[event.slot_id] = event.claims
    for claim in event.claims:
        claimant = Claimant(
            definition_id=event.definition_id,
            slot_id=event.slot_id,
            slot_name=event.slot_name,
            publication_id=event.publication_id,
            node_id=claim.node_id,
            cardinality=claim.cardinality,
        )
        state.by_claim[claim.claim] = (*state.by_claim.get(claim.claim, ()), claimant)
        if claim.cardinality == "exclusive":
            state.exclusive[claim.claim] = (*state.exclusive.get(claim.claim, ()), claimant)
    return state


def conflicts(state: Ledger, slot_id: str, claims: Iterable[Claim]) -> tuple[Conflict, ...]:
    """What stands against a candidate of a slot, in a fixed order (TRG-04).

    The only claimant left out is the authority of the candidate's own slot; to share a definition or an artifact with
    a claimant is no exemption.
    """
    found = {
        (claim.claim, claimant.slot_id): Conflict(claim=claim.claim, node_id=claim.node_id, claimant=claimant)
        for claim in claims
        for claimant in _in_its_way(state, claim)
        if claimant.slot_id != slot_id
    }
    return tuple(found[key] for key in sorted(found))


def _in_its_way(state: Ledger, claim: Claim) -> tuple[Claimant, ...]:
    """Those that a claim can't share with, its own slot's among them."""
    return (state.by_claim if claim.cardinality == "exclusive" else state.exclusive).get(claim.claim, ())
