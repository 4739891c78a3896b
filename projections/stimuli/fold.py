"""How the routing journal becomes stimuli and dead letters.

A stimulus belongs to one routing shard for ever, and so do all its rows. What waits there are is the routing shard's
own business; of them only what a stimulus took is kept here.
"""

from typing import Final

from interlock.domain.routing.dead_letter.events import StimulusRejected
from interlock.domain.routing.stimulus.events import (
    StimulusExpired,
    StimulusMatched,
    StimulusReturned,
    StimulusRouted,
)
from interlock.domain.routing.wait.events import WaitRegistered, WaitTaken, WaitWithdrawn
from interlock.projections.recorded import Recorded
from interlock.projections.rows import Rows
from interlock.projections.stimuli.store import (
    DEAD_LETTERS,
    RESUMES,
    STARTS,
    STIMULI,
    TABLES,
    DeadLetterRow,
    Outcome,
    ResumeRow,
    StartRow,
    StimulusRow,
)
from interlock.projections.view import View, each_event, missing, unknown


def fold(recorded: Recorded, rows: Rows) -> None:
    """Folds one event of the routing journal."""
    match recorded.event:
        case StimulusRouted() as event:
            _route(event, rows)
        case StimulusMatched() as event:
            resume = ResumeRow(
                stimulus_id=event.stimulus_id,
                execution_id=event.execution_id,
                bookmark_id=event.bookmark_id,
                late=1,
                declined=0,
            )
            rows.put(RESUMES, resume)
            _put_with_outcome(_known(event.stimulus_id, rows), rows)
        case StimulusReturned() as event:
            taken = rows.get(RESUMES, event.stimulus_id, event.execution_id, event.bookmark_id)
            if taken is None:
                raise missing(f"the resume of {event.execution_id} by stimulus {event.stimulus_id}")
            rows.put(RESUMES, taken._replace(declined=1))
            _put_with_outcome(_known(event.stimulus_id, rows), rows)
        case StimulusExpired() as event:
            _put_with_outcome(_known(event.stimulus_id, rows)._replace(expired_at_ms=event.at_ms), rows)
        case StimulusRejected() as event:
            rows.put(DEAD_LETTERS, _rejected(event))
        case WaitRegistered() | WaitTaken() | WaitWithdrawn():
            pass
        case event:
            raise unknown(event)


def _route(event: StimulusRouted, rows: Rows) -> None:
    for started in event.starts:
        start = StartRow(
            stimulus_id=event.stimulus_id,
            binding_id=started.binding_id,
            execution_id=started.execution_id,
            publication_id=started.publication_id,
        )
        rows.put(STARTS, start)
    for resumed in event.resumes:
        resume = ResumeRow(
            stimulus_id=event.stimulus_id,
            execution_id=resumed.execution_id,
            bookmark_id=resumed.bookmark_id,
            late=0,
            declined=0,
        )
        rows.put(RESUMES, resume)
    rows.put(STIMULI, _routed(event))


def _routed(event: StimulusRouted) -> StimulusRow:
    return StimulusRow(
        stimulus_id=event.stimulus_id,
        shell=event.shell,
        type=event.type,
        name=event.name,
        identity=event.identity,
        correlation=event.correlation,
        idempotency_key=event.idempotency_key,
        data=event.data,
        arrived_at_ms=event.arrived_at_ms,
        kept_until_ms=event.kept_until_ms,
        deliver=event.deliver,
        outcome=_outcome(bool(event.starts), bool(event.resumes), event.kept_until_ms, None),
        expired_at_ms=None,
        past_horizon=int(event.past_horizon),
        channel=event.origin.channel,
        topic=event.origin.topic,
        partition=event.origin.partition,
        offset=event.origin.offset,
    )


def _put_with_outcome(row: StimulusRow, rows: Rows) -> None:
    started = bool(rows.under(STARTS, row.stimulus_id))
    resumed = any(not resume.declined for resume in rows.under(RESUMES, row.stimulus_id))
    rows.put(STIMULI, row._replace(outcome=_outcome(started, resumed, row.kept_until_ms, row.expired_at_ms)))


def _outcome(started: bool, resumed: bool, kept_until_ms: int | None, expired_at_ms: int | None) -> Outcome:
    if started:
        return "started"
    if resumed:
        return "resumed"
    if expired_at_ms is not None:
        return "expired"
    return "unmatched" if kept_until_ms is None else "kept"


def _known(stimulus_id: str, rows: Rows) -> StimulusRow:
    row = rows.get(STIMULI, stimulus_id)
    if row is None:
        raise missing(f"stimulus {stimulus_id}")
    return row


def _rejected(event: StimulusRejected) -> DeadLetterRow:
    return DeadLetterRow(
        dead_letter_id=event.dead_letter_id,
        shell=event.shell,
        reason=event.reason,
        detail=event.detail,
        excerpt=event.excerpt,
        size=event.size,
        rejected_at_ms=event.rejected_at_ms,
        channel=event.origin.channel,
        topic=event.origin.topic,
        partition=event.origin.partition,
        offset=event.origin.offset,
    )


VIEW: Final = View(name="stimuli", contexts=("routing",), tables=TABLES, fold=each_event(fold), version=1)
