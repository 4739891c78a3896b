"""Answers about the history of aggregates and about the views themselves."""

from dataclasses import dataclass
from typing import Literal

from interlock.sdk.types.common import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """An event of an aggregate."""

    stream: str
    revision: int
    type: str
    time_ms: int
    causation: str
    correlation: str
    actor: str
    owner: str
    """The ownership that wrote it."""
    partition: int
    number: int
    """The append that carries it."""
    position: int
    """Its place among the events of its shard."""
    data: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPosition:
    """How far a view is in one shard of a journal."""

    topic: str
    partition: int
    number: int
    """The last append that is in the rows."""
    offset: int
    """Where that append begins in the log."""
    end: int | None
    """The offset at which the log ends; None where it can't be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """A rebuild of a view from the journals alone, as it was asked for."""

    rebuild_id: str
    view: str
    state: Literal["requested", "running", "done", "failed"]
    """requested: no projector has taken it up yet."""
    requested_at_ms: int
    ended_at_ms: int | None = None
    appends_done: int = 0
    appends_total: int = 0
    """As many as the serving copy holds; it may grow while events come."""
    compare: bool = False
    """Whether digests of the rows before and after are taken where they swap."""
    replaced_digest: str = ""
    rebuilt_digest: str = ""
    message: str = ""
    """Why it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferingRow:
    """A row that is not as the journals say."""

    table: str
    kind: Literal["missing", "foreign", "changed"]
    """missing: the view lacks it · foreign: the journals don't give it · changed: it says something else."""
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Every row of a view is compared with a fresh fold of the journals, at the same appends; nothing is changed."""

    verify_id: str
    view: str
    state: Literal["requested", "running", "done", "failed"]
    """requested: no projector has taken it up yet."""
    requested_at_ms: int
    ended_at_ms: int | None = None
    appends_done: int = 0
    appends_total: int = 0
    """As many as the view holds; it may grow while events come."""
    rows: int = 0
    """Rows that were compared."""
    missing: int = 0
    foreign: int = 0
    changed: int = 0
    samples: tuple[DifferingRow, ...] = ()
    """Some of the rows that differ, of each kind."""
    message: str = ""
    """Why it failed."""

    @property
    def differs(self) -> bool:
        """Whether any row does."""
        return bool(self.missing or self.foreign or self.changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewDrift:
    """How often rows of a view were not as the slots call for; `repairs list` tells each."""

    repairs: int
    """Publications whose rows were stated anew."""
    rows: int
    """Rows that were wrong."""
    last_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewStatus:
    """How a view is."""

    view: str
    state: Literal["warming up", "live", "stopped", "absent"]
    """warming up: "not found" is not said yet · stopped: it needs an operator · absent: never filled here."""
    lag: int | None
    """Records of its journals, from the first append that counts and isn't in its rows to the end; None where one
    can't be asked."""
    lag_ms: int | None
    """How many milliseconds ago the oldest of those records was written, by the log's clock; 0 where there is none,
    None where it can't be asked."""
    held_here: bool
    """Whether the process that answers projects it."""
    waiting_for: str
    """What passes by itself; "" if nothing, or if another process projects it."""
    error: str
    """Why it has stopped, and what to do."""
    shards: tuple[ShardPosition, ...]
    rebuild: Rebuild | None
    """The last one that was asked for."""
    drift: ViewDrift | None = None
    """None where its rows were never found wrong, or are compared with nothing."""
    verification: Verification | None = None
    """The last one that was asked for."""
    mark: str = ""
    """Given as `seen` with `wait`, the next answer comes once something is different."""
