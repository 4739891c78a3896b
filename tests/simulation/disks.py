"""Disks that are full for a while: what a process then writes fails, to its views in the midst of a transaction and to
its snapshots behind the last block. And disks that are slow: the process stands still until its write has ended.

A full disk takes a small write now and then, where it doesn't take a large one; so each write has its own chance. What
is only read is read. What would surprise: requests and reports of operators are written all the same.
"""

import asyncio
import errno
import sqlite3
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from typing import Final
from unittest.mock import patch

from interlock.projections.sqlite_rows import SqliteRows
from interlock.projections.store import Store
from tests.simulation.sky import Sky
from tests.simulation.trace import IN_PROCESS
from tests.support.snapshots import MemorySnapshots

_DO: Final = "_do"
"""How a store does all that it does in one transaction."""
_MAKE_TABLES: Final = "_make_tables"
"""How it makes its tables where it opens its file, if they are missing."""


@contextmanager
def views_on_disks_of(sky: Sky, stall: Callable[[str, float], None]) -> Generator[None, None, None]:
    """Until it is left, what a simulated process stores in a view fails while its disk is full, and is waited for by
    `stall` where its disk is slow."""
    original: Callable[..., object] = getattr(Store, _DO)
    making: Callable[..., None] = getattr(Store, _MAKE_TABLES)

    def do(store: Store, work: Callable[[sqlite3.Connection, SqliteRows], object]) -> object:
        def written(connection: sqlite3.Connection, rows: SqliteRows) -> object:
            before = connection.total_changes
            result = work(connection, rows)
            # Behind the work, so that a transaction that isn't one shows.
            if connection.total_changes > before:
                refuse(store)
                process = IN_PROCESS.get()
                if takes_s := sky.disk_takes_s(process, f"view {store.path.name}"):
                    stall(process, takes_s)
            return result

        return original(store, written)

    def make_tables(store: Store, connection: sqlite3.Connection) -> None:
        if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            refuse(store)
        making(store, connection)

    def refuse(store: Store) -> None:
        if sky.disk_full(IN_PROCESS.get(), f"view {store.path.name}"):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

    with patch.object(Store, _DO, do), patch.object(Store, _MAKE_TABLES, make_tables):
        yield


class SnapshotsOnDisk(MemorySnapshots):
    """Snapshots of a process, which can't be written while its disk is full."""

    def __init__(self, process: str, sky: Sky) -> None:
        super().__init__()
        self._process = process
        self._sky = sky

    async def write(self, name: str, blocks: AsyncIterator[bytes]) -> None:
        """There once it is whole; the one before it stays where this one fails."""
        await super().write(name, self._written(name, blocks))

    async def _written(self, name: str, blocks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for block in blocks:
            yield block
        if self._sky.disk_full(self._process, f"snapshot {name}"):
            raise OSError(errno.ENOSPC, "No space left on device")
        await asyncio.sleep(self._sky.disk_takes_s(self._process, f"snapshot {name}"))
