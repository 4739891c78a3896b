"""What only the embedded log can suffer: foreign files, full disks, locks, clocks that go back, damaged rows."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.log.port import Doubt, Extent, NotNow, Record, Shard, Stored, TopicSpec, Unavailable, batch_bytes
from interlock.log.sqlite import group as sqlite_group
from interlock.log.sqlite.codec import decode, encode
from interlock.log.sqlite.file import FORMAT_VERSION, WrongFile
from interlock.log.sqlite.log import SqliteLog

pytestmark = [pytest.mark.contract]

SHARD = Shard("t", 0)
HANG_S = 30.0

records = st.builds(
    Record,
    st.binary(max_size=20),
    st.binary(max_size=50),
    st.lists(st.tuples(st.text(max_size=10), st.binary(max_size=10)), max_size=5).map(tuple),
)


def one(value: bytes = b"v") -> list[Record]:
    return [Record(b"k", value)]


async def values(log: SqliteLog, offset: int = 0) -> list[bytes]:
    return [record.value for record in await log.reader(SHARD, offset).read(0)]


async def execute(log: SqliteLog, statement: str) -> Sequence[object]:
    return await log.write(lambda connection: connection.execute(statement).fetchall())


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[..., SqliteLog]]:
    """Opens the test's file, with one topic."""
    opened: list[SqliteLog] = []

    def make(**settings: Any) -> SqliteLog:
        opened.append(SqliteLog(tmp_path / "log.db", **settings))
        return opened[-1]

    await make().create([TopicSpec(name="t", partitions=2)])
    yield make
    for log in opened:
        await log.close()


@given(st.lists(st.lists(records, min_size=1, max_size=5), min_size=1, max_size=4))
def test_a_row_gives_back_what_went_in(batches: list[list[Record]]) -> None:
    encoded = [encode(batch) for batch in batches]
    assert [each.size for each in encoded] == [batch_bytes(batch) for batch in batches]
    everything = [record for batch in batches for record in batch]
    row = b"".join(each.data for each in encoded)
    assert decode(row, 7, 8) == [
        Stored(7 + index, 8, record.key, record.value, record.headers) for index, record in enumerate(everything)
    ]


@given(st.lists(records, min_size=1, max_size=5), st.data())
def test_a_cut_row_is_noticed(batch: list[Record], data: st.DataObject) -> None:
    encoded = encode(batch).data
    cut = data.draw(st.integers(1, len(encoded) - 1))
    with pytest.raises(ValueError, match="expected batches"):
        decode(encoded[:cut], 0, 0)


