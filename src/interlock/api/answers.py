"""Rows of views as answers of the API."""

import json
from collections.abc import Mapping
from typing import TypeVar, cast

from interlock.api.pending import shard_has_to_decide, view_has_to_prepare
from interlock.domain.messages import Owner as DomainOwner
from interlock.domain.publishing.notices import notices
from interlock.projections.executions.query import ExecutionView
from interlock.projections.executions.store import ExecutionRow, StepRow
from interlock.projections.history.query import HistoryEntry as HistoryRow
from interlock.projections.slots.intents import IntentRow
from interlock.projections.slots.query import PublicationView
from interlock.projections.slots.references import SourceReferenceRow
from interlock.projections.slots.store import PublicationRow, SlotRow
from interlock.projections.slots.unpublishes import UnpublishView
from interlock.projections.stimuli.query import StimulusView
from interlock.projections.stimuli.store import DeadLetterRow, StimulusRow
from interlock.sdk.types import (
    Cancel,
    Conflict,
    DeadLetter,
    DocumentFault,
    Fault,
    HistoryEntry,
    Json,
    Origin,
    Owner,
    Projection,
    ProjectionIntent,
    Publication,
    PublicationDetail,
    Resume,
    Run,
    RunDetail,
    Slot,
    SourceReference,
    Start,
    Step,
    Stimulus,
    StimulusDetail,
    Trigger,
    Unpublish,
    Unserved,
    Wait,
)
from interlock.sdk.wire import from_wire

T = TypeVar("T")


def slot(row: SlotRow) -> Slot:
    """A slot."""
    return Slot(
        slot_id=row.slot_id,
        shell=row.shell,
        definition_id=row.definition_id,
        name=row.name,
        revision=row.revision,
        publication_id=row.publication_id,
        activated_at_ms=row.activated_at_ms,
        emptied_at_ms=row.emptied_at_ms,
        owner=_owner_of(row),
    )


def owner(found: DomainOwner | None) -> Owner | None:
    """Whose a slot is."""
    return None if found is None else Owner(kind=found.kind, id=found.id)


def _owner_of(row: SlotRow | PublicationRow) -> Owner | None:
    return Owner(kind=row.owner_kind, id=row.owner_id) if row.owner_kind else None


def publication(row: PublicationRow) -> Publication:
    """A publication."""
    return Publication(
        publication_id=row.publication_id,
        command_id=row.command_id,
        shell=row.shell,
        definition_id=row.definition_id,
        slot_id=row.slot_id,
        slot_name=row.slot_name,
        policy_source=row.policy_source,
        expected_revision=row.expected_revision,
        requested_by=row.requested_by,
        requested_at_ms=row.requested_at_ms,
        status=row.status,
        definition_version=row.definition_version,
        artifact_id=row.artifact_id,
        deadline_ms=row.deadline_ms,
        staged_at_ms=row.staged_at_ms,
        revision=row.revision,
        position=row.position,
        activated_at_ms=row.activated_at_ms,
        served_at_ms=row.served_at_ms,
        ended_at_ms=row.ended_at_ms,
        replaced_by=row.replaced_by,
        unpublish_id=row.unpublish_id,
        failure=row.failure,
        reason=row.reason,
        faults=_items(DocumentFault, row.faults),
        conflicts=_items(Conflict, row.conflicts),
        found_revision=row.found_revision,
        restores=row.restores,
        owner=_owner_of(row),
        took_over=bool(row.took_over),
    )


def publication_detail(view: PublicationView, passed: Mapping[str, int]) -> PublicationDetail:
    """A publication with what it waits for; `passed` is up to which append of publishing each view has come."""
    starts = triggers(view.publication)
    return PublicationDetail(
        publication=publication(view.publication),
        pending=view.pending,
        projections=tuple(Projection(kind=each.kind, prepared_at_ms=each.prepared_at_ms) for each in view.projections),
        missing_projections=view.missing_projections,
        reached_shards=view.reached_shards,
        missing_shards=view.missing_shards,
        missing=missing(view),
        unpublish=None if view.unpublish is None else _unpublish(view.unpublish),
        intents=tuple(_intent(each, passed) for each in view.intents),
        source_reference=None if view.reference is None else _reference(view, view.reference),
        triggers=starts,
        warnings=notices(starts),
    )


def triggers(row: PublicationRow) -> tuple[Trigger, ...]:
    """What starts runs of a publication while it has authority."""
    return _items(Trigger, row.triggers)


def _intent(row: IntentRow, passed: Mapping[str, int]) -> ProjectionIntent:
    folded = row.operation != "prepare" and passed.get(row.kind, 0) >= row.number
    status = "given-up" if row.diagnostic else "delivered" if folded or row.delivered_at_ms is not None else "pending"
    return ProjectionIntent(
        kind=row.kind,
        operation=row.operation,
        status=status,
        requested_at_ms=row.requested_at_ms,
        attempts=row.attempts,
        last_asked_at_ms=row.last_asked_at_ms,
        delivered_at_ms=row.delivered_at_ms,
        diagnostic=row.diagnostic,
    )


def _reference(view: PublicationView, row: SourceReferenceRow) -> SourceReference:
    return SourceReference(
        reference_id=row.reference_id,
        kind=row.kind,
        live=row.retired_at_ms is None and view.publication.status == "active",
        artifact_id=row.artifact_id,
        created_at_ms=row.created_at_ms,
        retired_at_ms=row.retired_at_ms,
    )


