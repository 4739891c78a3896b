"""The rows of a view: how a table is described, and the small interface through which a fold changes them.

A row is a named tuple of text, integers, bytes and None, which is what a database takes and gives without conversion;
a table adds which fields are its key. Nothing else describes it: the SQL in `interlock.projections.store` is derived
from here. A fold sees only `Rows`, so the same fold runs on a database and, in tests, on `MemoryRows`.

Always true: a row is identified by its key alone, never by the order in which it was written. So a view has the same
rows whatever the order was between the shards that it was folded from, and `digest` can say so.
"""

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from operator import itemgetter
from types import NoneType, UnionType
from typing import Any, Generic, Literal, Protocol, TypeVar, Union, cast, get_args, get_origin, get_type_hints

Value = str | int | bytes | None
"""What a field of a row may hold."""
Key = tuple[str | int, ...]

R = TypeVar("R", bound=tuple[Value, ...])


class Table(Generic[R]):
    """Describes the rows of one kind."""

    def __init__(
        self,
        name: str,
        row: type[R],
        key: tuple[str, ...],
        *,
        indexes: tuple[tuple[str, ...], ...] = (),
        reread: bool = False,
        clustered: bool = False,
    ) -> None:
        """`row` is a named tuple, `key` names the fields that identify one, `indexes` those that queries look up by.

        `reread` says that the fold reads rows back which it wrote, so that it is worth keeping the newest in memory;
        `clustered` that small rows which share the beginning of their key are written and read together.
        """
        self.name = name
        self.row = row
        self.key = key
        self.indexes = indexes
        self.reread = reread
        self.clustered = clustered
        self.columns = {field: _column_type(name, field, hint) for field, hint in get_type_hints(row).items()}
        """The fields in order, with their types in SQL."""
        self.key_of: Callable[[R], Key] = _key_getter([list(self.columns).index(field) for field in key])
        """What identifies a row."""
        self.row_of = cast(Callable[[Iterable[Value]], R], getattr(row, "_make"))  # noqa: B009 - rows are named tuples
        """The row with these fields, in order."""

    def __repr__(self) -> str:
        return f"Table({self.name!r})"


class Rows(Protocol):
    """What a fold may ask and change. Its own changes are seen at once; all others when they are committed."""

    def get(self, table: Table[R], *key: str | int) -> R | None:
        """The row with this key."""
        ...

    def under(self, table: Table[R], *prefix: str | int) -> list[R]:
        """The rows whose key begins with `prefix`, in the order of their keys."""
        ...

    def put(self, table: Table[R], row: R) -> None:
        """Writes the row, in place of one with the same key."""
        ...

    def delete(self, table: Table[R], *key: str | int) -> None:
        """Removes the row with this key, if there is one."""
        ...


class MemoryRows:
    """Rows in memory; implements `Rows`."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[Key, tuple[Value, ...]]] = {}

    def get(self, table: Table[R], *key: str | int) -> R | None:
        """The row with this key."""
        return self._of(table).get(key)

    def under(self, table: Table[R], *prefix: str | int) -> list[R]:
        """The rows whose key begins with `prefix`, in the order of their keys."""
        return [row for key, row in sorted(self._of(table).items()) if key[: len(prefix)] == prefix]

    def put(self, table: Table[R], row: R) -> None:
        """Writes the row, in place of one with the same key."""
        self._of(table)[table.key_of(row)] = row

    def delete(self, table: Table[R], *key: str | int) -> None:
        """Removes the row with this key, if there is one."""
        self._of(table).pop(key, None)

    def all(self, table: Table[R]) -> list[R]:
        """Every row, in the order of the keys."""
        return self.under(table)

    def by_key(self, table: Table[R]) -> Mapping[Key, R]:
        """Every row by its key, in no order; changes with the rows."""
        return self._of(table)

    def digest(self, tables: Iterable[Table[Any]]) -> str:
        """As `digest`, over these tables."""
        return digest({table.name: self.all(table) for table in tables})

    def _of(self, table: Table[R]) -> dict[Key, R]:
        return cast(dict[Key, R], self._tables.setdefault(table.name, {}))


def digest(tables: Mapping[str, Iterable[tuple[Value, ...]]]) -> str:
    """32 hexadecimal digits over the rows of each table, which have to come in the order of their keys."""
    hashed = blake2b(digest_size=16)
    for name in sorted(tables):
        hashed.update(f"\x1e{name}\x1e".encode())
        for values in tables[name]:
            # `repr` of text, integers, bytes and None is exact, and tells where a field ends.
            hashed.update(repr(tuple(values)).encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


_SQL_TYPES: dict[object, str] = {str: "TEXT", int: "INTEGER", bytes: "BLOB"}


def _column_type(table: str, field: str, hint: object) -> str:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    optional = NoneType in parts
    names = {_SQL_TYPES.get(_plain_type(part)) for part in parts if part is not NoneType}
    name = names.pop() if len(names) == 1 else None
    if name is None:
        raise TypeError(f"expected {table}.{field} to be text, an integer or bytes, found {hint}")
    return name if optional else f"{name} NOT NULL"


def _plain_type(hint: object) -> object:
    # The literals of rows are words, such as states.
    return str if get_origin(hint) is Literal else hint


def _key_getter(indexes: list[int]) -> Callable[[tuple[Value, ...]], Key]:
    if len(indexes) == 1:
        (index,) = indexes
        return lambda row: cast(Key, (row[index],))
    return cast(Callable[[tuple[Value, ...]], Key], itemgetter(*indexes))
