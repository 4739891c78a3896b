"""A connection to a log in memory that nobody asks in vain: a reader that has nothing waits for days.

Readers ask again twice a second, since a real log may fail to wake them. In memory an append, or the end of the
connection, always does; so a year without anything to do costs a handful of steps instead of millions.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from interlock.log.group import ReadingGroup
from interlock.log.memory import MemoryLog
from interlock.log.port import Extent, Reader, Record, Shard, Stored

PATIENCE_S: Final = 7 * 86_400.0
"""How long a read waits that nothing wakes."""


class PatientLog:
    """Implements `Log`."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    @property
    def batch_bytes_max(self) -> int:
        """As the log's."""
        return self._log.batch_bytes_max

    async def send(self, shard: Shard, batch: Sequence[Record]) -> int:
        """As the log does."""
        return await self._log.send(shard, batch)

    def reader(self, shard: Shard, offset: int) -> Reader:
        """A reader that waits long."""
        return _PatientReader(self._log.reader(shard, offset))

    async def end(self, shard: Shard) -> int:
        """As the log does."""
        return await self._log.end(shard)

    async def extent(self, shard: Shard) -> Extent:
        """As the log does."""
        return await self._log.extent(shard)

    async def close(self) -> None:
        """Closes the connection."""
        await self._log.close()


class _PatientReader:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    @property
    def next_offset(self) -> int:
        return self._reader.next_offset

    async def read(self, wait_s: float) -> Sequence[Stored]:
        return await self._reader.read(max(wait_s, PATIENCE_S))

    async def close(self) -> None:
        await self._reader.close()


class PatientGroup:
    """Implements `GroupSource`; a poll that isn't short because something has to be committed waits long."""

    def __init__(self, group: ReadingGroup, *, idle_s: float) -> None:
        """`idle_s` is how long a poll waits where there is nothing to commit."""
        self._group = group
        self._idle_s = idle_s

    @property
    def shards(self) -> frozenset[Shard]:
        """As the group's."""
        return self._group.shards

    async def poll(self, wait_s: float) -> Sequence[tuple[Shard, Sequence[Stored]]]:
        """As the group does."""
        return await self._group.poll(PATIENCE_S if wait_s >= self._idle_s else wait_s)

    async def commit(self, offsets: Mapping[Shard, int]) -> frozenset[Shard]:
        """As the group does."""
        return await self._group.commit(offsets)

    async def close(self) -> None:
        """Closes the group."""
        await self._group.close()