def _unpublish(view: UnpublishView) -> Unpublish:
    row = view.unpublish
    return Unpublish(
        unpublish_id=row.unpublish_id,
        command_id=row.command_id,
        requested_by=row.requested_by,
        requested_at_ms=row.requested_at_ms,
        policy_source=row.policy_source,
        revision=row.revision,
        position=row.position,
        at_ms=row.at_ms,
        served_at_ms=row.served_at_ms,
        missing_shards=view.missing_shards,
    )


def _missing_of_unpublish(view: UnpublishView) -> tuple[str, ...]:
    """What an unpublish waits for, in words."""
    return tuple(map(shard_has_to_decide, view.missing_shards))


def missing(view: PublicationView) -> tuple[str, ...]:
    """What a publication waits for, in words."""
    if view.publication.status == "requested":
        return ("it has to be staged",)
    views = map(view_has_to_prepare, view.missing_projections)
    shards = map(shard_has_to_decide, view.missing_shards)
    unpublish = () if view.unpublish is None else _missing_of_unpublish(view.unpublish)
    return (*views, *shards, *unpublish)


def stimulus(row: StimulusRow) -> Stimulus:
    """A stimulus."""
    return Stimulus(
        stimulus_id=row.stimulus_id,
        shell=row.shell,
        type=row.type,
        name=row.name,
        correlation=row.correlation,
        idempotency_key=row.idempotency_key,
        data=_value(row.data),
        arrived_at_ms=row.arrived_at_ms,
        kept_until_ms=row.kept_until_ms,
        deliver=row.deliver,
        outcome=row.outcome,
        expired_at_ms=row.expired_at_ms,
        past_horizon=bool(row.past_horizon),
        origin=_origin(row),
    )


def stimulus_detail(view: StimulusView) -> StimulusDetail:
    """A stimulus with what it did."""
    return StimulusDetail(
        stimulus=stimulus(view.stimulus),
        starts=tuple(
            Start(execution_id=each.execution_id, publication_id=each.publication_id, binding_id=each.binding_id)
            for each in view.starts
        ),
        resumes=tuple(
            Resume(
                execution_id=each.execution_id,
                bookmark_id=each.bookmark_id,
                late=bool(each.late),
                declined=bool(each.declined),
            )
            for each in view.resumes
        ),
    )


def dead_letter(row: DeadLetterRow) -> DeadLetter:
    """A dead letter."""
    return DeadLetter(
        dead_letter_id=row.dead_letter_id,
        shell=row.shell,
        reason=row.reason,
        detail=row.detail,
        excerpt=row.excerpt,
        size=row.size,
        rejected_at_ms=row.rejected_at_ms,
        origin=_origin(row),
    )


def run(row: ExecutionRow, now_ms: int) -> Run:
    """A run, with the age of what it waits for where nobody can serve it."""
    unserved = None
    if row.unserved_since_ms is not None:
        age_ms = max(0, now_ms - row.unserved_since_ms)
        unserved = Unserved(activity=row.unserved_activity, since_ms=row.unserved_since_ms, age_ms=age_ms)
    return Run(
        execution_id=row.execution_id,
        shell=row.shell,
        definition_id=row.definition_id,
        slot_id=row.slot_id,
        publication_id=row.publication_id,
        artifact_id=row.artifact_id,
        trigger_node=row.trigger_node,
        stimulus_id=row.stimulus_id,
        stimulus_name=row.stimulus_name,
        status=row.status,
        started_at_ms=row.started_at_ms,
        ended_at_ms=row.ended_at_ms,
        node_id=row.node_id,
        unserved=unserved,
        fault=_fault(row.error_type, row.error_message),
        output=_value(row.output),
        test_reference_id=row.test_reference_id,
    )


def run_detail(view: ExecutionView, now_ms: int) -> RunDetail:
    """A run with everything that is known of it."""
    wait = view.wait
    return RunDetail(
        run=run(view.execution, now_ms),
        current_node=view.current_node,
        steps=tuple(_step(each) for each in view.steps),
        wait=None
        if wait is None
        else Wait(
            node_id=wait.node_id,
            kind=wait.kind,
            bookmark_id=wait.bookmark_id,
            correlation=wait.correlation,
            until_ms=wait.until_ms,
            since_ms=wait.since_ms,
        ),
        cancels=tuple(
            Cancel(command_id=each.command_id, requested_by=each.requested_by, reason=each.reason, at_ms=each.at_ms)
            for each in view.cancels
        ),
    )


def history_entry(row: HistoryRow) -> HistoryEntry:
    """An event of an aggregate."""
    return HistoryEntry(
        stream=row.stream,
        revision=row.revision,
        type=row.type,
        time_ms=row.time_ms,
        causation=row.causation,
        correlation=row.correlation,
        actor=row.actor,
        owner=row.owner,
        partition=row.partition,
        number=row.number,
        position=row.position,
        data=_value(row.data),
    )


def _step(row: StepRow) -> Step:
    return Step(
        node_id=row.node_id,
        attempt=row.attempt,
        revision=row.revision,
        kind=row.kind,
        status=row.status,
        output=_value(row.output),
        fault=_fault(row.error_type, row.error_message),
        at_ms=row.at_ms,
    )


def _fault(type_: str, message: str) -> Fault | None:
    return Fault(type=type_, message=message) if type_ else None


def _origin(row: StimulusRow | DeadLetterRow) -> Origin:
    return Origin(channel=row.channel, topic=row.topic, partition=row.partition, offset=row.offset)


def _items(type_: type[T], text: str) -> tuple[T, ...]:
    """A stored JSON array; () where nothing is stored."""
    return tuple(from_wire(type_, each) for each in cast("list[object]", json.loads(text))) if text else ()


def _value(text: str) -> Json:
    """Stored JSON text as a value; None where nothing is stored."""
    return cast("Json", json.loads(text)) if text else None
