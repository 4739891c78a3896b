"""How all journals become the history: an event is kept as it was recorded, undecoded, so that nothing is lost."""

from typing import Final

from interlock.log.port import Shard
from interlock.projections.history.store import COUNTS, EVENTS, TABLES, CountRow, EventRow
from interlock.projections.recorded import Envelope
from interlock.projections.rows import Rows
from interlock.projections.view import View, each_envelope


def fold(shard: Shard, envelope: Envelope, rows: Rows) -> None:
    """Folds one event of any journal."""
    type_ = envelope.type
    row = EventRow(
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
    rows.put(EVENTS, row)
    count = rows.get(COUNTS, type_)
    rows.put(COUNTS, CountRow(type=type_, events=1 if count is None else count.events + 1))


VIEW: Final = View(
    name="history",
    contexts=("publishing", "routing", "executions"),
    tables=TABLES,
    fold=each_envelope(fold),
    version=1,
)
