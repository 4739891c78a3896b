"""Compares every row of a view with a fresh fold that is at exactly the same appends.

Both files are looked at as they were at one moment, so both may go on meanwhile; and it is done in small steps, so that
whoever shares the loop has its turn.
"""

import asyncio
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from interlock.projections.compare import KeyedRow, Tally, paced
from interlock.projections.rows import R, Table
from interlock.projections.sqlite_rows import select_all
from interlock.projections.status import TableVerified
from interlock.projections.store import read_marks
from interlock.projections.view import View


@contextmanager
def moment(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """A view's file as it is now, whatever is written to it meanwhile. Raises `sqlite3.Error`."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
    try:
        connection.execute("PRAGMA query_only=1")
        connection.execute("BEGIN")
        # Only what is read fixes the moment.
        read_marks(connection)
        yield connection
    finally:
        connection.close()


async def compare(view: View, fresh: sqlite3.Connection, serving: sqlite3.Connection) -> tuple[TableVerified, ...]:
    """How the rows that serve differ from those that the journals give, table by table."""
    return tuple([await _compare_table(table, fresh, serving) for table in view.tables])


async def _compare_table(table: Table[Any], fresh: sqlite3.Connection, serving: sqlite3.Connection) -> TableVerified:
    tally, rows = Tally(), 0
    for step in paced(_rows(table, fresh), _rows(table, serving)):
        if isinstance(step, int):
            rows += step
            await asyncio.sleep(0)
        else:
            tally.count(step)
    return TableVerified(name=table.name, rows=rows, differ=tally)


def _rows(table: Table[R], connection: sqlite3.Connection) -> Iterator[KeyedRow]:
    for values in select_all(connection, table):
        yield KeyedRow(table.key_of(cast(R, values)), values)
