"""The index of one journal by originator: what counts, in a SQLite file beside, rebuilt from the journal at any time.

Always true: rows, tracking and the position that they are folded to change in one transaction, so a crash leaves an
index that is merely behind. It is never authority: where it belongs to another log, is damaged, or is held by another
process, it is built anew, then in a file or in memory.

What would surprise: an index is held by one process. A second one of the same application on this machine keeps its
own in memory, which costs it memory and a reading of the whole journal at its start.
"""

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from eventsourcing.persistence import Notification, StoredEvent

from interlock.log.journal import START, Position, behind
from interlock.log.recorder.commit import Folded
from interlock.log.recorder.errors import closed

VERSION = 1
"""Of the tables below; an index of another version is built anew."""

_TABLES = """
CREATE TABLE place (one INTEGER PRIMARY KEY CHECK (one = 1), log TEXT NOT NULL, base INTEGER NOT NULL,
                    append TEXT NOT NULL, number INTEGER NOT NULL, events INTEGER NOT NULL);
CREATE TABLE event (id INTEGER PRIMARY KEY, originator TEXT NOT NULL, is_uuid INTEGER NOT NULL,
                    version INTEGER NOT NULL, topic TEXT NOT NULL, state BLOB NOT NULL);
CREATE UNIQUE INDEX event_by_originator ON event (originator, version);
CREATE TABLE tracking (application TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;
"""
_EVENT = "id, originator, is_uuid, version, topic, state"


class Index:
    """What one journal holds, by originator and by notification id; used from any thread."""

    def __init__(self, path: Path | None, log_id: str) -> None:
        """Opens the index of the topic with this id, empty if it is none yet; in memory where `path` is None or held.

        Raises `sqlite3.Error` or `OSError` where the file can't be made.
        """
        self._lock = threading.Lock()
        self._log_id = log_id
        self._connection: sqlite3.Connection | None = _open(path) or _connect(":memory:")
        self.position = START
        """Behind the last append that was folded."""
        self._take_up()

    @property
    def log_id(self) -> str:
        """The id of the topic that it is an index of."""
        return self._log_id

    def apply(self, folded: Sequence[Folded]) -> None:
        """Folds appends that count, in order; the first follows the last that was folded."""
        place = behind(folded[-1].append)
        with self._lock, self._db as db:
            db.executemany(
                f"INSERT INTO event ({_EVENT}) VALUES (?, ?, ?, ?, ?, ?)", (row for each in folded for row in each.rows)
            )
            db.executemany(
                "INSERT INTO tracking VALUES (?, ?) ON CONFLICT DO UPDATE SET id = excluded.id",
                (item for each in folded for item in each.note.tracking.items()),
            )
            self._store(db, place)
        self.position = place

    def reset(self) -> None:
        """Forgets everything, because the log is another one than it was."""
        with self._lock, self._db as db:
            db.execute("DELETE FROM event")
            db.execute("DELETE FROM tracking")
            self._store(db, START)
        self.position = START

    def last_version(self, originator: str) -> int | None:
        """The newest version of an originator; None if there is none."""
        return self._one("SELECT max(version) FROM event WHERE originator = ?", originator)

    def holds(self, originator: str, version: int) -> bool:
        """Whether that version is there."""
        found = self._one("SELECT 1 FROM event WHERE originator = ? AND version = ?", originator, version)
        return found is not None

    def tracked(self, application: str) -> int | None:
        """The highest notification id of an application that was processed; None if there is none."""
        return self._one("SELECT id FROM tracking WHERE application = ?", application)

    def events(
        self, originator: str, *, gt: int | None, lte: int | None, desc: bool, limit: int | None
    ) -> list[StoredEvent]:
        """The events of an originator above `gt` and up to `lte`, oldest first, or newest first with `desc`."""
        found = self._all(
            f"SELECT {_EVENT} FROM event WHERE originator = ? AND version > ? AND version <= ? "
            f"ORDER BY version {'DESC' if desc else 'ASC'} LIMIT ?",
            (originator, _least(gt), _most(lte), -1 if limit is None else limit),
        )
        return [
            StoredEvent(_id(text, is_uuid), version, topic, state) for _, text, is_uuid, version, topic, state in found
        ]

    def notifications(self, first: int, last: int | None, topics: Sequence[str], limit: int) -> list[Notification]:
        """The first `limit` events from notification id `first` to `last`, of these topics (all if none is named)."""
        wanted = f" AND topic IN ({', '.join('?' * len(topics))})" if topics else ""
        found = self._all(
            f"SELECT {_EVENT} FROM event WHERE id >= ? AND id <= ?{wanted} ORDER BY id LIMIT ?",
            (first, _most(last), *topics, limit),
        )
        return [
            Notification(_id(text, is_uuid), version, topic, state, number)
            for number, text, is_uuid, version, topic, state in found
        ]

    def close(self) -> None:
        """Lets go of the file; what is asked afterwards raises `ProgrammingError`."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            raise closed("the index")
        return self._connection

    def _one(self, statement: str, *arguments: object) -> int | None:
        found = self._all(statement, arguments)
        value = found[0][0] if found else None
        return None if value is None else int(value)

    def _all(self, statement: str, arguments: Sequence[object]) -> list[tuple[int, str, int, int, str, bytes]]:
        with self._lock:
            return self._db.execute(statement, tuple(arguments)).fetchall()

    def _take_up(self) -> None:
        with self._lock:
            place = self._db.execute("SELECT log, base, append, number, events FROM place").fetchone()
        if place is not None and place[0] == self._log_id:
            self.position = Position(base=place[1], id=place[2], number=place[3], events=place[4])
        else:
            self.reset()

    def _store(self, db: sqlite3.Connection, place: Position) -> None:
        row = (self._log_id, place.base, place.id, place.number, place.events)
        db.execute("INSERT OR REPLACE INTO place VALUES (1, ?, ?, ?, ?, ?)", row)


def _open(path: Path | None) -> sqlite3.Connection | None:
    """The connection to the file, made anew where it is damaged or of another version; None where it is held."""
    if path is None:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _connect(str(path))
    except sqlite3.DatabaseError as error:
        if _is_held(error):
            return None
        # It holds nothing that the journal doesn't.
        for each in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
            each.unlink(missing_ok=True)
    return _connect(str(path))


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=0, check_same_thread=False, isolation_level="IMMEDIATE")
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        # A commit that a loss of power takes back is folded again.
        connection.execute("PRAGMA synchronous = NORMAL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(f"expected an index of version {VERSION}, found {version}")
        if version == 0:
            connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
        else:
            connection.executescript("BEGIN IMMEDIATE; COMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_held(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _id(text: str, is_uuid: int) -> UUID | str:
    return UUID(text) if is_uuid else text


def _least(gt: int | None) -> int:
    return -1 if gt is None else gt


def _most(last: int | None) -> int:
    return (1 << 63) - 1 if last is None else last
