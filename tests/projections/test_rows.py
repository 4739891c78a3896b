"""Tables and rows: what they accept, and that rows in memory and in a file behave alike."""

import sqlite3
from typing import Literal, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.projections.rows import MemoryRows, Rows, Table, digest
from interlock.projections.sqlite_rows import SqliteRows, ddl, select_all


class Seat(NamedTuple):
    train: str
    number: int
    state: Literal["free", "taken"]
    note: bytes | None


SEATS = Table("seats", Seat, ("train", "number"), indexes=(("state",),))
REREAD_SEATS = Table("seats", Seat, ("train", "number"), reread=True)

TRAINS = st.sampled_from(["a", "b", "c"])
NUMBERS = st.integers(1, 4)
STATES: st.SearchStrategy[Literal["free", "taken"]] = st.sampled_from(["free", "taken"])
PUTS = st.builds(Seat, train=TRAINS, number=NUMBERS, state=STATES, note=st.none() | st.binary(max_size=2))
STEPS = st.lists(PUTS | st.tuples(TRAINS, NUMBERS) | st.just("flush"), max_size=40)


def sqlite_rows(table: Table[Seat]) -> tuple[sqlite3.Connection, SqliteRows]:
    connection = sqlite3.connect(":memory:")
    for statement in ddl(table):
        connection.execute(statement)
    return connection, SqliteRows(connection)


def do(rows: Rows, table: Table[Seat], step: Seat | tuple[str, int]) -> None:
    if isinstance(step, Seat):
        rows.put(table, step)
    else:
        rows.delete(table, *step)


@pytest.mark.parametrize("table", [SEATS, REREAD_SEATS], ids=["written", "reread"])
@settings(deadline=None)
@given(steps=STEPS)
def test_rows_in_a_file_answer_as_rows_in_memory_do(
    table: Table[Seat], steps: list[Seat | tuple[str, int] | str]
) -> None:
    connection, stored = sqlite_rows(table)
    remembered = MemoryRows()
    try:
        for step in steps:
            if isinstance(step, str):
                stored.flush()
                continue
            do(stored, table, step)
            do(remembered, table, step)
            assert stored.under(table, "a") == remembered.under(table, "a")
            assert stored.under(table, "b", 2) == remembered.under(table, "b", 2)
            assert stored.under(table) == remembered.all(table)
            assert stored.get(table, "a", 1) == remembered.get(table, "a", 1)
        stored.flush()
        assert digest({"seats": select_all(connection, table)}) == remembered.digest([table])
    finally:
        connection.close()


def test_the_digest_tells_rows_apart_but_not_the_order_in_which_they_were_written() -> None:
    first, second = (Seat(train="a", number=number, state="free", note=None) for number in (1, 2))
    one, other, different = MemoryRows(), MemoryRows(), MemoryRows()
    for rows, seats in ((one, (first, second)), (other, (second, first)), (different, (first,))):
        for seat in seats:
            rows.put(SEATS, seat)
    assert one.digest([SEATS]) == other.digest([SEATS])
    assert one.digest([SEATS]) != different.digest([SEATS])


def test_a_row_may_hold_only_what_a_database_keeps_exactly() -> None:
    class Tagged(NamedTuple):
        id: str
        tag: str | int

    with pytest.raises(TypeError, match=r"expected tagged\.tag to be text, an integer or bytes"):
        Table("tagged", Tagged, ("id",))
