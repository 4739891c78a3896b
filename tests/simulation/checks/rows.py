"""The views that are held equal a fold of the journals up to the same positions; and the trigger index equals what
authority says, by the judge's own model of it.

Rows that somebody has tampered with may differ until a pass over the rows has mended them, which is owed.

Rules: rows-differ, rows-ahead, view-falls, view-stopped, orphaned-row.
"""

import sqlite3
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from interlock.log.frame import Append
from interlock.log.port import Shard
from interlock.processors.ports import Codec
from interlock.projections.files import ViewFiles
from interlock.projections.rows import Key, MemoryRows, Value
from interlock.projections.sqlite_rows import select_all
from interlock.projections.store import read_marks, read_places
from interlock.projections.trigger_index.fold import VIEW as TRIGGER_INDEX
from interlock.projections.trigger_index.store import BINDINGS
from interlock.projections.view import View
from tests.simulation.checks import Violation
from tests.simulation.checks.authority import AuthorityCheck
from tests.simulation.checks.tape import Commit, Tapes


@dataclass(slots=True)
class _Copy:
    """One view, folded by the judge."""

    view: View
    rows: MemoryRows = field(default_factory=MemoryRows)
    positions: dict[Shard, int] = field(default_factory=dict[Shard, int])
    waiting: dict[Shard, deque[Append]] = field(default_factory=dict[Shard, deque[Append]])
    connection: sqlite3.Connection | None = None
    path: tuple[Path, int] | None = None
    """The file that is open, and its inode."""
    seen: int = -1
    """The version of the file's data that was compared last."""
    unmended: tuple[str, ...] = ()
    """The publications with rows that differed then, because somebody has tampered with them."""


