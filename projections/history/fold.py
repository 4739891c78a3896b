"""How all journals become the history: an event is kept as it was recorded, undecoded, so that nothing is lost."""

from collections import Counter
from typing import Final

from interlock.log.frame import Append
from interlock.log.port import Shard
from interlock.projections.history.store import COUNTS, EVENTS, TABLES, CountRow, EventRow
from interlock.projections.recorded import Envelope, envelopes
from interlock.projections.rows import Rows
from interlock.projections.view import View, whole_append


def fold(shard: Shard, append: Append, rows: Rows) -> None:
    """Folds an append of any journal."""
    counts: Counter[str] = Counter()
    for envelope in envelopes(append):
        row = _row(shard, envelope)
        rows.put(EVENTS, row)
        counts[row.type] += 1
    for type_, events in counts.items():
        before = rows.get(COUNTS, type_)
        rows.put(COUNTS, CountRow(type=type_, events=events if before is None else before.events + events))


def _row(shard: Shard, envelope: Envelope) -> EventRow:
    type_ = envelope.type
    return EventRow(
        context=type_.partition(".")[0],
        partition=shard.partition,
        position=envelope.position,
        stream=envelope.stream,
        revision=envelope.revision,
        type=type_,
        time_ms=envelope.time_ms,
        causation=envelope.causation,
        correlation=envelope.correlation,
        actor=envelope.actor,
        owner=envelope.owner,
        number=envelope.number,
        value=envelope.value,
    )


VIEW: Final = View(
    name="history",
    contexts=("publishing", "routing", "executions"),
    tables=TABLES,
    fold=whole_append(fold),
    version=1,
)
