"""Lists in pages: what is asked for, newest first or by names, going on behind the last row that the asker knows."""

from collections.abc import Sequence
from typing import Final, Self

from interlock.projections.rows import Value

Cursor = tuple[int, str]
"""The time and the id of a row: lists go on behind it. Unlike an offset it stays right while rows come and go."""

PAGE_BYTES_MAX: Final = 16 << 20
"""How much one page holds, unless its first row alone is larger: what is asked for is held in memory, and sent."""


def row_bytes(row: Sequence[Value]) -> int:
    """What the texts and bytes of a row take, at least."""
    return sum(len(value) for value in row if isinstance(value, str | bytes))


def goes_on(rows: Sequence[Sequence[Value]], limit: int) -> bool:
    """Whether there may be more behind the first `limit` rows of a `Snapshot.page` that was asked for one more."""
    return len(rows) > limit or sum(map(row_bytes, rows)) > PAGE_BYTES_MAX


class Filter:
    """Gathers conditions for `Snapshot.select`."""

    def __init__(self) -> None:
        self.values: tuple[Value, ...] = ()
        self._conditions: list[str] = []
        self._order = ""

    @property
    def rest(self) -> str:
        """What follows WHERE."""
        return f"{' AND '.join(self._conditions) or '1'}{self._order}"

    def equal(self, column: str, value: str | int | None) -> Self:
        """Only rows with this value; all where it is None."""
        if value is not None:
            self._conditions.append(f"{column} = ?")
            self.values += (value,)
        return self

    def by_names(self, first: str, second: str, after: tuple[str, str] | None, limit: int) -> Self:
        """In the order of two texts, at most `limit` rows, behind `after`; call it last."""
        if after is not None:
            self._conditions.append(f"({first}, {second}) > (?, ?)")
            self.values += after
        return self._first(limit, f"{first}, {second}")

    def newest_first(self, time: str, key: str, after: Cursor | None, limit: int) -> Self:
        """In the order of a time, the newest first, at most `limit` rows, behind `after`; call it last."""
        if after is not None:
            self._conditions.append(f"({time}, {key}) < (?, ?)")
            self.values += after
        return self._first(limit, f"{time} DESC, {key} DESC")

    def _first(self, limit: int, order: str) -> Self:
        if limit < 1:
            raise ValueError(f"expected a limit of at least 1, found {limit}")
        self._order = f" ORDER BY {order} LIMIT ?"
        self.values += (limit,)
        return self
