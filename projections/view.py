"""What a view is: the journals that it is folded from, its tables, and its fold.

A fold is pure: an event and the rows so far give changed rows, whoever asks and however often (PRJ-07). It raises for
an event that it doesn't know, so that a view never goes on with a hole in it; what a view doesn't need it names.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from interlock.log.frame import Append
from interlock.log.port import Shard
from interlock.projections.recorded import Codec, Envelope, Recorded, UnreadableEvent, decode_append
from interlock.projections.rows import Rows, Table

FoldAppend = Callable[[Shard, Append, Codec, Rows], None]
"""Folds one append of a journal as a whole."""


class CannotFold(Exception):
    """An event can't be folded; the view stays behind the append before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One view; its name is also that of its file."""

    name: str
    contexts: tuple[str, ...]
    """The contexts whose journals it needs."""
    tables: tuple[Table[Any], ...]
    fold: FoldAppend
    version: int
    """Raised with every change of the fold after which the same events give other rows; then the rows are made anew."""
    fingerprint: str = field(init=False)
    """What stored rows have to be made by, to be gone on with."""

    def __post_init__(self) -> None:
        described = [
            f"{table.name}({', '.join(f'{name} {kind}' for name, kind in table.columns.items())}; "
            f"key {', '.join(table.key)}; indexes {table.indexes})"
            for table in self.tables
        ]
        # Every question asks for it, so it is made once.
        object.__setattr__(self, "fingerprint", f"{self.name} {self.version}: {' '.join(described)}")


def each_event(fold: Callable[[Recorded, Rows], None]) -> FoldAppend:
    """Folds an append event by event."""

    def fold_append(shard: Shard, append: Append, codec: Codec, rows: Rows) -> None:
        try:
            events = decode_append(append, codec)
        except UnreadableEvent as error:
            raise CannotFold(f"{shard}: {error}") from error
        for recorded in events:
            try:
                fold(recorded, rows)
            except sqlite3.Error:
                # The rows can't be read now, which says nothing about the event.
                raise
            except Exception as error:
                raise _cannot_fold(shard, recorded, error) from error

    return fold_append


def whole_append(fold: Callable[[Shard, Append, Rows], None]) -> FoldAppend:
    """Folds an append as a whole, without decoding what its events hold; `fold` is told the shard too."""

    def fold_append(shard: Shard, append: Append, codec: Codec, rows: Rows) -> None:
        try:
            fold(shard, append, rows)
        except sqlite3.Error:
            raise
        except UnreadableEvent as error:
            raise CannotFold(f"{shard}: {error}") from error
        except Exception as error:
            raise CannotFold(f"expected to fold append {append.frame.number} of {shard}, found {error!r}") from error

    return fold_append


def unknown(event: object) -> Exception:
    """What a fold raises for an event that it doesn't know."""
    return TypeError(f"no fold for {type(event).__name__}")


def missing(what: str) -> Exception:
    """What a fold raises for an event whose row should have been there."""
    return LookupError(f"no row of {what}, which an earlier event should have made; the journal is damaged")


def _cannot_fold(shard: Shard, envelope: Envelope, error: Exception) -> CannotFold:
    if isinstance(error, UnreadableEvent):
        return CannotFold(f"{shard}: {error}")
    return CannotFold(
        f"expected to fold {envelope.type} of {envelope.stream!r} at revision {envelope.revision} "
        f"(append {envelope.number} of {shard}), found {error!r}"
    )
