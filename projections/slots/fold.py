"""How the publishing journal becomes slots and publications."""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from interlock.domain.publishing.answers import told_conflict
from interlock.domain.publishing.binding import told_binding
from interlock.domain.publishing.claims.events import ClaimsChanged
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.publishing.publication.events import (
    ProjectionAskedAgain,
    ProjectionPrepared,
    PublicationActivated,
    PublicationEvent,
    PublicationFailed,
    PublicationRequested,
    PublicationRetired,
    PublicationServed,
    PublicationStaged,
    PublicationSuperseded,
    RoutingShardReached,
)
from interlock.domain.publishing.reconciliation.events import ProjectionRepaired
from interlock.domain.publishing.reference.events import SourceReferenceEvent
from interlock.domain.publishing.slot.events import SlotActivated, SlotEmptied
from interlock.domain.publishing.unpublish.events import UnpublishEvent
from interlock.domain.reply import told_fault
from interlock.projections.recorded import Recorded
from interlock.projections.rows import Rows
from interlock.projections.slots.intents import INTENTS, fold_intents
from interlock.projections.slots.references import REFERENCES, fold_reference
from interlock.projections.slots.repairs import DRIFT, REPAIRS, fold_repair
from interlock.projections.slots.store import (
    PROJECTIONS,
    PUBLICATIONS,
    REACHED,
    SLOTS,
    TABLES,
    ProjectionRow,
    PublicationRow,
    ReachedRow,
    SlotRow,
)
from interlock.projections.slots.unpublishes import UNPUBLISH_REACHED, UNPUBLISHES, fold_unpublish
from interlock.projections.view import View, each_event, missing, unknown


def fold(recorded: Recorded, rows: Rows) -> None:
    """Folds one event of the publishing journal."""
    if isinstance(recorded.event, PublicationEvent):
        fold_intents(recorded.event, recorded.number, rows)
    match recorded.event:
        case PublicationRequested() as event:
            rows.put(PUBLICATIONS, _requested(event))
        case PublicationStaged() as event:
            _stage(event, rows)
        case ProjectionAskedAgain():
            pass
        case ProjectionPrepared() as event:
            row = ProjectionRow(publication_id=event.publication_id, kind=event.kind, prepared_at_ms=event.at_ms)
            rows.put(PROJECTIONS, row)
        case PublicationActivated() as event:
            _activate(event, rows)
        case SlotActivated() as event:
            rows.put(SLOTS, _selected(event))
        case SlotEmptied() as event:
            _empty(event, rows)
        case event if isinstance(event, SourceReferenceEvent):
            fold_reference(event, rows)
        case event if isinstance(event, UnpublishEvent):
            fold_unpublish(event, rows)
        case RoutingShardReached() as event:
            rows.put(REACHED, ReachedRow(publication_id=event.publication_id, partition=event.partition))
        case PublicationServed() as event:
            rows.put(PUBLICATIONS, _known(event.publication_id, rows)._replace(served_at_ms=event.at_ms))
        case (PublicationRetired() | PublicationFailed() | PublicationSuperseded()) as event:
            _end(event, rows)
        case ProjectionRepaired() as event:
            fold_repair(event, recorded.revision, rows)
        case ClaimsChanged() | ExecutableSaved():
            pass
        case event:
            raise unknown(event)


def _requested(event: PublicationRequested) -> PublicationRow:
    return PublicationRow(
        publication_id=event.publication_id,
        command_id=event.command_id,
        shell=event.shell,
        definition_id=event.definition_id,
        slot_id=event.slot_id,
        slot_name=event.slot_name,
        policy_source=event.policy_source,
        expected_revision=event.expected_revision,
        requested_by=event.requested_by,
        requested_at_ms=event.requested_at_ms,
        status="requested",
        restores=event.restores,
        owner_kind=event.owner.kind if event.owner else "",
        owner_id=event.owner.id if event.owner else "",
        took_over=int(event.took_over),
    )


def _stage(event: PublicationStaged, rows: Rows) -> None:
    staged = _known(event.publication_id, rows)._replace(
        status="pending-projection",
        definition_version=event.definition_version,
        artifact_id=event.artifact_id,
        deadline_ms=event.deadline_ms,
        triggers=_array(told_binding(each) for each in event.bindings),
        staged_at_ms=event.at_ms,
    )
    rows.put(PUBLICATIONS, staged)
    for kind in event.required_projections:
        rows.put(PROJECTIONS, ProjectionRow(publication_id=event.publication_id, kind=kind, prepared_at_ms=None))


def _activate(event: PublicationActivated, rows: Rows) -> None:
    active = _known(event.publication_id, rows)._replace(
        status="active",
        revision=event.revision,
        position=event.position,
        routing_shards=event.routing_shards,
        activated_at_ms=event.at_ms,
        source_reference_id=event.source_reference_id,
    )
    rows.put(PUBLICATIONS, active)


def _selected(event: SlotActivated) -> SlotRow:
    return SlotRow(
        slot_id=event.slot_id,
        shell=event.shell,
        definition_id=event.definition_id,
        name=event.name,
        revision=event.revision,
        publication_id=event.publication_id,
        activated_at_ms=event.at_ms,
        owner_kind=event.owner.kind if event.owner else "",
        owner_id=event.owner.id if event.owner else "",
    )


def _empty(event: SlotEmptied, rows: Rows) -> None:
    slot = rows.get(SLOTS, event.slot_id)
    if slot is None:
        raise missing(f"slot {event.slot_id}")
    emptied = slot._replace(
        revision=event.revision,
        publication_id="",
        emptied_at_ms=event.at_ms,
        owner_kind=event.owner.kind if event.owner else "",
        owner_id=event.owner.id if event.owner else "",
    )
    rows.put(SLOTS, emptied)


def _end(event: PublicationRetired | PublicationFailed | PublicationSuperseded, rows: Rows) -> None:
    ended = _known(event.publication_id, rows)._replace(ended_at_ms=event.at_ms)
    match event:
        case PublicationRetired():
            ended = ended._replace(status="retired", replaced_by=event.replaced_by, unpublish_id=event.unpublish_id)
        case PublicationFailed():
            ended = _failed(ended, event)
        case PublicationSuperseded():
            ended = ended._replace(status="superseded", found_revision=event.found_revision)
    rows.put(PUBLICATIONS, ended)


def _failed(row: PublicationRow, event: PublicationFailed) -> PublicationRow:
    return row._replace(
        status="failed",
        failure=event.kind,
        reason=event.reason,
        faults=_array(told_fault(fault) for fault in event.faults),
        conflicts=_array(told_conflict(conflict) for conflict in event.conflicts),
    )


def _array(items: Iterable[Mapping[str, object]]) -> str:
    """Items as a JSON array; "" for none."""
    found = list(items)
    return json.dumps(found, ensure_ascii=False) if found else ""


def _known(publication_id: str, rows: Rows) -> PublicationRow:
    row = rows.get(PUBLICATIONS, publication_id)
    if row is None:
        raise missing(f"publication {publication_id}")
    return row


_TABLES: Final = (*TABLES, REPAIRS, DRIFT, INTENTS, REFERENCES, UNPUBLISHES, UNPUBLISH_REACHED)
VIEW: Final = View(name="slots", contexts=("publishing",), tables=_TABLES, fold=each_event(fold), version=5)
