"""The rows of the history. An event is identified by its place in its journal, which is never used twice."""

from typing import NamedTuple

from interlock.projections.rows import Table


class EventRow(NamedTuple):
    """An event of an aggregate."""

    context: str
    """Whose journal it is in, such as "executions"."""
    partition: int
    position: int
    """Its place among the events of that shard that count, from 1."""
    stream: str
    revision: int
    type: str
    """Context and name, such as "executions.TimerSet"."""
    time_ms: int
    causation: str
    correlation: str
    actor: str
    owner: str
    """The ownership that wrote it."""
    number: int
    """The append that carries it."""
    value: bytes
    """The event as it was recorded; decoded when it is asked for."""


class CountRow(NamedTuple):
    """How many events there are of one type."""

    type: str
    events: int


EVENTS = Table("events", EventRow, ("context", "partition", "position"), indexes=(("stream", "revision"),))
COUNTS = Table("counts", CountRow, ("type",), reread=True)
TABLES = (EVENTS, COUNTS)
