"""Lists in pages: what is asked for, newest first, going on behind the last row that the asker knows."""

from typing import Self

from interlock.projections.rows import Value

Cursor = tuple[int, str]
"""The time and the id of a row: lists go on behind it. Unlike an offset it stays right while rows come and go."""


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

    def newest_first(self, time: str, key: str, after: Cursor | None, limit: int) -> Self:
        """In the order of a time, the newest first, at most `limit` rows, behind `after`; call it last."""
        if limit < 1:
            raise ValueError(f"expected a limit of at least 1, found {limit}")
        if after is not None:
            self._conditions.append(f"({time}, {key}) < (?, ?)")
            self.values += after
        self._order = f" ORDER BY {time} DESC, {key} DESC LIMIT ?"
        self.values += (limit,)
        return self
