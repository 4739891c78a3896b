"""When rows leave the write-ahead log for the file itself."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from interlock.projections.history.fold import VIEW
from interlock.projections.history.store import COUNTS, CountRow
from interlock.projections.sqlite_rows import SqliteRows
from interlock.projections.store import ROWS_PER_CHECKPOINT, Store, StoreAway


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "history.sqlite", VIEW)) as opened:
        yield opened


def write(store: Store, first: int, count: int) -> None:
    def fold(rows: SqliteRows) -> None:
        for number in range(first, first + count):
            rows.put(COUNTS, CountRow(type=f"type {number}", events=number))

    store.transact(fold, {})


def in_the_file(path: Path) -> int:
    """How many rows are in the file itself, whatever its write-ahead log holds."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        (count,) = connection.execute("SELECT COUNT(*) FROM counts").fetchone()
    assert isinstance(count, int)
    return count


def test_a_checkpoint_is_due_after_so_many_rows_and_brings_them_into_the_file(store: Store) -> None:
    due: list[bool] = []
    write(store, 0, ROWS_PER_CHECKPOINT - 1)
    due.append(store.checkpoint_due)
    write(store, ROWS_PER_CHECKPOINT, 1)
    due.append(store.checkpoint_due)
    store.checkpoint()
    due.append(store.checkpoint_due)
    assert due == [False, True, False]
    assert in_the_file(store.path) == ROWS_PER_CHECKPOINT
    write(store, ROWS_PER_CHECKPOINT + 1, 1)
    assert in_the_file(store.path) == ROWS_PER_CHECKPOINT


def test_a_checkpoint_of_a_file_that_is_gone_makes_none(store: Store) -> None:
    with pytest.raises(StoreAway):
        store.checkpoint()
    assert not store.path.exists()
