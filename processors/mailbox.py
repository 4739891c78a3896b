"""The mailbox of a shard's owner: records of its inbox, read ahead to bounds, and what its own tasks report."""

import asyncio
from collections import deque

from interlock.domain.frozen import frozen
from interlock.log.port import Reader, Stored, Unavailable
from interlock.log.waiters import Waiters

BYTES_MAX = 32 << 20
"""How much is read ahead, where records are large."""


@frozen()
class Local:
    """Something that the owner's own tasks report, such as an activity's result; lost with the ownership."""

    item: object


Item = Stored | Local


class Mailbox:
    """Filled by one reader and any tasks, emptied by the loop of the shard."""

    def __init__(self, records_max: int) -> None:
        self._items: deque[Item] = deque()
        self._records_max = records_max
        self._bytes = 0
        """What the values of the records take."""
        self._woken = False
        """Whether the next `wait` has nothing to wait for."""
        self._arrived = Waiters()
        self._space = asyncio.Event()
        self._space.set()

    def put(self, item: object) -> None:
        """Takes a report of one of the owner's tasks."""
        self._items.append(Local(item))
        self.wake()

    def wake(self) -> None:
        """Ends a `wait` although nothing came (a stop, a due time that moved)."""
        self._woken = True
        self._arrived.wake()

    def put_back(self, items: list[Item]) -> None:
        """Puts items that were taken, and not used, in front again."""
        self._items.extendleft(reversed(items))
        self._bytes += sum(len(item.value) for item in items if isinstance(item, Stored))

    def leave_reports(self) -> bool:
        """Leaves nothing but reports in it, whether there are any; for an owner that takes up no more."""
        self._items = deque(item for item in self._items if isinstance(item, Local))
        self._bytes = 0
        return bool(self._items)

    def take(self) -> list[Item]:
        """All that is there."""
        items = list(self._items)
        self._items.clear()
        self._bytes = 0
        self._woken = False
        self._space.set()
        return items

    async def wait(self, timeout_s: float | None) -> None:
        """Until something is there, `wake` was called, or the time is over."""
        if self._items:
            return
        if timeout_s is not None and timeout_s <= 0:
            # A due time is served at once, and yet the tasks that serve it get their turn.
            await asyncio.sleep(0)
            return
        if not self._woken:
            await self._arrived.wait(timeout_s)

    async def fill(self, reader: Reader, wait_s: float) -> None:
        """Reads an inbox for ever, as far ahead as the bound allows; waits while the log is away."""
        while True:
            if len(self._items) >= self._records_max or self._bytes >= BYTES_MAX:
                self._space.clear()
                await self._space.wait()
            try:
                records = await reader.read(wait_s)
            except Unavailable:
                await asyncio.sleep(wait_s)
                continue
            if records:
                self._items.extend(records)
                self._bytes += sum(len(stored.value) for stored in records)
                self.wake()
