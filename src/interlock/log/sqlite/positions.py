"""The positions of an ingress in the embedded log's own file: one row a group and shard.

What would surprise: the table is made with the first position, so that a file that no ingress used has none.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from interlock.log.port import Shard, Unavailable
from interlock.log.sqlite.file import connect

TABLE = """
CREATE TABLE IF NOT EXISTS position (
    name TEXT NOT NULL,
    topic TEXT NOT NULL,
    partition INTEGER NOT NULL,
    next INTEGER NOT NULL,
    PRIMARY KEY (name, topic, partition)
) WITHOUT ROWID
"""

_T = TypeVar("_T")


class SqlitePositions:
    """Implements `log.group.Positions` for the group called `name`, in the file of a `SqliteLog`."""

    def __init__(self, path: str | Path, name: str) -> None:
        self._path = Path(path)
        self._name = name

    async def load(self, shards: frozenset[Shard]) -> Mapping[Shard, int]:
        """The offsets of those that have one. Raises `Unavailable`."""
        return await asyncio.to_thread(self._ask, lambda connection: self._load(connection, shards))

    async def store(self, offsets: Mapping[Shard, int]) -> frozenset[Shard]:
        """Keeps offsets; one that is behind what is kept changes nothing. Raises `Unavailable`."""
        await asyncio.to_thread(self._ask, lambda connection: self._store(connection, offsets))
        return frozenset(offsets)

    def _ask(self, question: Callable[[sqlite3.Connection], _T]) -> _T:
        # Positions are read at a start and written once for many records, so a connection each time is cheap enough.
        try:
            with closing(connect(self._path)) as connection:
                return question(connection)
        except sqlite3.Error as error:
            raise Unavailable(f"expected the positions in {self._path}, found: {error}; ask again later") from error

    def _load(self, connection: sqlite3.Connection, shards: frozenset[Shard]) -> Mapping[Shard, int]:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'position'").fetchone() is None:
            return {}
        rows = connection.execute("SELECT topic, partition, next FROM position WHERE name = ?", (self._name,))
        return {Shard(topic, partition): offset for topic, partition, offset in rows if (topic, partition) in shards}

    def _store(self, connection: sqlite3.Connection, offsets: Mapping[Shard, int]) -> None:
        rows = [(self._name, shard.topic, shard.partition, offset) for shard, offset in offsets.items()]
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(TABLE)
        connection.executemany(
            "INSERT INTO position VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET next = max(next, excluded.next)", rows
        )
        connection.execute("COMMIT")
