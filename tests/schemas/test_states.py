"""The text of state: it comes back as it was, copies stay as they are, and other classes have another fingerprint."""

from collections import deque
from dataclasses import dataclass, field, make_dataclass
from typing import Literal, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.schemas.errors import InvalidSchema
from interlock.schemas.states import ITEMS_MAX, LINE_BYTES, StateFormat
from tests.support.snapshots import through_text


@dataclass(frozen=True, slots=True)
class Point:
    """Of plain fields only."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Base:
    """What another one is made of."""

    name: str


@dataclass(frozen=True, slots=True)
class Derived(Base):
    """With a base."""

    points: tuple[Point, ...] = ()


class Row(NamedTuple):
    """A named tuple."""

    key: tuple[str, int]
    value: bytes


@dataclass(frozen=True, slots=True)
class Row2:
    """Another branch."""

    points: frozenset[str]


@dataclass(slots=True)
class Ledger:
    """Changed in place, within a dict."""

    by_slot: dict[str, tuple[Point, ...]] = field(default_factory=dict[str, tuple[Point, ...]])
    by_claim: dict[str, dict[str, Point]] = field(default_factory=dict[str, dict[str, Point]])


@dataclass(slots=True)
class State:
    """One of everything."""

    number: int
    status: Literal["on", "off"]
    maybe: Point | None
    either: Point | Row2 | None
    rows: list[Row]
    derived: Derived
    names: set[str]
    frozen: frozenset[int]
    queue: deque[int]
    pairs: dict[tuple[str, str], Point]
    ledgers: dict[str, Ledger]
    inner: Ledger


FORM = StateFormat(State)
text = st.text(max_size=6)
number = st.integers(-(2**70), 2**70)
points = st.builds(Point, text, number)
ledgers = st.builds(
    Ledger,
    st.dictionaries(text, st.lists(points, max_size=3).map(tuple), max_size=3),
    st.dictionaries(text, st.dictionaries(text, points, max_size=3), max_size=3),
)
states = st.builds(
    State,
    number=number,
    status=st.sampled_from(("on", "off")),
    maybe=st.none() | points,
    either=st.none() | points | st.builds(Row2, st.frozensets(text, max_size=3)),
    rows=st.lists(st.builds(Row, st.tuples(text, number), st.binary(max_size=6)), max_size=300),
    derived=st.builds(Derived, text, st.lists(points, max_size=3).map(tuple)),
    names=st.sets(text, max_size=3),
    frozen=st.frozensets(number, max_size=3),
    queue=st.lists(number, max_size=3).map(deque),
    pairs=st.dictionaries(st.tuples(text, text), points, max_size=3),
    ledgers=st.dictionaries(text, ledgers, max_size=3),
    inner=ledgers,
)


@settings(max_examples=60, deadline=None)
@given(states)
def test_what_is_written_comes_back_as_it_was_and_of_the_same_classes(state: State) -> None:
    (found,) = through_text(FORM, state)
    assert found == state
    assert isinstance(found, State)
    assert [type(row) for row in found.rows] == [Row] * len(found.rows)


@settings(max_examples=30, deadline=None)
@given(states)
def test_a_copy_stays_as_it_is_whatever_becomes_of_the_state(state: State) -> None:
    before = list(FORM.lines(state))
    (copied,) = FORM.copies(state)
    state.rows.append(Row(("new", 1), b""))
    state.names.add("new one")
    state.queue.append(7)
    state.pairs["new", "new"] = Point("new", 1)
    for ledger in (state.inner, *state.ledgers.values()):
        ledger.by_slot["new one"] = ()
        for claimants in ledger.by_claim.values():
            claimants["new one"] = Point("new", 1)
    assert list(FORM.lines(copied)) == before


def test_text_that_is_no_unicode_comes_back_too() -> None:
    @dataclass(frozen=True, slots=True)
    class One:
        text: str

    assert through_text(StateFormat(One), One("a\ud800\n")) == (One("a\ud800\n"),)


def test_a_large_container_is_written_in_many_lines_and_large_items_in_short_ones() -> None:
    @dataclass(frozen=True, slots=True)
    class Many:
        texts: tuple[str, ...]

    small = list(StateFormat(Many).lines(Many(("x",) * 10_000)))
    assert len(small) > 10_000 / ITEMS_MAX
    large = list(StateFormat(Many).lines(Many(("x" * 10_000,) * 1_000)))
    assert max(map(len, large)) < 3 * LINE_BYTES


def test_other_fields_types_or_classes_have_another_fingerprint() -> None:
    forms = [
        make_dataclass("One", [("a", kind), *more], frozen=True, slots=True)
        for kind, more in (
            (int, []),
            (str, []),
            (int | None, []),
            (tuple[int, ...], []),
            (Literal["x"], []),
            (Literal["x", "y"], []),
            (Point, []),
            (Row2, []),
            (int, [("b", int)]),
        )
    ]
    assert len({StateFormat(form).fingerprint for form in forms}) == len(forms)
    assert StateFormat(State).fingerprint == FORM.fingerprint


@pytest.mark.parametrize("kind", [object, float, Point | int, dict[str, object], tuple[list[int], ...]])
def test_what_has_no_form_is_refused_when_the_format_is_made(kind: object) -> None:
    with pytest.raises(InvalidSchema):
        StateFormat(make_dataclass("One", [("a", kind)], slots=True))
