"""Questions to a view, from any process: read-only, and always to the copy that serves.

Always true: everything that is read within one `snapshot` is from one transaction of the projector, so nobody sees
half of an append (PRJ-04); and the copy was the serving one when the snapshot began, whichever swap came since.

A view that was never filled answers nothing at all, and one that is catching up after a start never says "not found":
both raise `WarmingUp` (PRJ-09).
"""

import asyncio
import sqlite3
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from interlock.log.journal import START, Position
from interlock.log.port import Shard
from interlock.projections.files import ViewFiles
from interlock.projections.paging import PAGE_BYTES_MAX, row_bytes
from interlock.projections.rows import R, Table, Value
from interlock.projections.store import Marks, read_marks, read_places
from interlock.projections.view import View

POLL_FIRST_S = 0.002
POLL_MAX_S = 0.05
"""How often another process's view is looked at by somebody who waits for it."""
BUSY_MS = 2_000
REOPENED_MAX = 5
"""Swaps in a row that a reader follows before it gives up; a swap takes seconds at least."""


class WarmingUp(Exception):
    """The view can't answer truthfully yet; the same question may be asked again soon (HTTP: 503)."""


class FillingStopped(WarmingUp):
    """The view stopped before it was filled, so it won't answer before somebody acts; the message says why."""


class Snapshot:
    """One moment of a view."""

    def __init__(self, view: View, connection: sqlite3.Connection, marks: Marks) -> None:
        self.marks = marks
        self._view = view
        self._connection = connection

    def get(self, table: Table[R], *key: str | int) -> R | None:
        """The row with this key, or None if there is none; raises `WarmingUp` where that can't be said yet."""
        where = " AND ".join(f"{name} = ?" for name in table.key)
        found = self.select(table, where, key)
        if not found:
            self.require_caught_up()
            return None
        return found[0]

    def require_caught_up(self) -> None:
        """To be called before "not found" is said. Raises `WarmingUp` where the view can't say so."""
        if self.marks.error or not self.marks.caught_up:
            raise WarmingUp(
                f"expected the view {self._view.name!r} to have caught up, found it "
                f"{self.marks.error or 'warming up'}; ask again later"
            )

    def select(self, table: Table[R], rest: str, values: tuple[Value, ...] = ()) -> list[R]:
        """The rows for which `rest` holds: what follows WHERE in SQL, the order included."""
        found = self._connection.execute(f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE {rest}", values)
        return [table.row_of(each) for each in found]

    def each(self, table: Table[R]) -> Iterator[R]:
        """All rows, read one by one while the snapshot is open."""
        for values in self._connection.execute(f"SELECT {', '.join(table.columns)} FROM {table.name}"):
            yield table.row_of(values)

    def page(self, table: Table[R], rest: str, values: tuple[Value, ...] = ()) -> list[R]:
        """As `select`, but it ends with the row that is too much for a page (`paging.goes_on` tells)."""
        found = self._connection.execute(f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE {rest}", values)
        rows: list[R] = []
        size = 0
        for each in found:
            rows.append(table.row_of(each))
            size += row_bytes(each)
            if size > PAGE_BYTES_MAX:
                break
        found.close()
        return rows

    def count(self, table: Table[R], by: str, rest: str, values: tuple[Value, ...] = ()) -> dict[str, int]:
        """How many rows for which `rest` holds have each value of the column `by`; scans them."""
        found = self._connection.execute(
            f"SELECT {by}, COUNT(*) FROM {table.name} WHERE {rest} GROUP BY {by} ORDER BY {by}", values
        )
        return dict(found.fetchall())

    def positions(self) -> dict[Shard, Position]:
        """How far the rows are, for each shard that anything came from."""
        return {shard: place.position for shard, place in read_places(self._connection).items()}


class ViewReader:
    """A view's rows for those who ask; safe for several threads, which take turns."""

    def __init__(self, directory: Path, view: View) -> None:
        """Opens nothing yet; `directory` is the one that the projector writes to."""
        self.view = view
        self._files = ViewFiles(directory, view.name)
        self._lock = threading.Lock()
        self._generation: int | None = None
        self._connection: sqlite3.Connection | None = None

    @contextmanager
    def snapshot(self) -> Generator[Snapshot, None, None]:
        """The view as it is now. Raises `WarmingUp`."""
        with self._lock:
            connection, marks = self._begin()
            try:
                yield Snapshot(self.view, connection, marks)
            finally:
                connection.execute("ROLLBACK")

    async def reached(self, numbers: Mapping[Shard, int], timeout_s: float) -> bool:
        """Waits until the rows hold these appends; False if that takes longer (read your own writes, PRJ-08)."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        wait_s = POLL_FIRST_S
        while not self._holds(numbers):
            remaining_s = deadline - loop.time()
            if remaining_s <= 0:
                return False
            await asyncio.sleep(min(wait_s, remaining_s))
            wait_s = min(2 * wait_s, POLL_MAX_S)
        return True

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._close()

    def _holds(self, numbers: Mapping[Shard, int]) -> bool:
        try:
            with self.snapshot() as snapshot:
                positions = snapshot.positions()
        except WarmingUp:
            return False
        return all(positions.get(shard, START).number >= number for shard, number in numbers.items())

    def _begin(self) -> tuple[sqlite3.Connection, Marks]:
        """A connection within a transaction whose moment is fixed, on the copy that serves."""
        for _ in range(REOPENED_MAX):
            generation = self._files.serving()
            if generation is None:
                break
            try:
                connection = self._opened(generation)
                connection.execute("BEGIN")
                marks = read_marks(connection)
            except sqlite3.Error:
                self._close()
                # A copy that was swapped away is deleted: the link then names another one.
                if self._files.serving() == generation:
                    raise
                continue
            if self._files.serving() == generation:
                return connection, self._checked(marks)
            self._close()
        raise WarmingUp(f"expected a view {self.view.name!r} in {self._files.directory}, found none that serves yet")

    def _checked(self, marks: Marks) -> Marks:
        if marks.error and not marks.filled:
            self._close()
            raise FillingStopped(marks.error)
        problem = ""
        if marks.fingerprint != self.view.fingerprint:
            problem = "made by another release"
        elif not marks.filled:
            problem = "still being filled"
        if problem:
            self._close()
            raise WarmingUp(f"expected the view {self.view.name!r} to be filled, found it {problem}; ask again soon")
        return marks

    def _opened(self, generation: int) -> sqlite3.Connection:
        if self._connection is None or self._generation != generation:
            self._close()
            # "rw" although nothing is written: a reader of a write-ahead log has to be able to make its index.
            uri = f"{self._files.path(generation).absolute().as_uri()}?mode=rw"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA query_only=1")
            connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
            self._generation, self._connection = generation, connection
        return self._connection

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