@pytest.mark.parametrize("content", [b"no database at all, but long enough to have a header" * 9, b"short"])
def test_a_foreign_file_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(content)
    with pytest.raises(WrongFile, match="file of another kind"):
        SqliteLog(path)
    assert path.read_bytes() == content


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (id)")
    with pytest.raises(WrongFile, match="another SQLite database"):
        SqliteLog(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    SqliteLog(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version={FORMAT_VERSION + 1}")
    with pytest.raises(WrongFile, match="use a newer Interlock"):
        SqliteLog(path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="is its folder there"):
        SqliteLog(tmp_path / "missing" / "log.db")


async def test_an_empty_file_becomes_a_log(tmp_path: Path) -> None:
    """As one that another process has just made and not filled yet."""
    (tmp_path / "log.db").touch()
    log = SqliteLog(tmp_path / "log.db")
    assert list(await log.create([TopicSpec(name="t", partitions=1)])) == ["t"]
    await log.close()


@pytest.mark.parametrize("time", range(10))
async def test_many_may_make_the_file_at_once(tmp_path: Path, time: int) -> None:
    logs = await asyncio.gather(*(asyncio.to_thread(SqliteLog, tmp_path / "log.db") for _ in range(8)))
    made = [await log.create([TopicSpec(name="t", partitions=1)]) for log in logs]
    assert made == [["t"]] + [[]] * 7
    for log in logs:
        await log.close()


async def test_the_file_has_a_write_ahead_log_and_full_flushes(make: Callable[..., SqliteLog]) -> None:
    """Proves: LOG-07"""
    log = make()
    assert await log.check([TopicSpec(name="t", partitions=2)]) == []
    assert await execute(log, "PRAGMA synchronous") == [(2,)]
    assert await execute(log, "PRAGMA journal_mode") == [("wal",)]


async def test_a_full_disk_refuses_and_loses_nothing(make: Callable[..., SqliteLog]) -> None:
    """Proves: LOG-02"""
    log = make()
    await log.send(SHARD, one(b"before"))
    await execute(log, "PRAGMA max_page_count=1")
    with pytest.raises(NotNow, match="full"):
        await asyncio.gather(*(log.send(SHARD, one(bytes(100_000))) for _ in range(3)))
    extent = await log.extent(SHARD)
    assert extent == Extent(0, 1)
    assert await values(make()) == [b"before"]
    await execute(log, "PRAGMA max_page_count=100000")
    assert await log.send(SHARD, one(b"after")) == extent.end
    assert await make().extent(SHARD) == Extent(0, extent.end + 1)


async def test_a_lock_that_is_not_had_refuses(make: Callable[..., SqliteLog]) -> None:
    log = make(busy_s=0.05)
    await log.send(SHARD, one(b"before"))
    with closing(sqlite3.connect(log.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(NotNow, match="locked"):
            await log.send(SHARD, one(b"during"))
        with pytest.raises(Unavailable, match="locked"):
            await log.create([TopicSpec(name="u", partitions=1)])
        assert await values(log) == [b"before"]
    assert await log.send(SHARD, one(b"after")) == 1


async def test_a_failed_flush_is_a_doubt(make: Callable[..., SqliteLog], monkeypatch: pytest.MonkeyPatch) -> None:
    """What an I/O error has left in the file, nobody knows; the next group has a new connection."""
    log = make()
    await log.send(SHARD, one(b"before"))

    def fail(*_: object) -> bool:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_group.Offsets, "insert", fail)
        with pytest.raises(Doubt, match="I/O"):
            await log.send(SHARD, one())
        # Without what was known there is a transaction, and an error before its commit leaves no doubt.
        with pytest.raises(NotNow, match="I/O"):
            await log.send(SHARD, one())
    assert await log.send(SHARD, one(b"after")) == 1
    assert await values(log) == [b"before", b"after"]


async def test_a_send_without_an_answer_is_in_doubt(make: Callable[..., SqliteLog]) -> None:
    log = make(send_s=0.05)
    with closing(sqlite3.connect(log.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Doubt, match="within"):
            await log.send(SHARD, one(b"late"))
    reader = log.reader(SHARD, 0)
    assert [record.value for record in await reader.read(HANG_S)] == [b"late"]


async def test_the_time_does_not_follow_a_clock_that_goes_back(make: Callable[..., SqliteLog]) -> None:
    now_ms = 5000
    log, other = make(now_ms=lambda: now_ms), make(now_ms=lambda: now_ms - 1000)
    for each, now_ms in ((log, 5000), (log, 4000), (other, 3000), (log, 4500), (log, 6000)):  # noqa: B007
        await each.send(SHARD, one())
    found = [record.time_ms for record in await other.reader(SHARD, 0).read(0)]
    assert found == [5000, 5000, 5000, 5000, 6000]


async def test_nobody_appends_where_another_process_has_trimmed(make: Callable[..., SqliteLog]) -> None:
    """The row at the offset that the first one knows is gone again, and only the revision tells."""
    log, other = make(), make()
    assert await log.send(SHARD, one()) == 0
    assert [await other.send(SHARD, one()) for _ in range(3)] == [1, 2, 3]
    await other.trim(SHARD, 4)
    assert await log.send(SHARD, one(b"new")) == 4
    assert await log.extent(SHARD) == Extent(4, 5)


async def test_a_long_head_is_trimmed_in_pieces(
    make: Callable[..., SqliteLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.log.sqlite.admin.TRIM_ROWS_MAX", 3)
    log = make()
    for number in range(11):
        await log.send(SHARD, one(b"%d" % number))
    await log.trim(SHARD, 10)
    assert await execute(log, "SELECT count(*) FROM batch") == [(1,)]
    assert await values(log, 10) == [b"10"]


async def test_a_damaged_row_stops_its_reader(make: Callable[..., SqliteLog]) -> None:
    log = make()
    await log.send(SHARD, one(b"damaged"))
    await execute(log, "UPDATE batch SET data = substr(data, 1, 20)")
    with pytest.raises(WrongFile, match="restore"):
        await make().reader(SHARD, 0).read(0)


async def test_a_group_that_is_larger_than_a_row_is_read_in_pieces(make: Callable[..., SqliteLog]) -> None:
    log = make()
    batch = [Record(b"%d" % index, bytes(100_000)) for index in range(5)]
    assert sorted(await asyncio.gather(*(log.send(SHARD, batch) for _ in range(6)))) == [0, 5, 10, 15, 20, 25]
    reader = make().reader(SHARD, 7)
    offsets: list[int] = []
    pieces = 0
    while pieces < 6 and (found := await reader.read(0)):
        pieces += 1
        offsets += [record.offset for record in found]
    assert offsets == list(range(7, 30))
    assert pieces > 1


async def test_readers_of_a_gap_look_into_the_file(make: Callable[..., SqliteLog]) -> None:
    """Own appends reach a reader from memory; those of others in between must not be left out."""
    log, other = make(), make()
    reader = log.reader(SHARD, 0)
    await log.send(SHARD, one(b"0"))
    await other.send(SHARD, one(b"1"))
    await log.send(SHARD, one(b"2"))
    await other.send(SHARD, one(b"3"))
    found: list[bytes] = []
    while len(found) < 4:
        found += [record.value for record in await reader.read(HANG_S)]
    assert found == [b"0", b"1", b"2", b"3"]
