"""Questions to the history."""

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Protocol, cast

from interlock.projections.history.store import COUNTS, EVENTS, EventRow
from interlock.projections.reader import ViewReader
from interlock.projections.recorded import Codec, UnreadableEvent

EVENTS_MAX = 1_000
"""The most events of one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """An event of an aggregate, readable."""

    stream: str
    revision: int
    type: str
    """Context and name, such as "executions.TimerSet"."""
    time_ms: int
    """When it was decided, by the writer's clock."""
    causation: str
    """What it was decided for."""
    correlation: str
    """What it goes back to."""
    actor: str
    """Who asked."""
    owner: str
    """The ownership that wrote it."""
    partition: int
    """The shard of its context's journal."""
    number: int
    """The append that carries it."""
    position: int
    """Its place among the events of that shard."""
    data: str
    """The event's fields as a JSON object."""


class History(Protocol):
    """What may be asked; each answer is of one moment. Every question may raise `WarmingUp`, and `history`
    `UnreadableEvent` where a newer release wrote one of the events."""

    def history(self, stream: str, *, above: int = 0, limit: int = EVENTS_MAX) -> tuple[HistoryEntry, ...]:
        """The events of an aggregate above a revision, in the order of their revisions; () if there is none such.

        Fewer than `limit` where there is no more, or where they are too much for a page (`paging.PAGE_BYTES_MAX`).
        """
        ...

    def counts(self) -> dict[str, int]:
        """How many events there are of each type."""
        ...


class SqliteHistory:
    """Answers from the view's file; implements `History`."""

    def __init__(self, reader: ViewReader, codec: Codec) -> None:
        self._reader = reader
        self._codec = codec

    def history(self, stream: str, *, above: int = 0, limit: int = EVENTS_MAX) -> tuple[HistoryEntry, ...]:
        """The events of an aggregate above a revision, in the order of their revisions; () if there is none such."""
        where = "stream = ? AND revision > ? ORDER BY revision, position LIMIT ?"
        with self._reader.snapshot() as snapshot:
            rows = snapshot.page(EVENTS, where, (stream, above, min(limit, EVENTS_MAX)))
            if not rows:
                snapshot.require_caught_up()
        return tuple(self._entry(row) for row in rows)

    def counts(self) -> dict[str, int]:
        """How many events there are of each type."""
        with self._reader.snapshot() as snapshot:
            return {row.type: row.events for row in snapshot.select(COUNTS, "1 ORDER BY type")}

    def _entry(self, row: EventRow) -> HistoryEntry:
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
            data=to_json(self._event(row)),
        )

    def _event(self, row: EventRow) -> object:
        try:
            return self._codec.decode(row.value)
        except Exception as error:
            raise UnreadableEvent(
                f"expected revision {row.revision} of {row.stream} to be an event that this release can read, found "
                f"{row.type}: {error}; run a release that knows it"
            ) from error


def to_json(event: object) -> str:
    """The fields of an event as a JSON object, in the order in which the event declares them."""
    # An event is a dataclass whichever it is; whatever else were decoded here would have no fields to show.
    return json.dumps(dataclasses.asdict(cast(Any, event)), ensure_ascii=False)
