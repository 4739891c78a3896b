"""The source of an ingress: reads the shards that an assignment gives it, from positions that the log keeps.

The same on every backend; they differ in who assigns and in where positions are kept (`Positions`).

    assignment ─► shards ─► a reader each ─► poll ─► (the caller delivers) ─► commit ─► positions

What would surprise: a process that lost a shard without knowing it yet may have a position refused, or one kept that is
behind what another has reached. Both only let records be delivered again, and the ingress's receivers drop repeats.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from interlock.log.port import Assignment, Extent, LogError, Reader, Shard, Stored, Unavailable

READ_S = 5.0
"""How long the reader of an idle shard waits at a time; a record ends the wait."""


class Positions(Protocol):
    """Where the offsets to go on from are kept."""

    async def load(self, shards: frozenset[Shard]) -> Mapping[Shard, int]:
        """The offsets of those that have one. Raises `Unavailable`."""
        ...

    async def store(self, offsets: Mapping[Shard, int]) -> frozenset[Shard]:
        """Keeps offsets, and returns the shards for which it did. Raises `Unavailable`."""
        ...


class Readable(Protocol):
    """The part of a log that is needed here."""

    def reader(self, shard: Shard, offset: int) -> Reader:
        """As `port.Log.reader`."""
        ...

    async def extent(self, shard: Shard) -> Extent:
        """As `port.Log.extent`."""
        ...


class MemoryPositions:
    """Positions as long as this object lives; processes of a simulation share one."""

    def __init__(self) -> None:
        self._offsets: dict[Shard, int] = {}

    async def load(self, shards: frozenset[Shard]) -> Mapping[Shard, int]:
        """The offsets of those that have one."""
        return {shard: self._offsets[shard] for shard in sorted(shards) if shard in self._offsets}

    async def store(self, offsets: Mapping[Shard, int]) -> frozenset[Shard]:
        """Keeps offsets; one that is behind what is kept changes nothing."""
        for shard, offset in offsets.items():
            self._offsets[shard] = max(offset, self._offsets.get(shard, 0))
        return frozenset(offsets)


class ReadingGroup:
    """Implements `port.GroupSource` over readers, one assignment a topic, and positions; used by one task at a time."""

    def __init__(self, log: Readable, assignments: Mapping[str, Assignment], positions: Positions) -> None:
        """Takes the assignments over: `close` closes them."""
        self._log = log
        self._assignments = dict(assignments)
        self._positions = positions
        self._readers: dict[Shard, Reader] = {}
        self._reading: dict[Shard, asyncio.Task[Sequence[Stored]]] = {}
        self._watching: dict[str, asyncio.Task[frozenset[int]]] = {}
        self._followed: dict[str, frozenset[int]] = {}

    @property
    def shards(self) -> frozenset[Shard]:
        """The shards that are read now, as of the last poll."""
        return frozenset(self._readers)

    async def poll(self, wait_s: float) -> Sequence[tuple[Shard, Sequence[Stored]]]:
        """As `port.GroupSource.poll`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        while True:
            await self._follow()
            for shard, reader in self._readers.items():
                if shard not in self._reading:
                    self._reading[shard] = asyncio.create_task(reader.read(READ_S))
            waiting: set[asyncio.Task[Any]] = {*self._reading.values(), *self._watch()}
            await asyncio.wait(waiting, timeout=max(0.0, deadline - loop.time()), return_when=asyncio.FIRST_COMPLETED)
            found = self._collect()
            if found or loop.time() >= deadline:
                return found

    async def commit(self, offsets: Mapping[Shard, int]) -> frozenset[Shard]:
        """As `port.GroupSource.commit`."""
        held = self._held()
        return await self._positions.store({shard: offset for shard, offset in offsets.items() if shard in held})

    async def close(self) -> None:
        """Gives the shards away and closes the readers."""
        tasks: list[asyncio.Task[Any]] = [*self._reading.values(), *self._watching.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._reading.clear()
        self._watching.clear()
        for assignment in self._assignments.values():
            await assignment.close()
        for reader in self._readers.values():
            await reader.close()
        self._readers.clear()

    def _held(self) -> frozenset[Shard]:
        return frozenset(
            Shard(topic, partition)
            for topic, assignment in self._assignments.items()
            for partition in assignment.current()
        )

    async def _follow(self) -> None:
        """Closes the readers of what was given away, and opens those of what came."""
        self._followed = {topic: assignment.current() for topic, assignment in self._assignments.items()}
        held = self._held()
        for shard in [each for each in self._readers if each not in held]:
            await self._let_go(shard)
        new = held - self._readers.keys()
        if not new:
            return
        offsets = await self._positions.load(new)
        for shard in sorted(new):
            offset = offsets[shard] if shard in offsets else (await self._log.extent(shard)).first
            self._readers[shard] = self._log.reader(shard, offset)

    async def _let_go(self, shard: Shard) -> None:
        reading = self._reading.pop(shard, None)
        if reading is not None:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        await self._readers.pop(shard).close()

    def _watch(self) -> Sequence[asyncio.Task[frozenset[int]]]:
        """One task a topic, which ends when its assignment is no longer what was followed."""
        for topic, assignment in self._assignments.items():
            watching = self._watching.get(topic)
            if watching is None or watching.done():
                self._watching[topic] = asyncio.create_task(assignment.changed(self._followed[topic]))
        return list(self._watching.values())

    def _collect(self) -> list[tuple[Shard, Sequence[Stored]]]:
        """What the readers have found. What one of them fails with is raised where the others have found nothing."""
        held = self._held()
        found: list[tuple[Shard, Sequence[Stored]]] = []
        failed: LogError | None = None
        for shard, reading in list(self._reading.items()):
            if not reading.done() or shard not in held:
                continue
            error = reading.exception()
            if error is not None and found:
                continue  # told by the next poll; what was read is not lost meanwhile
            del self._reading[shard]
            if error is None:
                if reading.result():
                    found.append((shard, reading.result()))
            elif isinstance(error, Unavailable):
                failed = error
            else:
                raise error
        if failed is not None and not found:
            raise failed
        return found
