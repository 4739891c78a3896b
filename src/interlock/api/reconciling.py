"""Reconciliation: one pass now, and what passes have repaired.

A pass sees the copies that this process can see: the view in its data directory, and the replica of this process. Each
process that routes compares its own by itself (`interlock.processors.reconciler`).
"""

from collections.abc import Sequence

from starlette.requests import Request

from interlock.api.bodies import ReconcileBody, read_object
from interlock.api.context import Context
from interlock.api.endpoint import Answer
from interlock.api.paging import PageRequest, page_of, page_request
from interlock.processors.reconciler import Compared, Finding
from interlock.projections.slots.repairs import RepairRow, cursor_of
from interlock.sdk.types import ComparedCopy, Drifted, Page, Reconciled, Repair

VIEW = "slots"


async def reconcile(context: Context, request: Request) -> Answer[Reconciled]:
    """Compares the trigger index with what the slots call for, and has repaired what differs; only compares with
    `dryRun`.

    What only lags is told and left alone.
    """
    body = ReconcileBody.model_validate(await read_object(request))
    reconciler = context.engine.reconciler
    assert reconciler is not None, "expected a process with the role api to be able to reconcile"
    sweep = await reconciler.sweep(repair=not body.dry_run, requested_by=body.requested_by)
    return Answer(
        200,
        Reconciled(
            reconciliation_id=sweep.reconciliation_id,
            dry_run=body.dry_run,
            rows=sweep.rows,
            copies=tuple(map(_copy, sweep.copies)),
            drifted=tuple(map(_drifted, sweep.findings)),
        ),
    )


async def repairs(context: Context, request: Request) -> Answer[Page[Repair]]:
    """What reconciliation has repaired, the newest first."""

    def look(part: PageRequest) -> Sequence[RepairRow]:
        return context.queries.repairs.repairs(after=part.after, limit=part.limit)

    return await page_of(context, VIEW, page_request(request), look, _repair, cursor_of)


def _copy(one: Compared) -> ComparedCopy:
    return ComparedCopy(
        holder=one.holder,
        view=one.kind,
        state=one.state,
        position=one.position,
        publications=one.publications,
        rows=one.rows,
        why=one.why,
    )


def _drifted(one: Finding) -> Drifted:
    return Drifted(
        holder=one.holder,
        view=one.kind,
        publication_id=one.publication_id,
        definition_id=one.definition_id,
        slot_id=one.slot_id,
        standing=one.standing,
        revision=one.revision,
        position=one.position,
        missing=one.missing,
        foreign=one.foreign,
        flipped=one.flipped,
        changed=one.changed,
        outcome=one.outcome,
        why=one.why,
    )


def _repair(row: RepairRow) -> Repair:
    return Repair(
        reconciliation_id=row.reconciliation_id,
        publication_id=row.publication_id,
        view=row.kind,
        holder=row.holder,
        definition_id=row.definition_id,
        slot_id=row.slot_id,
        revision=row.revision,
        standing=row.standing,
        position=row.position,
        missing=row.missing_rows,
        foreign=row.foreign_rows,
        flipped=row.flipped_rows,
        changed=row.changed_rows,
        requested_by=row.requested_by,
        at_ms=row.at_ms,
    )
