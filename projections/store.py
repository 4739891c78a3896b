"""One copy of a view on disk: rows, positions and marks in one SQLite file, changed in one transaction (PRJ-07).

The SQL is derived from the tables. A `Store` is used by the one task that projects into it; readers open the file for
themselves (`interlock.projections.reader`).

Always true: what a transaction stores is whole appends and the positions behind them; a crash keeps all of it or none.
The file is written with `synchronous=NORMAL`: losing power may take the newest transactions back, positions included,
and they are folded again.
"""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from interlock.log.journal import Position
from interlock.log.port import Shard
from interlock.projections.rows import R, Table, digest
from interlock.projections.sqlite_rows import SqliteRows, ddl, select_all
from interlock.projections.view import View

T = TypeVar("T")

_AWAY = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
}
"""What may pass by itself, or with somebody's help from outside, so that trying again makes sense."""

_VIEW_TABLE = (
    "CREATE TABLE IF NOT EXISTS _view (one INTEGER PRIMARY KEY CHECK (one = 1), fingerprint TEXT NOT NULL,"
    " filled INTEGER NOT NULL, caught_up INTEGER NOT NULL, error TEXT NOT NULL)"
)
_POSITIONS_TABLE = (
    "CREATE TABLE IF NOT EXISTS _positions (topic TEXT NOT NULL, partition INTEGER NOT NULL, topic_id TEXT NOT NULL,"
    " base INTEGER NOT NULL, append_id TEXT NOT NULL, number INTEGER NOT NULL, events INTEGER NOT NULL,"
    " PRIMARY KEY (topic, partition))"
)
BUSY_FIRST_MS = 2_000
"""How long the first opening waits for a lock of the file, as of a reader that recovers it, in milliseconds."""
BUSY_MS = 20
"""How long everything after it does. It is short, since the whole process waits meanwhile: whoever holds the file for
longer, a copy or somebody's own transaction, is waited for by trying again (`StoreAway`)."""


ROWS_PER_CHECKPOINT = 500
"""So many rows are written to the write-ahead log before they are brought into the file: some megabytes.

Where there are many rows they lie in pages of their own, so more at a time would save little, and whatever else waits
for the disk then (the log, most of all) would wait the longer: 70 ms for 2,000 rows of an index of 10,000 slots, 20 for
500.
"""
PAGES_BEFORE_SQLITE_DOES = 16_000
"""The write-ahead log's length at which a commit does it by itself: when nobody has, for whatever reason."""


class StoreAway(Exception):
    """The file can't be read or written now; the same may be tried again later."""


class StoreBroken(Exception):
    """The file is not a view of this kind, or damaged; dropping the view makes a new one from the log."""


@dataclass(frozen=True, slots=True)
class Place:
    """How far a view is in one shard."""

    position: Position
    topic_id: str
    """Which life of the topic the position was taken from."""


@dataclass(frozen=True, slots=True)
class Marks:
    """What a file says of itself."""

    fingerprint: str
    """What its rows were made by, as `View.fingerprint`."""
    filled: bool
    """Whether it has ever held everything that was in the journals when its filling began."""
    caught_up: bool
    """Whether it has reached the end that its projector saw at its last start."""
    error: str
    """Why its projector stopped; "" while it doesn't."""


