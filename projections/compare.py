"""Compares rows with rows that should be the same: what verifying a view and reconciling it have in common.

Both sides come in the order of their keys, so that nothing has to be held in memory but one row of each.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from interlock.projections.rows import Key, Value

SAMPLES_MAX: Final = 5
"""Keys of each kind of difference that are told; more would not be read."""

Kind = Literal["missing", "foreign", "changed"]
"""missing: it should be there · foreign: nothing calls for it · changed: it is there, and says something else."""


class KeyedRow(NamedTuple):
    """A row with what identifies it."""

    key: Key
    values: tuple[Value, ...]


class Difference(NamedTuple):
    """One row that is not as it should be."""

    kind: Kind
    key: Key
    expected: tuple[Value, ...]
    """() where it shouldn't be there."""
    found: tuple[Value, ...]
    """() where it isn't there."""


ROWS_AT_ONCE: Final = 1_000
"""After so many rows `paced` gives whoever compares a chance to let others have their turn: some milliseconds."""


def differences(expected: Iterable[KeyedRow], found: Iterable[KeyedRow]) -> Iterator[Difference]:
    """The differences, in the order of the keys."""
    return (each for each in _compared(expected, found) if each is not None)


def paced(expected: Iterable[KeyedRow], found: Iterable[KeyedRow]) -> Iterator[Difference | int]:
    """The differences, and now and then how many rows were compared since the last time; at the end too."""
    rows = 0
    for each in _compared(expected, found):
        rows += 1
        if each is not None:
            yield each
        if rows == ROWS_AT_ONCE:
            yield rows
            rows = 0
    yield rows


def _compared(expected: Iterable[KeyedRow], found: Iterable[KeyedRow]) -> Iterator[Difference | None]:
    """For each key the difference, or None where the rows are the same."""
    left, right = iter(expected), iter(found)
    should, is_ = next(left, None), next(right, None)
    while should is not None or is_ is not None:
        if is_ is None or (should is not None and should.key < is_.key):
            assert should is not None, "expected a row on one of the sides"
            yield Difference("missing", should.key, should.values, ())
            should = next(left, None)
        elif should is None or is_.key < should.key:
            yield Difference("foreign", is_.key, (), is_.values)
            is_ = next(right, None)
        else:
            same = should.values == is_.values
            yield None if same else Difference("changed", is_.key, should.values, is_.values)
            should, is_ = next(left, None), next(right, None)


@dataclass(slots=True)
class Tally:
    """How many rows differ, and some of their keys."""

    missing: int = 0
    foreign: int = 0
    changed: int = 0
    samples: tuple[tuple[Kind, str], ...] = ()
    """Kind and key of the first ones of each kind."""

    @property
    def rows(self) -> int:
        """All that differ."""
        return self.missing + self.foreign + self.changed

    def count(self, difference: Difference) -> None:
        """One more."""
        match difference.kind:
            case "missing":
                self.missing += 1
            case "foreign":
                self.foreign += 1
            case "changed":
                self.changed += 1
        if sum(kind == difference.kind for kind, _ in self.samples) < SAMPLES_MAX:
            key = "/".join(str(part) for part in difference.key)
            self.samples = (*self.samples, (difference.kind, key))
