"""The copies of the trigger index that a process can see: the view in its data directory, and its own replica."""

import sqlite3
from collections.abc import Iterator

from interlock.domain.publishing.authority import HeldBinding
from interlock.domain.publishing.reconciliation.called import Called
from interlock.log.journal import START
from interlock.log.port import Shard
from interlock.processors.reconciler import CannotCompare, Held, gathered
from interlock.processors.replica import AuthorityReplica
from interlock.projections.compare import KeyedRow
from interlock.projections.reader import Snapshot, ViewReader, WarmingUp
from interlock.projections.trigger_index.fold import KIND, restated
from interlock.projections.trigger_index.offers import ROUTES, SCHEDULES, RouteRow, ScheduleRow
from interlock.projections.trigger_index.store import ASKS, BINDINGS, CANDIDATES, AskRow, BindingRow, CandidateRow


class ViewCopy:
    """The rows that the holder of the view keeps."""

    kind = KIND

    def __init__(self, reader: ViewReader, journal: Shard, name: str) -> None:
        self.name = name
        self._reader = reader
        self._journal = journal

    async def held(self) -> Held:
        """Its rows at one moment. Raises `CannotCompare`."""
        try:
            with self._reader.snapshot() as snapshot:
                if snapshot.marks.error:
                    # What it doesn't fold doesn't mend it.
                    raise CannotCompare("stopped", snapshot.marks.error)
                position = snapshot.positions().get(self._journal, START).number
                return Held(position, await gathered(_rows_of(snapshot)))
        except WarmingUp as error:
            raise CannotCompare("warming up", str(error)) from error
        except sqlite3.Error as error:
            raise CannotCompare("stopped", f"the file can't be read: {error}") from error

    def called(self, called: Called) -> list[KeyedRow]:
        """The rows that it should have of a publication."""
        candidate, triggers, ask = restated(called, awaited=KIND in called.awaited)
        rows = [_trigger("bindings", row) for row in triggers.bindings]
        rows += [_trigger("routes", row) for row in triggers.routes]
        rows += [_trigger("schedules", row) for row in triggers.schedules]
        rows += [_candidate(candidate)] if candidate else []
        rows += [_ask(ask)] if ask else []
        return sorted(rows)


class ReplicaCopy:
    """What this process decides by."""

    kind = KIND

    def __init__(self, replica: AuthorityReplica, name: str) -> None:
        self.name = name
        self._replica = replica

    async def held(self) -> Held:
        """Its bindings at one moment. Raises `CannotCompare`."""
        if self._replica.fault is not None:
            raise CannotCompare("stopped", self._replica.fault)
        if not self._replica.warm:
            raise CannotCompare("warming up", "it has not folded yet what was there when it began")
        position, held = self._replica.position, self._replica.authority.held()
        return Held(position, await gathered((each.binding.publication_id, _held_row(each)) for each in held))

    def called(self, called: Called) -> list[KeyedRow]:
        """The bindings that it should have of a publication."""
        triggers = restated(called, awaited=False).triggers
        return sorted(_replica_row(row) for row in triggers.bindings)


def _rows_of(snapshot: Snapshot) -> Iterator[tuple[str, KeyedRow]]:
    for binding in snapshot.each(BINDINGS):
        yield binding.publication_id, _trigger("bindings", binding)
    for route in snapshot.each(ROUTES):
        yield route.publication_id, _trigger("routes", route)
    for schedule in snapshot.each(SCHEDULES):
        yield schedule.publication_id, _trigger("schedules", schedule)
    for candidate in snapshot.each(CANDIDATES):
        yield candidate.publication_id, _candidate(candidate)
    for ask in snapshot.each(ASKS):
        yield ask.publication_id, _ask(ask)


def _trigger(table: str, row: BindingRow | RouteRow | ScheduleRow) -> KeyedRow:
    return KeyedRow((table, row.binding_id), (row.state, *row._replace(state="prepared")))


def _candidate(row: CandidateRow) -> KeyedRow:
    return KeyedRow(("candidates", row.publication_id), ("", *row))


def _ask(row: AskRow) -> KeyedRow:
    return KeyedRow(("asks", row.kind), ("", *row))


def _replica_row(row: BindingRow) -> KeyedRow:
    """A binding as a replica should hold it: found under shell and identity where it is visible, and nowhere else."""
    where = (row.shell, row.identity) if row.state == "active" else ("", "")
    rest = (row.publication_id, row.node_id, row.type, row.name, row.identity, row.cardinality, row.claim)
    return KeyedRow(("bindings", row.binding_id), (f"{row.state} {where}", row.slot_id, row.artifact_id, *rest))


def _held_row(held: HeldBinding) -> KeyedRow:
    one = held.binding
    rest = (one.publication_id, one.node_id, one.type, one.name, one.identity, one.cardinality, one.claim)
    visibility = f"{held.state} {(held.shell, held.identity)}"
    return KeyedRow(("bindings", one.binding_id), (visibility, one.slot_id, one.artifact_id, *rest))
