"""The rows of a view: how a table is described, and the small interface through which a fold changes them.

A row is a frozen dataclass of text, integers, bytes and None; a table adds which fields are its key. Nothing else
describes it: the SQL in `interlock.projections.store` is derived from here. A fold sees only `Rows`, so the same fold
runs on a database and, in tests, on `MemoryRows`.

Always true: a row is identified by its key alone, never by the order in which it was written. So a view has the same
rows whatever the order was between the shards that it was folded from, and `digest` can say so.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, Union, cast, get_args, get_origin, get_type_hints

Value = str | int | bytes | None
"""What a field of a row may hold."""
Key = tuple[str | int, ...]


class Row(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


R = TypeVar("R", bound=Row)


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
    ) -> None:
        """`key` names the fields that identify a row, `indexes` those that queries look rows up by.

        `reread` says that the fold reads rows back which it wrote, so that it is worth keeping the newest in memory.
        """
        self.name = name
        self.row = row
        self.key = key
        self.indexes = indexes
        self.reread = reread
        hints = get_type_hints(row)
        self.columns: dict[str, str] = {
            field.name: _column_type(name, field.name, hints[field.name]) for field in dataclasses.fields(row)
        }
        """The fields in order, with their types in SQL."""
        self._values = _tuple_getter(tuple(self.columns))
        self._key = _tuple_getter(key)

    def values_of(self, row: R) -> tuple[Value, ...]:
        """The fields of a row, in order."""
        return self._values(row)

    def key_of(self, row: R) -> Key:
        """What identifies a row."""
        return cast(Key, self._key(row))

    def row_of(self, values: Iterable[Value]) -> R:
        """The row with these fields, in order."""
        return self.row(**dict(zip(self.columns, values, strict=True)))

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
        self._tables: dict[str, dict[Key, Row]] = {}

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

    def digest(self, tables: Iterable[Table[Any]]) -> str:
        """As `digest`, over these tables."""
        return digest({table.name: map(table.values_of, self.all(table)) for table in tables})

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


class _TupleGetter(Protocol):
    def __call__(self, row: object, /) -> tuple[Value, ...]: ...


def _tuple_getter(names: tuple[str, ...]) -> _TupleGetter:
    if len(names) == 1:
        (name,) = names
        return lambda row: (getattr(row, name),)
    return cast(_TupleGetter, attrgetter(*names))
