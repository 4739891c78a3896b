"""The file of the embedded log: how it is made, opened and recognised, and what its tables hold.

Always true of an open file: write-ahead log, a flush at each commit, the marks of an Interlock log of a format
version that this program knows.

    meta    one row: `revision` rises when topics or first offsets change, `lease_revision` when ownership does
    topic   one row a topic; ids are never used again
    shard   one row a partition; the first offset that is kept
    batch   one row for what one transaction appended to a shard; id = shard << 44 | offset of the first record
    process, member, lease      who should own which partition (`interlock.log.sqlite.lease`)
    position                    where an ingress goes on reading (`interlock.log.sqlite.positions`), made when needed

A row a batch instead of a row a record makes a commit of 64 batches of 6 records two and a half times cheaper. There
is no column with a shard's next offset: it is what its last row says, so an append changes one table only.

What would surprise: this module never opens the file but through SQLite. Closing any other handle of a file that
SQLite has open would drop SQLite's locks on it (POSIX advisory locks belong to the process).
"""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from interlock.log.port import Unavailable, WrongLog

APPLICATION_ID = 0x494C4B4C
"""Marks the file as ours ("ILKL"), where SQLite and `file` look for it."""

FORMAT_VERSION = 1
"""Rises when an older program could not read what a newer one writes."""

BUSY_S = 5.0
"""How long a statement waits for other processes in seconds; their transactions take milliseconds, if no disk hangs."""

OFFSET_BITS = 44
"""A shard holds 17 million million records; 19 bits are left for half a million shards."""

TABLES = """
CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL,
    lease_revision INTEGER NOT NULL
);
CREATE TABLE topic (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    uuid TEXT NOT NULL,
    partitions INTEGER NOT NULL,
    compacted INTEGER NOT NULL
);
CREATE TABLE shard (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic INTEGER NOT NULL,
    partition INTEGER NOT NULL,
    first INTEGER NOT NULL,
    UNIQUE (topic, partition)
);
CREATE TABLE batch (
    id INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    time_ms INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE TABLE process (
    id TEXT PRIMARY KEY,
    boot TEXT NOT NULL,
    deadline_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE member (
    id TEXT PRIMARY KEY,
    "group" TEXT NOT NULL,
    process TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE lease (
    "group" TEXT NOT NULL,
    partition INTEGER NOT NULL,
    member TEXT NOT NULL,
    PRIMARY KEY ("group", partition)
) WITHOUT ROWID;
INSERT INTO meta VALUES (1, 1, 1);
"""


class WrongFile(WrongLog):
    """The file is not a log that this program can use; nothing was changed in it."""


def open_log(path: Path) -> None:
    """Makes the file if it is missing or empty, and checks that it is a log of a known format.

    Raises `WrongFile`, or `Unavailable` where the file can't be opened or another process holds it.
    """
    try:
        with closing(connect(path)) as connection:
            _prepare(connection, path)
    except sqlite3.Error as error:
        if code_of(error) == sqlite3.SQLITE_NOTADB:
            raise WrongFile(
                f"expected {path} to be an Interlock log, found a file of another kind, or a damaged one"
            ) from error
        if code_of(error) == sqlite3.SQLITE_CORRUPT:
            raise WrongFile(f"expected {path} to be sound, found it damaged: restore a copy of it") from error
        if code_of(error) == sqlite3.SQLITE_FULL:
            raise Unavailable(f"expected room for {path}, found its disk full: make room") from error
        raise Unavailable(f"expected to open {path}, found: {error}; is its folder there, and writable?") from error


def connect(path: Path, *, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """A connection in autocommit that flushes at each commit, for use by one thread at a time."""
    connection = sqlite3.connect(
        path, timeout=busy_s, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        # WAL stays in the file; this belongs to the connection and must be said each time.
        connection.execute("PRAGMA synchronous=FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def code_of(error: sqlite3.Error) -> int:
    """The primary result code; 0 for errors that come from Python's module and not from SQLite."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def shard_range(shard: int) -> tuple[int, int]:
    """The ids of the shard's rows: from the first of the pair to before the second."""
    return shard << OFFSET_BITS, (shard + 1) << OFFSET_BITS


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    if not _until_free(lambda: _look(connection, path)):
        _until_free(lambda: _make(connection, path))
    mode = _until_free(lambda: _pragma(connection, "journal_mode=WAL"))
    if mode != "wal":
        raise WrongFile(f"expected {path} to take a write-ahead log, found {mode}; use a local file system")


def _look(connection: sqlite3.Connection, path: Path) -> bool:
    """`_is_ours` at one moment: another process may be making the file between the reading of two of its marks."""
    connection.execute("BEGIN")
    try:
        return _is_ours(connection, path)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is a log; False where it is still empty. Raises `WrongFile` for any other.

    To be called within a transaction.
    """
    application = _pragma(connection, "application_id")
    version = _pragma(connection, "user_version")
    if application != APPLICATION_ID:
        if application == 0 and version == 0 and _pragma(connection, "schema_version") == 0:
            return False
        raise WrongFile(f"expected {path} to be an Interlock log, found another SQLite database")
    if not isinstance(version, int) or not 0 < version <= FORMAT_VERSION:
        raise WrongFile(
            f"expected {path} to have a format version up to {FORMAT_VERSION}, found {version}; use a newer Interlock"
        )
    return True


def _make(connection: sqlite3.Connection, path: Path) -> None:
    # Kept even where a later error leaves the file without tables, and impossible once there are some.
    connection.execute("PRAGMA page_size=4096")
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been faster.
        if not _is_ours(connection, path):
            for statement in TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={FORMAT_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


_T = TypeVar("_T")


def _until_free(call: Callable[[], _T]) -> _T:
    """Repeats while another process holds the file: a change of the journal's mode does not wait by itself."""
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            return call()
        except sqlite3.OperationalError as error:
            if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    row = connection.execute(f"PRAGMA {name}").fetchone()
    return None if row is None else row[0]
