"""Questions to the history."""

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Protocol, cast

from interlock.projections.history.states import JsonState, require_known, state_of
from interlock.projections.history.store import COUNTS, EVENTS, EventRow
from interlock.projections.reader import Snapshot, ViewReader
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """An aggregate as of one of its events."""

    stream: str
    revision: int
    """Of the last event that is folded."""
    type: str
    """Its type, as "publishing.PublicationActivated"."""
    time_ms: int
    """When it was decided."""
    last_revision: int
    """Of the last event that there is now."""
    state: JsonState


class History(Protocol):
    """What may be asked; each answer is of one moment. Every question may raise `WarmingUp`, and `history`
    `UnreadableEvent` where a newer release wrote one of the events."""

    def history(self, stream: str, *, above: int = 0, limit: int = EVENTS_MAX) -> tuple[HistoryEntry, ...]:
        """The events of an aggregate above a revision, in the order of their revisions; () if there is none such.

        Fewer than `limit` where there is no more, or where they are too much for a page (`paging.PAGE_BYTES_MAX`).
        """
        ...

    def as_of(self, stream: str, *, revision: int | None = None, time_ms: int | None = None) -> AsOf | None:
        """The state of an aggregate as of a revision, or as of an instant, or now; None where it has no event up to
        there. Raises `UnknownKind` too."""
        ...

    def newest(self, *streams: str, limit: int = EVENTS_MAX) -> tuple[tuple[HistoryEntry, ...], ...]:
        """The newest events of several aggregates, all of one moment, in the order of their revisions."""
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

    def as_of(self, stream: str, *, revision: int | None = None, time_ms: int | None = None) -> AsOf | None:
        """The state of an aggregate as of a revision, or as of an instant, or now; None where it has no event yet."""
        require_known(stream)
        with self._reader.snapshot() as snapshot:
            rows = self._up_to(snapshot, stream, revision, time_ms)
            if not rows:
                snapshot.require_caught_up()
                return None
            newest = snapshot.select(EVENTS, "stream = ? ORDER BY revision DESC LIMIT 1", (stream,))
        last = rows[-1]
        return AsOf(
            stream=stream,
            revision=last.revision,
            type=last.type,
            time_ms=last.time_ms,
            last_revision=newest[0].revision,
            state=state_of(stream, [self._event(row) for row in rows]),
        )

    def _up_to(self, snapshot: Snapshot, stream: str, revision: int | None, time_ms: int | None) -> list[EventRow]:
        upper = 2**62 if revision is None else revision
        rows = snapshot.select(EVENTS, "stream = ? AND revision <= ? ORDER BY revision", (stream, upper))
        # The clocks of two owners may differ; what was decided later is never part of what was before.
        count = next((at for at, row in enumerate(rows) if time_ms is not None and row.time_ms > time_ms), len(rows))
        return rows[:count]

    def newest(self, *streams: str, limit: int = EVENTS_MAX) -> tuple[tuple[HistoryEntry, ...], ...]:
        """The newest events of several aggregates, all of one moment, in the order of their revisions."""
        where = "stream = ? ORDER BY revision DESC LIMIT ?"
        with self._reader.snapshot() as snapshot:
            found = [snapshot.select(EVENTS, where, (stream, min(limit, EVENTS_MAX))) for stream in streams]
        return tuple(tuple(self._entry(row) for row in reversed(rows)) for rows in found)

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
