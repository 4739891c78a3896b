"""When rows leave the write-ahead log for the file itself."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from interlock.projections import store as stores
from interlock.projections.history.fold import VIEW
from interlock.projections.history.store import COUNTS, CountRow
from interlock.projections.sqlite_rows import SqliteRows
from interlock.projections.store import ROWS_PER_CHECKPOINT, Store, StoreAway
from tests.projections.journals import Journals, projecting
from tests.projections.stories import whole_run

PATIENCE_S = 60.0
"""Only a test that fails waits for it."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "history.sqlite", VIEW)) as opened:
        yield opened


def write(store: Store, first: int, count: int) -> None:
    def fold(rows: SqliteRows) -> None:
        for number in range(first, first + count):
            rows.put(COUNTS, CountRow(type=f"type {number}", events=number))

    store.transact(fold, {})


def in_the_file(path: Path, table: str = "counts", *, immutable: int = 1) -> int:
    """How many rows are in the file itself, whatever its write-ahead log holds; with that one where it is not
    `immutable`."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable={immutable}", uri=True)) as connection:
        (count,) = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
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


async def test_a_view_writes_on_while_a_thread_brings_rows_into_its_file_and_waits_only_for_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publish waits for the view's next rows, and the disk may take long for thousands of earlier ones.

    Behind the second checkpoint everything is in the file, so its write-ahead log is used anew.
    """
    goes_on, ended = threading.Event(), threading.Event()
    begun: list[str] = []
    held: list[tuple[int, int]] = []
    checkpoint = Store.checkpoint

    def slow(self: Store) -> None:
        begun.append("first" if not begun else "second")
        assert goes_on.wait(PATIENCE_S)
        checkpoint(self)
        if begun == ["first", "second"]:
            held.append((in_the_file(self.path, "executions"), in_the_file(self.path, "executions", immutable=0)))
            ended.set()

    monkeypatch.setattr(Store, "checkpoint", slow)
    monkeypatch.setattr(stores, "ROWS_PER_CHECKPOINT", 1)
    journals = Journals()
    async with projecting(journals, tmp_path) as host:
        for name in ("one", "two", "three"):
            append = await journals.commit("executions", *whole_run(name))
            assert await host.reached({journals.shard("executions"): append.frame.number}, PATIENCE_S)
            assert "second" not in begun
        goes_on.set()
        count = 3
        while not ended.is_set():
            count += 1
            append = await journals.commit("executions", *whole_run(f"{count}"))
            assert await host.reached({journals.shard("executions"): append.frame.number}, PATIENCE_S)
    ((brought, stored),) = held
    assert 3 < brought == stored <= count
