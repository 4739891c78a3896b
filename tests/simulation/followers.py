"""A plain client that begins to read a journal in the middle, as any consumer may, and sees what all others see."""

import asyncio
import random
from typing import Final

from interlock.log.journal import JournalReader
from interlock.log.port import Unavailable
from tests.simulation.checks import Violation
from tests.simulation.items import FollowItem
from tests.simulation.world import World

AGAIN_S: Final = 0.5


class Follower:
    """One that begins somewhere."""

    def __init__(self, world: World, item: FollowItem) -> None:
        self.found: list[tuple[int, str]] = []
        """Number and id of every append that it saw to count."""
        self._world = world
        self._shard = world.topics.journal(item.context, item.partition)
        self._item = item
        self._reader: JournalReader | None = None

    async def begin(self) -> None:
        """Chooses where to begin."""
        end = await self._world.quiet.end(self._shard)
        first = random.Random(self._item.seed).randint(0, end)
        self._world.trace.add("reader", f"begins to read {self._shard} at {first}")
        self._reader = JournalReader(self._world.shared, self._shard, middle=first)

    async def run_to_end(self) -> None:
        """Reads on, to the end of now."""
        if self._reader is None:
            return
        end = await self._world.quiet.end(self._shard)
        while self._reader.next_offset < end:
            try:
                appends = await self._reader.read(1.0)
            except Unavailable:
                await asyncio.sleep(AGAIN_S)
                continue
            self.found += [(append.frame.number, append.frame.id) for append in appends]

    async def check(self) -> None:
        """Compares what it saw with what a reader from the beginning sees. Raises `Violation`."""
        if self._reader is None:
            return
        await self.run_to_end()
        whole = JournalReader(self._world.quiet, self._shard)
        counted: list[tuple[int, str]] = []
        while whole.next_offset < self._reader.next_offset:
            counted += [(append.frame.number, append.frame.id) for append in await whole.read(0.0)]
        if self.found and self.found != counted[self.found[0][0] - 1 :]:
            raise Violation(
                "every reader folds the same",
                f"expected a reader of {self._shard} that began at append {self.found[0][0]} to see what one from the "
                f"beginning sees, found {len(self.found)} appends of {len(counted)}",
            )
