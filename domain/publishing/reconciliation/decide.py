"""Whether rows that were found wrong are restated: only where publication and slot are still as they were compared.

Why a repetition is harmless: the event restates what is so. Rows that were right stay as they are.
"""

from interlock.domain.decider import Change, Decision, Intent
from interlock.domain.messages import RepairProjection, Reply
from interlock.domain.publishing.reconciliation.called import Called, called_for
from interlock.domain.publishing.reconciliation.events import HOLDER_CHARACTERS_MAX, ProjectionRepaired
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.refusal import Refusal
from interlock.domain.reply import body


def repair(shard: PublishingShard, message: RepairProjection, now_ms: int) -> Decision | Refusal:
    """Restates the rows of a publication, from what publishing knows and not from what the message says."""
    called = called_for(shard, message.publication_id)
    if (called.standing, called.revision) != (message.standing, message.revision):
        return _moved(called, message)
    repaired = ProjectionRepaired(
        reconciliation_id=message.reconciliation_id,
        kind=message.kind,
        publication_id=called.publication_id,
        standing=called.standing,
        shell=called.shell,
        definition_id=called.definition_id,
        slot_id=called.slot_id,
        revision=called.revision,
        artifact_id=called.artifact_id,
        bindings=called.bindings,
        awaited=message.kind in called.awaited,
        deadline_ms=called.deadline_ms if message.kind in called.awaited else 0,
        holder=message.holder[:HOLDER_CHARACTERS_MAX],
        position=message.position,
        missing=message.missing,
        foreign=message.foreign,
        flipped=message.flipped,
        changed=message.changed,
        requested_by=message.requested_by,
        at_ms=now_ms,
    )
    told = body({"reconciliationId": message.reconciliation_id, "publicationId": called.publication_id})
    return Decision(
        (Change(f"reconciliation:{message.reconciliation_id}", repaired),),
        (Intent("replies", message.command_id, Reply(command_id=message.command_id, status="done", body=told)),),
    )


def _moved(called: Called, message: RepairProjection) -> Refusal:
    return Refusal(
        "state",
        f"Expected publication {called.publication_id} {message.standing} at revision {message.revision} of its slot, "
        f"as its rows were compared, found it {called.standing} at {called.revision}; it has moved since, and the next "
        "pass compares anew.",
        (("publicationId", called.publication_id), ("foundRevision", str(called.revision))),
    )
