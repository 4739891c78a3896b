"""`Rows` over a SQLite connection: changes gather in memory and are written together, one row once.

What would surprise: rows of tables with `reread` stay in memory after they were written, since nobody else writes the
file. So an object lives only as long as its connection, and is dropped with it when a transaction fails.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any, Final, Generic, cast

from interlock.projections.rows import Key, R, Table, Value

CACHED_ROWS_MAX: Final = 20_000
"""Rows of one table kept in memory after they were written: some tens of megabytes at worst, and more than the runs
that a view at full speed has open between two of their events."""


class SqliteRows:
    """The rows in one file; implements `Rows`. Changes reach the database with `flush`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._tables: dict[Table[Any], _Changes[Any]] = {}

    def get(self, table: Table[R], *key: str | int) -> R | None:
        """The row with this key."""
        return self._of(table).get(key)

    def under(self, table: Table[R], *prefix: str | int) -> list[R]:
        """The rows whose key begins with `prefix`, in the order of their keys."""
        return self._of(table).under(prefix)

    def put(self, table: Table[R], row: R) -> None:
        """Writes the row, in place of one with the same key."""
        self._of(table).put(table.key_of(row), row)

    def delete(self, table: Table[R], *key: str | int) -> None:
        """Removes the row with this key, if there is one."""
        self._of(table).put(key, None)

    def flush(self) -> int:
        """Writes what has changed, and tells how many rows that were."""
        return sum([changes.flush() for changes in self._tables.values()])

    def _of(self, table: Table[R]) -> "_Changes[R]":
        try:
            return self._tables[table]
        except KeyError:
            return self._tables.setdefault(table, _Changes(self._connection, table))


class _Changes(Generic[R]):
    """The rows of one table that have changed since they were written, and of those that were written the newest."""

    def __init__(self, connection: sqlite3.Connection, table: Table[R]) -> None:
        self._changed: dict[Key, R | None] = {}
        self._by_first: dict[str | int, list[Key]] | None = None
        """The keys that have changed by their first field; made when they are first asked for."""
        self._cached: dict[Key, R] = {}
        self._connection = connection
        self._table = table
        columns = ", ".join(table.columns)
        key = " AND ".join(f"{name} = ?" for name in table.key)
        updates = ", ".join(f"{name} = excluded.{name}" for name in table.columns if name not in table.key)
        self._select = f"SELECT {columns} FROM {table.name}"
        self._select_one = f"{self._select} WHERE {key}"
        self._delete = f"DELETE FROM {table.name} WHERE {key}"
        self._upsert = (
            f"INSERT INTO {table.name} ({columns}) VALUES ({', '.join('?' * len(table.columns))})"
            f" ON CONFLICT ({', '.join(table.key)}) DO {f'UPDATE SET {updates}' if updates else 'NOTHING'}"
        )

    def put(self, key: Key, row: R | None) -> None:
        if self._by_first is not None and key not in self._changed:
            self._by_first.setdefault(key[0], []).append(key)
        self._changed[key] = row

    def get(self, key: Key) -> R | None:
        if key in self._changed:
            return self._changed[key]
        cached = self._cached.get(key)
        if cached is not None:
            return cached
        values = self._connection.execute(self._select_one, key).fetchone()
        return None if values is None else self._table.row_of(values)

    def under(self, prefix: Key) -> list[R]:
        names = self._table.key[: len(prefix)]
        where = f" WHERE {' AND '.join(f'{name} = ?' for name in names)}" if names else ""
        rows = map(self._table.row_of, self._connection.execute(f"{self._select}{where}", prefix))
        found: dict[Key, R | None] = {self._table.key_of(row): row for row in rows}
        found.update((key, self._changed[key]) for key in self._changed_under(prefix))
        return [row for _, row in sorted(found.items()) if row is not None]

    def _changed_under(self, prefix: Key) -> list[Key]:
        if not prefix:
            return list(self._changed)
        if self._by_first is None:
            self._by_first = {}
            for key in self._changed:
                self._by_first.setdefault(key[0], []).append(key)
        return [key for key in self._by_first.get(prefix[0], ()) if key[: len(prefix)] == prefix]

    def flush(self) -> int:
        count = len(self._changed)
        if not count:
            return 0
        gone = [key for key, row in self._changed.items() if row is None]
        if gone:
            self._connection.executemany(self._delete, gone)
        kept = {key: row for key, row in self._changed.items() if row is not None}
        if kept:
            self._connection.executemany(self._upsert, kept.values())
        self._changed, self._by_first = {}, None
        if self._table.reread:
            self._remember(gone, kept)
        return count

    def _remember(self, gone: list[Key], kept: dict[Key, R]) -> None:
        for key in gone:
            self._cached.pop(key, None)
        self._cached.update(kept)
        if len(self._cached) > CACHED_ROWS_MAX:
            # The oldest half goes: dictionaries keep the order of insertion.
            for key in list(self._cached)[: len(self._cached) - CACHED_ROWS_MAX // 2]:
                del self._cached[key]


def ddl(table: Table[Any]) -> Iterator[str]:
    """The statements that make a table with its indexes."""
    columns = ", ".join(f"{name} {kind}" for name, kind in table.columns.items())
    kind = " WITHOUT ROWID" if table.clustered else ""
    yield f"CREATE TABLE {table.name} ({columns}, PRIMARY KEY ({', '.join(table.key)})){kind}"
    for index in table.indexes:
        yield f"CREATE INDEX {table.name}_by_{'_'.join(index)} ON {table.name} ({', '.join(index)})"


def select_all(
    connection: sqlite3.Connection, table: Table[Any], *, ordered: bool = True
) -> Iterator[tuple[Value, ...]]:
    """The rows of a table in the order of their keys, as `digest` wants them, or in any, which is twice as fast."""
    order = f" ORDER BY {', '.join(table.key)}" if ordered else ""
    return cast(
        Iterator[tuple[Value, ...]],
        connection.execute(f"SELECT {', '.join(table.columns)} FROM {table.name}{order}"),
    )
