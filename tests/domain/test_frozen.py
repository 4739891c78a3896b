"""What `frozen` makes: dataclasses like any other, but for who keeps them from being changed."""

from dataclasses import dataclass, field, is_dataclass, replace

from interlock.domain.frozen import frozen
from interlock.schemas.states import StateFormat


@frozen()
class Point:
    """A place."""

    x: int
    y: int
    names: tuple[str, ...] = field(default=())


@frozen(kw_only=True)
class Line:
    """Two places."""

    start: Point
    end: Point


@dataclass(slots=True)
class Kept:
    """What a snapshot would keep."""

    lines: dict[str, Line]


def test_equal_values_are_equal_and_have_one_hash() -> None:
    assert Point(1, 2) == Point(1, 2, ())
    assert Point(1, 2) != Point(2, 1)
    assert len({Point(1, 2), Point(1, 2), Point(2, 1)}) == 2


def test_it_is_a_dataclass_with_slots_and_can_be_replaced() -> None:
    line = Line(start=Point(1, 2), end=Point(3, 4))
    assert is_dataclass(line)
    assert not hasattr(line, "__dict__")
    assert replace(line, end=Point(5, 6)) == Line(start=Point(1, 2), end=Point(5, 6))
    assert repr(Point(1, 2)) == "Point(x=1, y=2, names=())"


def test_a_snapshot_shares_it_as_what_nobody_changes() -> None:
    line = Line(start=Point(1, 2), end=Point(3, 4))
    kept = Kept({"a": line})
    (copied,) = StateFormat(Kept).copies(kept)
    assert isinstance(copied, Kept)
    assert copied is not kept
    assert copied.lines["a"] is line
