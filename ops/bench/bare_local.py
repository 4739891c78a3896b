"""The bare logs of one process.

SQLite: a thread that writes all that has gathered in one flushed transaction, a row a shard, and hands the records over
in memory. Memory: only the latter.
"""

import asyncio
import queue
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from interlock.log.port import Record, Shard
from interlock.log.sqlite.codec import encode
from interlock.log.sqlite.log import SWITCH_INTERVAL_S
from ops.bench.bare import Heard, Tally, Told

FLUSHED_TOGETHER_MAX = 256


class Row(NamedTuple):
    """A row of a bare file."""

    shard: int
    records: int
    time_ms: int
    data: bytes


class _Sent(NamedTuple):
    shard: Shard
    batch: Sequence[Record]
    data: bytes
    done: asyncio.Future[None]


class BareSqlite:
    """One file and one thread; implements `Bare`."""

    def __init__(self, path: Path) -> None:
        if sys.getswitchinterval() > SWITCH_INTERVAL_S:
            # As the engine's log has it: a busy loop keeps the thread waiting otherwise.
            sys.setswitchinterval(SWITCH_INTERVAL_S)
        self.tally = Tally()
        self._loop = asyncio.get_running_loop()
        self._listeners: dict[str, Callable[[Heard], None]] = {}
        self._ids: dict[Shard, int] = {}
        self._connection = open_bare_file(path)
        self._queue: queue.SimpleQueue[_Sent | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._main, name="bare-writer", daemon=True)
        self._thread.start()

    async def listen(self, topics: Sequence[str], take: Callable[[Heard], None]) -> None:
        """Gives what is flushed to `take`."""
        self._listeners |= dict.fromkeys(topics, take)

    async def send(self, shard: Shard, batch: Sequence[Record]) -> None:
        """Returns when the batch is flushed."""
        done: asyncio.Future[None] = self._loop.create_future()
        self.tally.sent(batch)
        self._queue.put(_Sent(shard, batch, encode(batch).data, done))
        await done

    async def close(self) -> None:
        """Ends the thread."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        self._connection.close()

    def _main(self) -> None:
        while True:
            group = self._gather()
            if not group:
                return
            rows = self._rows(group)
            insert_rows(self._connection, rows)
            self._loop.call_soon_threadsafe(self._landed, group, len(rows))

    def _gather(self) -> list[_Sent]:
        """All that waits, or nothing at the end."""
        group: list[_Sent] = []
        try:
            sent = self._queue.get()
            while sent is not None:
                group.append(sent)
                if len(group) >= FLUSHED_TOGETHER_MAX:
                    break
                sent = self._queue.get_nowait()
        except queue.Empty:
            pass
        return group

    def _rows(self, group: Sequence[_Sent]) -> list[Row]:
        by_shard: dict[Shard, list[_Sent]] = {}
        for sent in group:
            by_shard.setdefault(sent.shard, []).append(sent)
        return [
            Row(
                self._ids.setdefault(shard, len(self._ids)),
                sum(len(sent.batch) for sent in each),
                time.time_ns() // 1_000_000,
                b"".join([sent.data for sent in each]),
            )
            for shard, each in by_shard.items()
        ]

    def _landed(self, group: Sequence[_Sent], rows: int) -> None:
        self.tally.flushed(rows)
        _hand_over(self._listeners, group)
        for sent in group:
            sent.done.set_result(None)


class BareMemory:
    """Hands over and keeps nothing; implements `Bare`."""

    def __init__(self) -> None:
        self.tally = Tally()
        self._listeners: dict[str, Callable[[Heard], None]] = {}

    async def listen(self, topics: Sequence[str], take: Callable[[Heard], None]) -> None:
        """Gives what is sent to `take`."""
        self._listeners |= dict.fromkeys(topics, take)

    async def send(self, shard: Shard, batch: Sequence[Record]) -> None:
        """Returns in the next turn of the loop."""
        self.tally.sent(batch)
        await asyncio.sleep(0)
        self.tally.flushed(1)
        take = self._listeners.get(shard.topic)
        if take is not None:
            take([(shard, batch)])

    async def close(self) -> None:
        """Nothing to end."""


def _hand_over(listeners: Mapping[str, Callable[[Heard], None]], group: Sequence[_Sent]) -> None:
    """One call for each listener, with all of the group that is for it."""
    heard: dict[Callable[[Heard], None], list[tuple[Shard, Sequence[Told]]]] = {}
    for sent in group:
        take = listeners.get(sent.shard.topic)
        if take is not None:
            heard.setdefault(take, []).append((sent.shard, sent.batch))
    for take, each in heard.items():
        take(each)


def open_bare_file(path: Path) -> sqlite3.Connection:
    """A file with one table like the engine's: WAL, and a flush at each commit."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    connection.executescript(
        "PRAGMA journal_mode=WAL; CREATE TABLE batch"
        " (id INTEGER PRIMARY KEY, shard INTEGER, count INTEGER, time_ms INTEGER, data BLOB);"
    )
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def insert_rows(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """One statement, and so one transaction and one flush."""
    values = ",".join(["(NULL,?,?,?,?)"] * len(rows))
    connection.execute(f"INSERT INTO batch VALUES {values}", [value for row in rows for value in row])
