"""What reconciliation has repaired: its rows, how they are folded, and questions to them."""

from typing import NamedTuple, Protocol

from interlock.domain.publishing.reconciliation.events import ProjectionRepaired, Standing
from interlock.projections.paging import Cursor, Filter
from interlock.projections.reader import ViewReader
from interlock.projections.rows import Rows, Table


class RepairRow(NamedTuple):
    """The rows of a publication in a view were otherwise than its slot calls for, and were restated (PRJ-05)."""

    repair_id: str
    """The reconciliation and its revision; repairs of one pass in their order."""
    reconciliation_id: str
    publication_id: str
    kind: str
    """The view."""
    holder: str
    """Whose rows they were."""
    shell: str
    definition_id: str
    slot_id: str
    revision: int
    """The slot's revision."""
    standing: Standing
    """What its slot calls for."""
    position: int
    """The append of the publishing journal at which rows and slot were compared."""
    missing_rows: int
    foreign_rows: int
    flipped_rows: int
    changed_rows: int
    requested_by: str
    at_ms: int


class DriftRow(NamedTuple):
    """How many rows of a view were found wrong, ever."""

    kind: str
    repairs: int
    """Publications whose rows were restated."""
    wrong_rows: int
    last_at_ms: int


REPAIRS = Table("repairs", RepairRow, ("repair_id",), indexes=(("at_ms", "repair_id"),))
DRIFT = Table("drift", DriftRow, ("kind",))


def fold_repair(event: ProjectionRepaired, revision: int, rows: Rows) -> None:
    """Folds one event of a reconciliation, which has this revision there."""
    row = RepairRow(
        repair_id=f"{event.reconciliation_id}-{revision:08}",
        reconciliation_id=event.reconciliation_id,
        publication_id=event.publication_id,
        kind=event.kind,
        holder=event.holder,
        shell=event.shell,
        definition_id=event.definition_id,
        slot_id=event.slot_id,
        revision=event.revision,
        standing=event.standing,
        position=event.position,
        missing_rows=event.missing,
        foreign_rows=event.foreign,
        flipped_rows=event.flipped,
        changed_rows=event.changed,
        requested_by=event.requested_by,
        at_ms=event.at_ms,
    )
    rows.put(REPAIRS, row)
    before = rows.get(DRIFT, event.kind)
    wrong = event.missing + event.foreign + event.flipped + event.changed
    drift = DriftRow(
        kind=event.kind,
        repairs=1 + (before.repairs if before else 0),
        wrong_rows=wrong + (before.wrong_rows if before else 0),
        last_at_ms=event.at_ms,
    )
    rows.put(DRIFT, drift)


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
            return tuple(snapshot.page(REPAIRS, chosen.rest, chosen.values))

    def drift(self) -> dict[str, DriftRow]:
        """View → how many of its rows were found wrong, ever."""
        with self._reader.snapshot() as snapshot:
            return {row.kind: row for row in snapshot.select(DRIFT, "1")}
