"""State of a reconciliation, folded from its facts; for who looks back at it, since nothing is decided by it."""

from dataclasses import dataclass
from typing import Final

from interlock.domain.publishing.reconciliation.events import ReconciliationEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """What a pass has repaired so far."""

    reconciliation_id: str = ""
    publications: tuple[str, ...] = ()
    """Those whose rows were restated, in that order."""
    missing: int = 0
    """Rows that were not there, over all publications; so are the three below."""
    foreign: int = 0
    flipped: int = 0
    changed: int = 0
    requested_by: str = ""


INITIAL: Final = Reconciliation()


def evolve(state: Reconciliation, event: ReconciliationEvent) -> Reconciliation:
    """The reconciliation after the event."""
    return Reconciliation(
        reconciliation_id=event.reconciliation_id,
        publications=(*state.publications, event.publication_id),
        missing=state.missing + event.missing,
        foreign=state.foreign + event.foreign,
        flipped=state.flipped + event.flipped,
        changed=state.changed + event.changed,
        requested_by=event.requested_by,
    )