class RowsCheck:
    """Every view."""

    def __init__(self, tapes: Tapes, authority: AuthorityCheck, views: tuple[View, ...], tampered: set[str]) -> None:
        """`tampered` as in `Seen`."""
        self.compared = 0
        """Comparisons of a view so far."""
        self._tapes = tapes
        self._authority = authority
        self._tampered = tampered
        self._copies = {view.name: _Copy(view) for view in views}
        self._visible: dict[int, dict[tuple[str, str], str]] = {0: {}}
        """Append of publishing → the bindings that there have to be behind it, with their states."""

    def take(self, commit: Commit) -> None:
        """Keeps an append for the views that need it."""
        for copy in self._copies.values():
            if commit.home[0] in copy.view.contexts:
                shard = self._tapes.journals[commit.home].shard
                copy.waiting.setdefault(shard, deque()).append(commit.append)
        if commit.home[0] == "publishing":
            self._visible[commit.number] = self._bindings()

    def compare(self, directory: Path) -> list[str]:
        """Compares every view that can be read, and says how far each is behind."""
        behind: list[str] = []
        for copy in self._copies.values():
            files = ViewFiles(directory, copy.view.name)
            generation = files.serving()
            if generation is None:
                behind.append(f"the view {copy.view.name} does not serve")
                continue
            connection = self._opened(copy, files.path(generation))
            # It counts what other connections have stored: as long as it stands, so do the rows.
            version = connection.execute("PRAGMA data_version").fetchone()[0]
            if copy.seen != version:
                connection.execute("BEGIN")
                try:
                    self._compare(copy, connection)
                finally:
                    connection.execute("ROLLBACK")
                copy.seen = version
            behind += self._behind(copy)
            behind += [f"rows of {one} in {copy.view.name} are not mended" for one in copy.unmended]
        return behind

    def close(self) -> None:
        """Closes the files."""
        for copy in self._copies.values():
            if copy.connection is not None:
                copy.connection.close()
                copy.connection = None

    def _opened(self, copy: _Copy, path: Path) -> sqlite3.Connection:
        """The copy that serves now."""
        inode = path.stat().st_ino
        if copy.connection is None or copy.path != (path, inode):
            if copy.connection is not None:
                copy.connection.close()
            copy.connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
            copy.path, copy.seen = (path, inode), -1
        return copy.connection

    def _behind(self, copy: _Copy) -> list[str]:
        return [
            f"the view {copy.view.name} is at append {copy.positions.get(tape.shard, 0)} of {len(tape.commits)} of "
            f"{tape.shard}"
            for home, tape in self._tapes.journals.items()
            if home[0] in copy.view.contexts and copy.positions.get(tape.shard, 0) < len(tape.commits)
        ]

    def _compare(self, copy: _Copy, connection: sqlite3.Connection) -> None:
        view, marks = copy.view, read_marks(connection)
        if marks.error:
            raise Violation("view-stopped", f"expected the view {view.name} to go on, found: {marks.error}")
        numbers = {shard: place.position.number for shard, place in read_places(connection).items()}
        if any(numbers.get(shard, 0) < number for shard, number in copy.positions.items()):
            if marks.filled:
                raise Violation(
                    "view-falls",
                    f"expected the view {view.name} at {copy.positions} or later, as it has served them and says that "
                    f"it is whole, found it at {numbers}",
                )
            self._again(copy)
        for shard, number in numbers.items():
            self._fold(copy, shard, number)
        unmended: list[str] = []
        for table in view.tables:
            stored, right = list(select_all(connection, table, ordered=False)), copy.rows.by_key(table)
            # One row a key, so that no row is hidden by another one.
            if len(stored) != len(right) or dict(zip(map(table.key_of, stored), stored, strict=True)) != right:
                lacking, surplus = _difference(stored, right)
                # All rows of the trigger index begin with their publication.
                publications = [str(row[0]) for row in (*lacking, *surplus)] if view is TRIGGER_INDEX else []
                if not publications or any(one not in self._tampered for one in publications):
                    raise Violation(
                        "rows-differ",
                        f"expected {lacking[:1]} in {table.name} of the view {view.name} at {numbers}, "
                        f"found {surplus[:1]}",
                    )
                unmended += publications
        copy.unmended = tuple(dict.fromkeys(unmended))
        if view is TRIGGER_INDEX:
            number = max(numbers.values(), default=0)
            there = {(row.publication_id, row.binding_id): row.state for row in copy.rows.by_key(BINDINGS).values()}
            if there != self._visible[number]:
                raise Violation(
                    "orphaned-row",
                    f"expected {self._visible[number]} behind append {number} of publishing, found {there}",
                )
        self.compared += 1

    def _fold(self, copy: _Copy, shard: Shard, number: int) -> None:
        waiting = copy.waiting.get(shard, deque())
        while copy.positions.get(shard, 0) < number:
            if not waiting:
                raise Violation(
                    "rows-ahead",
                    f"expected the view {copy.view.name} at append {copy.positions.get(shard, 0)} of {shard} at most, "
                    f"found {number}",
                )
            append = waiting.popleft()
            copy.view.fold(shard, append, self._codec, copy.rows)
            copy.positions[shard] = append.frame.number

    @property
    def _codec(self) -> Codec:
        return self._tapes.codec

    def _again(self, copy: _Copy) -> None:
        """The view was dropped, or its files are gone: from the beginning."""
        copy.rows, copy.positions = MemoryRows(), {}
        for home, tape in self._tapes.journals.items():
            if home[0] in copy.view.contexts:
                copy.waiting[tape.shard] = deque(commit.append for commit in tape.commits)

    def _bindings(self) -> dict[tuple[str, str], str]:
        states = {"staged": "prepared", "active": "active"}
        return {
            (key, binding.binding_id): states[life.status]
            for key, life in self._authority.lives.items()
            if life.staged is not None and life.status in states
            for binding in life.staged.bindings
        }


def _difference(
    stored: Sequence[tuple[Value, ...]], right: Mapping[Key, tuple[Value, ...]]
) -> tuple[list[tuple[Value, ...]], list[tuple[Value, ...]]]:
    """The rows that are not there, and those that should not be."""
    held, rows = set(stored), set(right.values())
    return [row for row in right.values() if row not in held], [row for row in stored if row not in rows]
