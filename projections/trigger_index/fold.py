"""How the publishing journal becomes the trigger index.

    staged: rows, prepared, and an ask ─► prepared: the ask is answered ─► activated: rows, active ─► retired: no rows
                                     └────────────────┴─► failed, superseded: no rows
    repaired: the rows that the event states, whatever they were

The activation of one publication and the retirement of the one before it are in one append, and so are the changes of
their rows: whoever reads sees the bindings of exactly one of them (PRJ-04).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from interlock.domain.publishing.claims.events import ClaimsChanged
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.publishing.publication.events import (
    Binding,
    ProjectionAskedAgain,
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
from interlock.domain.publishing.reconciliation.called import Called
from interlock.domain.publishing.reconciliation.events import ProjectionRepaired
from interlock.domain.publishing.reference.events import SourceReferenceEvent
from interlock.domain.publishing.slot.events import SlotActivated, SlotEmptied
from interlock.domain.publishing.unpublish.events import (
    Unpublished,
    UnpublishServed,
    UnpublishShardReached,
    UnpublishSuperseded,
)
from interlock.projections.recorded import Recorded
from interlock.projections.rows import Rows
from interlock.projections.trigger_index.offers import (
    ROUTES,
    SCHEDULES,
    RouteRow,
    ScheduleRow,
    route_row,
    schedule_row,
)
from interlock.projections.trigger_index.store import (
    ASKS,
    BINDINGS,
    CANDIDATES,
    TABLES,
    AskRow,
    BindingRow,
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
        case ProjectionAskedAgain() as event:
            _ask_again(event, rows)
        case ProjectionPrepared() as event:
            rows.delete(ASKS, event.publication_id, event.kind)
        case PublicationActivated() as event:
            rows.delete(ASKS, event.publication_id, KIND)
            _show(event.publication_id, rows)
        case (PublicationRetired() | PublicationFailed() | PublicationSuperseded()) as event:
            _remove(event.publication_id, rows)
        case ProjectionRepaired() as event:
            _restate(event, rows)
        case RoutingShardReached() | PublicationServed() | SlotActivated() | ClaimsChanged() | ExecutableSaved():
            pass
        case event if isinstance(event, SourceReferenceEvent):
            pass
        case SlotEmptied() | Unpublished() | UnpublishSuperseded() | UnpublishShardReached() | UnpublishServed():
            # A slot that is emptied retires its publication in the same append; that is all there is to know.
            pass
        case event:
            raise unknown(event)


def _stage(event: PublicationStaged, rows: Rows) -> None:
    candidate = rows.get(CANDIDATES, event.publication_id)
    if candidate is None:
        raise missing(f"publication {event.publication_id}")
    _put_triggers(_triggers(candidate, event.artifact_id, event.bindings, "prepared"), rows)
    if KIND in event.required_projections:
        rows.put(ASKS, _ask(candidate, event.deadline_ms))


def _ask_again(event: ProjectionAskedAgain, rows: Rows) -> None:
    """The question stands, also where a row of it had got lost; whoever waits for changes is woken by it."""
    candidate = rows.get(CANDIDATES, event.publication_id)
    if event.kind == KIND and candidate is not None:
        rows.put(ASKS, _ask(candidate, event.deadline_ms))


def _ask(candidate: CandidateRow, deadline_ms: int) -> AskRow:
    """That publishing waits for this view to be prepared."""
    return AskRow(publication_id=candidate.publication_id, kind=KIND, shell=candidate.shell, deadline_ms=deadline_ms)


class Triggers(NamedTuple):
    """The rows of a publication's triggers."""

    bindings: tuple[BindingRow, ...] = ()
    routes: tuple[RouteRow, ...] = ()
    schedules: tuple[ScheduleRow, ...] = ()


class Restated(NamedTuple):
    """The rows of one publication, as its slot calls for them."""

    candidate: CandidateRow | None
    """None, with no rows at all, where it is gone."""
    triggers: Triggers
    ask: AskRow | None


def restated(called: Called | ProjectionRepaired, *, awaited: bool) -> Restated:
    """The rows that a publication has to have; with an ask where the view owes an answer."""
    if called.standing == "gone":
        return Restated(None, Triggers(), None)
    candidate = CandidateRow(
        publication_id=called.publication_id,
        shell=called.shell,
        definition_id=called.definition_id,
        slot_id=called.slot_id,
    )
    state: State = "active" if called.standing == "active" else "prepared"
    triggers = _triggers(candidate, called.artifact_id, called.bindings, state)
    return Restated(candidate, triggers, _ask(candidate, called.deadline_ms) if awaited else None)


def _restate(event: ProjectionRepaired, rows: Rows) -> None:
    """Whatever the rows of the publication are, they are what the event says from now on; others stay (PRJ-05)."""
    if event.kind != KIND:
        return
    _remove(event.publication_id, rows)
    candidate, triggers, ask = restated(event, awaited=event.awaited)
    if candidate is not None:
        rows.put(CANDIDATES, candidate)
    _put_triggers(triggers, rows)
    if ask is not None:
        rows.put(ASKS, ask)


def _triggers(candidate: CandidateRow, artifact_id: str, bindings: Sequence[Binding], state: State) -> Triggers:
    """What the triggers of a publication have for rows."""
    routes = (route_row(candidate, each, state) for each in bindings)
    schedules = (schedule_row(candidate, each, state) for each in bindings)
    return Triggers(
        bindings=tuple(binding_row(candidate, artifact_id, each, state) for each in bindings),
        routes=tuple(row for row in routes if row is not None),
        schedules=tuple(row for row in schedules if row is not None),
    )


def _put_triggers(triggers: Triggers, rows: Rows) -> None:
    for binding in triggers.bindings:
        rows.put(BINDINGS, binding)
    for route in triggers.routes:
        rows.put(ROUTES, route)
    for schedule in triggers.schedules:
        rows.put(SCHEDULES, schedule)


def _show(publication_id: str, rows: Rows) -> None:
    """Its rows are seen from now on."""
    for binding in rows.under(BINDINGS, publication_id):
        rows.put(BINDINGS, binding._replace(state="active"))
    for route in rows.under(ROUTES, publication_id):
        rows.put(ROUTES, route._replace(state="active"))
    for schedule in rows.under(SCHEDULES, publication_id):
        rows.put(SCHEDULES, schedule._replace(state="active"))


def _remove(publication_id: str, rows: Rows) -> None:
    for binding in rows.under(BINDINGS, publication_id):
        rows.delete(BINDINGS, publication_id, binding.binding_id)
    for route in rows.under(ROUTES, publication_id):
        rows.delete(ROUTES, publication_id, route.binding_id)
    for schedule in rows.under(SCHEDULES, publication_id):
        rows.delete(SCHEDULES, publication_id, schedule.binding_id)
    rows.delete(ASKS, publication_id, KIND)
    rows.delete(CANDIDATES, publication_id)


_TABLES: Final = (*TABLES, ROUTES, SCHEDULES)
VIEW: Final = View(name=KIND, contexts=("publishing",), tables=_TABLES, fold=each_event(fold), version=1)
