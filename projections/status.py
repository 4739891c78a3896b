"""How a view is, and how a rebuild ended, for those who ask (PRJ-08)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from interlock.log.journal import Position
from interlock.log.port import Shard
from interlock.projections.compare import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardStatus:
    """How far a view is in one shard."""

    shard: Shard
    position: Position
    """The last append that is in the rows."""
    end: int | None
    """The offset at which the log ends; None where it can't be asked."""
    lag: int | None
    """Records between the rows and that end; void ones count until they were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a rebuild is."""

    appends_done: int
    appends_total: int
    """As many as the serving copy holds; more while it stands still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How a view is (PRJ-08)."""

    view: str
    state: Literal["warming up", "live", "stopped"]
    """warming up: it has not reached the end that it saw at its start; "not found" is not said yet."""
    generation: int
    """Which copy serves; one more with each rebuild or drop."""
    shards: tuple[ShardStatus, ...]
    lag: int | None
    """Over all shards; None where one is unknown."""
    waiting_for: str
    """What passes by itself, such as a log that can't be reached; "" if nothing."""
    error: str
    """Why it has stopped, and what to do; "" if it hasn't."""
    rebuild: Progress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """A rebuild that has ended with a swap."""

    positions: Mapping[Shard, Position]
    """Where it swapped; where the serving copy had not stopped, both were exactly there."""
    replaced_digest: str
    """Over the rows that served before; "" where it wasn't asked for."""
    rebuilt_digest: str
    """Over the rows that serve now; "" where it wasn't asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVerified:
    """How the rows of one table compare with a fresh fold."""

    name: str
    rows: int
    """Rows that were compared, of either side."""
    differ: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """Every row of a view was compared with a fresh fold of the journals; nothing was changed."""

    positions: Mapping[Shard, Position]
    """Where both were, exactly."""
    tables: tuple[TableVerified, ...]

    @property
    def differs(self) -> bool:
        """Whether any row does."""
        return any(table.differ.rows for table in self.tables)
