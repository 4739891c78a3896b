"""Questions to what reconciliation has repaired."""

from typing import Protocol

from interlock.projections.paging import Cursor, Filter
from interlock.projections.reader import ViewReader
from interlock.projections.slots.store import DRIFT, REPAIRS, DriftRow, RepairRow


class Repairs(Protocol):
    """What may be asked; each answer is of one moment. Every question may raise `WarmingUp`."""

    def repairs(self, *, after: Cursor | None, limit: int) -> tuple[RepairRow, ...]:
        """Repairs, the newest first; `after` is the cursor of the last one that is known."""
        ...

    def drift(self) -> dict[str, DriftRow]:
        """View → how many of its rows were found wrong, ever; views of which none was are left out."""
        ...


def cursor_of(repair: RepairRow) -> Cursor:
    """Where a list goes on behind this repair."""
    return repair.at_ms, repair.repair_id


class SqliteRepairs:
    """Answers from the file of the view `slots`; implements `Repairs`."""

    def __init__(self, reader: ViewReader) -> None:
        self._reader = reader

    def repairs(self, *, after: Cursor | None, limit: int) -> tuple[RepairRow, ...]:
        """Repairs, the newest first."""
        chosen = Filter().newest_first("at_ms", "repair_id", after, limit)
        with self._reader.snapshot() as snapshot:
            return tuple(snapshot.select(REPAIRS, chosen.rest, chosen.values))

    def drift(self) -> dict[str, DriftRow]:
        """View → how many of its rows were found wrong, ever."""
        with self._reader.snapshot() as snapshot:
            return {row.kind: row for row in snapshot.select(DRIFT, "1")}
