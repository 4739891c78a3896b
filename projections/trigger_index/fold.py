"""How the publishing journal becomes the trigger index.

    staged: rows, prepared, and an ask ─► prepared: the ask is answered ─► activated: rows, active ─► retired: no rows
                                     └────────────────┴─► failed, superseded: no rows
    repaired: the rows that the event states, whatever they were

The activation of one publication and the retirement of the one before it are in one append, and so are the changes of
their rows: whoever reads sees the bindings of exactly one of them (PRJ-04).
"""

from typing import Final

from interlock.domain.publishing.claims.events import ClaimsChanged
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.publishing.publication.events import (
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
from interlock.domain.publishing.reconciliation.events import ProjectionRepaired
from interlock.domain.publishing.slot.events import SlotActivated
from interlock.projections.recorded import Recorded
from interlock.projections.rows import Rows
from interlock.projections.trigger_index.store import (
    ASKS,
    BINDINGS,
    CANDIDATES,
    TABLES,
    AskRow,
    CandidateRow,
    State,
    binding_row,
)
from interlock.projections.view import View, each_event, missing, unknown

KIND: Final = "trigger-index"
"""What publications name the view by among the projections that they require."""


def fold(recorded: Recorded, rows: Rows) -> None:
    """Folds one event of the publishing journal."""
    match recorded.event:
        case PublicationRequested() as event:
            candidate = CandidateRow(
                publication_id=event.publication_id,
                shell=event.shell,
                definition_id=event.definition_id,
                slot_id=event.slot_id,
            )
            rows.put(CANDIDATES, candidate)
        case PublicationStaged() as event:
            _stage(event, rows)
        case ProjectionPrepared() as event:
            rows.delete(ASKS, event.publication_id, event.kind)
        case PublicationActivated() as event:
            rows.delete(ASKS, event.publication_id, KIND)
            for binding in rows.under(BINDINGS, event.publication_id):
                rows.put(BINDINGS, binding._replace(state="active"))
        case (PublicationRetired() | PublicationFailed() | PublicationSuperseded()) as event:
            _remove(event.publication_id, rows)
        case ProjectionRepaired() as event:
            _restate(event, rows)
        case RoutingShardReached() | PublicationServed() | SlotActivated() | ClaimsChanged() | ExecutableSaved():
            pass
        case event:
            raise unknown(event)


def _stage(event: PublicationStaged, rows: Rows) -> None:
    candidate = rows.get(CANDIDATES, event.publication_id)
    if candidate is None:
        raise missing(f"publication {event.publication_id}")
    for binding in event.bindings:
        rows.put(BINDINGS, binding_row(candidate, event.artifact_id, binding, "prepared"))
    if KIND in event.required_projections:
        ask = AskRow(
            publication_id=event.publication_id, kind=KIND, shell=candidate.shell, deadline_ms=event.deadline_ms
        )
        rows.put(ASKS, ask)


def _restate(event: ProjectionRepaired, rows: Rows) -> None:
    """Whatever the rows of the publication are, they are what the event says from now on; others stay (PRJ-05)."""
    if event.kind != KIND:
        return
    _remove(event.publication_id, rows)
    if event.standing == "gone":
        return
    candidate = CandidateRow(
        publication_id=event.publication_id,
        shell=event.shell,
        definition_id=event.definition_id,
        slot_id=event.slot_id,
    )
    rows.put(CANDIDATES, candidate)
    state: State = "active" if event.standing == "active" else "prepared"
    for binding in event.bindings:
        rows.put(BINDINGS, binding_row(candidate, event.artifact_id, binding, state))
    if event.awaited:
        ask = AskRow(publication_id=event.publication_id, kind=KIND, shell=event.shell, deadline_ms=event.deadline_ms)
        rows.put(ASKS, ask)


def _remove(publication_id: str, rows: Rows) -> None:
    for binding in rows.under(BINDINGS, publication_id):
        rows.delete(BINDINGS, publication_id, binding.binding_id)
    rows.delete(ASKS, publication_id, KIND)
    rows.delete(CANDIDATES, publication_id)


VIEW: Final = View(name=KIND, contexts=("publishing",), tables=TABLES, fold=each_event(fold), version=1)