class Store:
    """One file of a view, opened for writing; made if it is missing."""

    def __init__(self, path: Path, view: View) -> None:
        """Opens no file yet; every call does if need be, and raises `StoreAway` or `StoreBroken`."""
        self.path = path
        self._view = view
        self._connection: sqlite3.Connection | None = None
        self._rows: SqliteRows | None = None
        self._opened = False
        self._rows_to_bring = 0
        """How many rows were written since the last checkpoint began."""

    @property
    def checkpoint_due(self) -> bool:
        """Whether `checkpoint` is worth its time."""
        return self._rows_to_bring >= ROWS_PER_CHECKPOINT

    def marks(self) -> Marks:
        """What the file says of itself."""
        return self._do(lambda connection, _: read_marks(connection))

    def places(self) -> dict[Shard, Place]:
        """How far the rows are, for each shard that anything was folded from."""
        return self._do(lambda connection, _: read_places(connection))

    def rows(self, table: Table[R]) -> list[R]:
        """All rows of a table that are stored, in any order; for a table of few."""
        return self._guarded(
            lambda connection, _: [table.row_of(each) for each in select_all(connection, table, ordered=False)]
        )

    def transact(self, fold: Callable[[SqliteRows], None], places: Mapping[Shard, Place]) -> None:
        """Lets `fold` change rows, and stores its changes with the places; what it raises changes nothing."""

        def work(connection: sqlite3.Connection, rows: SqliteRows) -> None:
            fold(rows)
            self._rows_to_bring += rows.flush()
            connection.executemany(
                "INSERT INTO _positions VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (topic, partition) DO UPDATE SET"
                " topic_id = excluded.topic_id, base = excluded.base, append_id = excluded.append_id,"
                " number = excluded.number, events = excluded.events",
                [_place_values(shard, place) for shard, place in places.items()],
            )

        self._do(work)

    def mark_started(self) -> None:
        """Its projector starts: it is not caught up, and nothing is wrong yet."""
        self._update("caught_up = 0, error = ''")

    def mark_caught_up(self) -> None:
        """It holds everything that was there at the start."""
        self._update("caught_up = 1, filled = 1")

    def mark_stopped(self, error: str) -> None:
        """Its projector has stopped."""
        self._update("error = ?", error)

    def digest(self) -> str:
        """A digest over all rows, the same for the same rows however they came about."""
        return self._do(
            lambda connection, _: digest({table.name: select_all(connection, table) for table in self._view.tables})
        )

    def checkpoint(self) -> None:
        """Brings what is in the write-ahead log into the file. It waits for the disk, so it is made for a thread: it
        uses a connection of its own, and whoever writes meanwhile only leaves more to the next one."""
        self._rows_to_bring = 0
        try:
            uri = f"{self.path.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def flush_to_file(self) -> None:
        """Brings what is in the write-ahead log into the file and onto the disk, as far as readers let it."""
        self._guarded(lambda connection, _: connection.execute("PRAGMA wal_checkpoint(FULL)").fetchall())

    def close(self) -> None:
        """Closes the file."""
        connection, self._connection, self._rows = self._connection, None, None
        if connection is not None:
            connection.close()

    def _update(self, assignments: str, *values: str) -> None:
        self._do(lambda connection, _: connection.execute(f"UPDATE _view SET {assignments}", values))

    def _do(self, work: Callable[[sqlite3.Connection, SqliteRows], T]) -> T:
        """Does `work` in one transaction."""

        def transaction(connection: sqlite3.Connection, rows: SqliteRows) -> T:
            connection.execute("BEGIN IMMEDIATE")
            result = work(connection, rows)
            connection.execute("COMMIT")
            return result

        return self._guarded(transaction)

    def _guarded(self, work: Callable[[sqlite3.Connection, SqliteRows], T]) -> T:
        """Does `work`. After any error the connection is closed, and with it what was open and what it had cached."""
        try:
            return work(*self._open())
        except sqlite3.Error as error:
            self._abandon()
            raise self._explained(error) from error
        except BaseException:
            self._abandon()
            raise

    def _explained(self, error: sqlite3.Error) -> StoreAway | StoreBroken:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in _AWAY:
            return StoreAway(f"expected to use {self.path}, found: {error}; it is tried again")
        return StoreBroken(
            f"expected {self.path} to hold the view {self._view.name!r}, found: {error}; "
            f"drop the view, then it is made anew from the log"
        )

    def _abandon(self) -> None:
        connection, self._connection, self._rows = self._connection, None, None
        if connection is not None:
            # Closing rolls back what is open; an error while closing would hide the one that led here.
            try:
                connection.close()
            except sqlite3.Error:
                return

    def _open(self) -> tuple[sqlite3.Connection, SqliteRows]:
        if self._connection is None or self._rows is None:
            connection = sqlite3.connect(self.path, isolation_level=None, cached_statements=256)
            try:
                connection.execute(f"PRAGMA busy_timeout={BUSY_MS if self._opened else BUSY_FIRST_MS}")
                connection.execute("PRAGMA journal_mode=WAL").fetchall()
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute(f"PRAGMA wal_autocheckpoint={PAGES_BEFORE_SQLITE_DOES}").fetchall()
                self._make_tables(connection)
                connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
            except BaseException:
                connection.close()
                raise
            self._connection, self._rows = connection, SqliteRows(connection)
            self._opened = True
        return self._connection, self._rows

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_VIEW_TABLE)
        connection.execute(_POSITIONS_TABLE)
        made = connection.execute(
            "INSERT INTO _view VALUES (1, ?, 0, 0, '') ON CONFLICT DO NOTHING", (self._view.fingerprint,)
        )
        if made.rowcount:
            for table in self._view.tables:
                for statement in ddl(table):
                    connection.execute(statement)
        connection.execute("COMMIT")


def read_marks(connection: sqlite3.Connection) -> Marks:
    """The marks in a file; raises `sqlite3.Error` where it is none of a view."""
    fingerprint, filled, caught_up, error = connection.execute(
        "SELECT fingerprint, filled, caught_up, error FROM _view"
    ).fetchone()
    return Marks(fingerprint, bool(filled), bool(caught_up), error)


def read_places(connection: sqlite3.Connection) -> dict[Shard, Place]:
    """The places in a file; raises `sqlite3.Error` where it is none of a view."""
    found = connection.execute(
        "SELECT topic, partition, topic_id, base, append_id, number, events FROM _positions ORDER BY topic, partition"
    )
    return {
        Shard(topic, partition): Place(Position(base, append_id, number, events), topic_id)
        for topic, partition, topic_id, base, append_id, number, events in found
    }


def _place_values(shard: Shard, place: Place) -> tuple[str | int, ...]:
    at = place.position
    return (shard.topic, shard.partition, place.topic_id, at.base, at.id, at.number, at.events)
