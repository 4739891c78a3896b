"""Keeps one processor running for each shard of a context that is assigned to this process.

    assignment changes ─► gained: start a processor ─► it opens the shard
                       └► lost: stop it in order (the turn under way ends, what it promised is delivered)

A shard that comes back to the same process is not touched. Whether a processor may write is the journal's matter alone.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from interlock.log.port import Assignment
from interlock.processors.courier import Waiting
from interlock.processors.ownership import Ownership
from interlock.processors.ports import Bounds
from interlock.processors.processor import ShardProcessor

log = logging.getLogger(__name__)


class ShardHost:
    """The shards of one context that this process works on."""

    def __init__(
        self,
        context: str,
        assignment: Assignment,
        make: Callable[[int], Ownership],
        *,
        fit: Callable[[], Awaitable[None]],
        bounds: Bounds,
        chance: random.Random,
    ) -> None:
        """`fit` raises `ClockOff` where no shard may be opened."""
        self.context = context
        self.processors: dict[int, ShardProcessor] = {}
        self._assignment = assignment
        self._make = make
        self._fit = fit
        self._bounds = bounds
        self._chance = chance
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Follows the assignment until it is cancelled; then ends its processors in order and leaves the group."""
        known: frozenset[int] = frozenset()
        try:
            while True:
                assigned = self._assignment.current()
                await self._stop(known - assigned)
                for partition in sorted(assigned):
                    self._start(partition)
                known = assigned
                await self._change(known)
        finally:
            # Leaving first would let others take over before our last appends; they would be void, and done again.
            await self._stop(frozenset(self._tasks))
            await self._assignment.close()

    async def _change(self, known: frozenset[int]) -> None:
        """Waits for another assignment, or for a processor that ended although its shard is still assigned."""
        changed = asyncio.ensure_future(self._assignment.changed(known))
        working = [task for partition, task in self._tasks.items() if self.processors[partition].fault is None]
        try:
            await asyncio.wait((changed, *working), return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
            await asyncio.gather(changed, return_exceptions=True)

    def faults(self) -> list[str]:
        """What stands still and needs an operator."""
        found = [(one.name, one.fault) for one in self.processors.values()]
        return [f"shard {name}: {fault}" for name, fault in found if fault is not None]

    def waiting(self) -> list[str]:
        """Assigned shards that are not open yet, or whose writes have failed and none has come through since."""
        found: list[str] = []
        for one in self.processors.values():
            if (error := one.last_error) is not None:
                found.append(f"shard {one.name} can't write: {error}")
            elif not one.serving:
                found.append(f"shard {one.name} is being opened")
        return found

    def undelivered(self) -> dict[int, Waiting]:
        """Partition → its promises that are not delivered yet, where those of earlier owners are known already."""
        return {
            partition: waiting
            for partition, one in self.processors.items()
            if one.ownership is not None and (waiting := one.ownership.undelivered) is not None
        }

    def _start(self, partition: int) -> None:
        task = self._tasks.get(partition)
        if task is not None and (not task.done() or self.processors[partition].fault is not None):
            return
        processor = ShardProcessor(
            f"{self.context}/{partition}",
            make=lambda: self._make(partition),
            still_assigned=lambda: self._still(partition),
            fit=self._fit,
            bounds=self._bounds,
            chance=self._chance,
        )
        self.processors[partition] = processor
        self._tasks[partition] = asyncio.create_task(processor.run(), name=processor.name)

    async def _still(self, partition: int) -> bool:
        return partition in self._assignment.current()

    async def _stop(self, partitions: frozenset[int]) -> None:
        tasks = [self._tasks.pop(partition) for partition in partitions if partition in self._tasks]
        for partition in partitions:
            processor = self.processors.pop(partition, None)
            if processor is not None:
                processor.stop()
        if not tasks:
            return
        await asyncio.wait(tasks, timeout=self._bounds.stop_s * 2)
        for task in tasks:  # in their order: a set's is that of addresses, and a simulation must repeat itself
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
