"""Reading the embedded log: what is asked of the file when the answer is not in memory.

A `Reads` object belongs to one thread, with a connection of its own. Every question is one short read transaction:
readers never wait for the writer (WAL), but a long one would keep the write-ahead log from being reused.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from interlock.log.port import Extent, NoSuchShard, Shard, Stored, Unavailable
from interlock.log.sqlite.codec import decode
from interlock.log.sqlite.file import WrongFile, connect, shard_range

READ_BYTES_MAX = 128 << 10
"""A read stops behind the row with which it has at least so many bytes.

Decoding them takes the thread some milliseconds, in which it wants the interpreter as the event loop does, and other
questions wait: who asks for the end of a shard must not wait long for somebody who reads a whole journal.
"""

_T = TypeVar("_T")


class Found(NamedTuple):
    """What a shard holds from an offset on: its extent, and records if there are any there."""

    extent: Extent
    records: Sequence[Stored]


class Reads:
    """The read connection, and the ids of shards that it has seen."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._ids: dict[Shard, int] = {}

    def read(self, shard: Shard, offset: int) -> Found:
        """The extent and the next records; none where `offset` is at the end, or outside of the extent.

        Raises `NoSuchShard`, `Unavailable`, and `WrongFile` where a row is damaged.
        """
        return self.ask(lambda connection: self._read(connection, shard, offset))

    def extent(self, shard: Shard) -> Extent:
        """From the first offset to the end; raises `NoSuchShard`, `Unavailable`."""
        return self.ask(lambda connection: self._extent(connection, *self._find(connection, shard)))

    def ends(self, shards: Iterable[Shard]) -> dict[Shard, int]:
        """The ends of those shards that exist."""

        def find(connection: sqlite3.Connection) -> dict[Shard, int]:
            found: dict[Shard, int] = {}
            for shard in shards:
                try:
                    found[shard] = self._extent(connection, *self._find(connection, shard)).end
                except NoSuchShard:
                    continue
            return found

        return self.ask(find)

    def ask(self, question: Callable[[sqlite3.Connection], _T]) -> _T:
        """Answers a question from one moment of the file; raises `Unavailable`."""
        try:
            if self._connection is None:
                self._connection = connect(self._path)
            self._connection.execute("BEGIN")
            try:
                return question(self._connection)
            finally:
                self._connection.rollback()
        except sqlite3.Error as error:
            self.close()
            raise Unavailable(f"expected to read {self._path}, found: {error}; ask again later") from error

    def close(self) -> None:
        """Closes the connection; the next question opens it anew."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _read(self, connection: sqlite3.Connection, shard: Shard, offset: int) -> Found:
        shard_id, first = self._find(connection, shard)
        low, high = shard_range(shard_id)
        extent = self._extent(connection, shard_id, first)
        if not extent.first <= offset < extent.end:
            return Found(extent, ())
        # The row that holds the offset may begin before it.
        rows = connection.execute(
            "SELECT id, time_ms, data FROM batch WHERE id < ?2 AND id >="
            " (SELECT coalesce(max(id), ?1) FROM batch WHERE id >= ?1 AND id <= ?3) ORDER BY id",
            (low, high, low + offset),
        )
        records: list[Stored] = []
        size = 0
        for row_id, time_ms, data in rows:
            records.extend(self._decode(shard, row_id - low, time_ms, data))
            size += len(data)
            if size >= READ_BYTES_MAX:
                break
        if not records or not records[0].offset <= offset <= records[-1].offset:
            raise WrongFile(
                f"expected {shard} to hold offset {offset}, found a gap; restore {self._path} from a backup"
            )
        skip = offset - records[0].offset
        return Found(extent, records[skip:] if skip else records)

    def _decode(self, shard: Shard, base: int, time_ms: int, data: bytes) -> list[Stored]:
        try:
            return decode(data, base, time_ms)
        except ValueError as error:
            raise WrongFile(f"{shard}: {error}; restore {self._path} from a backup") from error

    def _find(self, connection: sqlite3.Connection, shard: Shard) -> tuple[int, int]:
        """The shard's id and first offset."""
        known = self._ids.get(shard)
        if known is not None:
            # Ids are never used again, so this also notices that the topic was made anew.
            row = connection.execute("SELECT first FROM shard WHERE id = ?", (known,)).fetchone()
            if row is not None:
                return known, row[0]
            del self._ids[shard]
        row = connection.execute(
            "SELECT shard.id, shard.first FROM shard JOIN topic ON topic.id = shard.topic"
            " WHERE topic.name = ? AND shard.partition = ?",
            shard,
        ).fetchone()
        if row is None:
            raise NoSuchShard(f"expected {self._path} to have {shard}, found none; create it first")
        self._ids[shard] = row[0]
        return row[0], row[1]

    def _extent(self, connection: sqlite3.Connection, shard_id: int, first: int) -> Extent:
        low, high = shard_range(shard_id)
        last = connection.execute(
            "SELECT id, count FROM batch WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1", (low, high)
        ).fetchone()
        return Extent(first, first if last is None else max(first, last[0] - low + last[1]))
