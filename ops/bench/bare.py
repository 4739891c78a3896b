"""Logs with nothing around them: what a record costs to be durable, and to reach who listens.

Here is what they have in common; `bare_kafka.py` and `bare_local.py` have one for each kind of log.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from interlock.log.port import Headers, Record, Shard
from ops.bench.subject import Counts

T = TypeVar("T")

GATHERED_MAX = 512
"""Decisions in one append, as the engine's own bound has it."""


class Told(Protocol):
    """A record as a listener gets it."""

    @property
    def key(self) -> bytes:
        """Its key."""
        ...

    @property
    def value(self) -> bytes:
        """Its value."""
        ...

    @property
    def headers(self) -> Headers:
        """Its headers in order."""
        ...


Heard = Sequence[tuple[Shard, Sequence[Told]]]
"""What came at once, by shard."""


class Bare(Protocol):
    """A log for the hops."""

    @property
    def tally(self) -> "Tally":
        """What it sends, if asked to count."""
        ...

    async def listen(self, topics: Sequence[str], take: Callable[[Heard], None]) -> None:
        """Gives every record of the topics that comes from now on to `take`."""
        ...

    async def send(self, shard: Shard, batch: Sequence[Record]) -> None:
        """Returns when the batch is durable."""
        ...

    async def close(self) -> None:
        """Ends it."""
        ...


class Lane(Generic[T]):
    """What goes to one shard: while one batch is on its way, what comes gathers into the next."""

    def __init__(
        self,
        bare: Bare,
        shard: Shard,
        build: Callable[[Sequence[T]], list[Record]],
        landed: Callable[[Sequence[T], Sequence[Record]], None],
    ) -> None:
        """`build` makes a batch; `landed` is called when it is durable."""
        self._bare = bare
        self._shard = shard
        self._build = build
        self._landed = landed
        self._items: deque[T] = deque()
        self._task: asyncio.Task[None] | None = None

    def put(self, items: Sequence[T]) -> None:
        """Takes items; returns at once."""
        self._items.extend(items)
        if self._task is None and self._items:
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while self._items:
            items = [self._items.popleft() for _ in range(min(len(self._items), GATHERED_MAX))]
            batch = self._build(items)
            await self._bare.send(self._shard, batch)
            self._landed(items, batch)
        self._task = None


class Tally:
    """Counts what is sent between `begin` and `end`; at other times nothing, as it costs time."""

    def __init__(self) -> None:
        self.on = False
        self._counts = Counts(0, 0, 0, 0)

    def sent(self, batch: Sequence[Record]) -> None:
        """Counts a batch."""
        if self.on:
            size = sum(map(content_bytes, batch))
            self._add(Counts(len(batch), size, 0, 0))

    def flushed(self, batches: int) -> None:
        """Counts one flush, and the batches that it wrote."""
        if self.on:
            self._add(Counts(0, 0, batches, 1))

    def begin(self) -> None:
        """Begins anew."""
        self.on, self._counts = True, Counts(0, 0, 0, 0)

    def end(self) -> Counts:
        """What was counted."""
        self.on = False
        return self._counts

    def _add(self, more: Counts) -> None:
        self._counts = Counts(*map(sum, zip(self._counts, more, strict=True)))


def content_bytes(record: Told) -> int:
    """What a record says, without what a format adds: key, value, names and values of headers."""
    return len(record.key) + len(record.value) + sum(len(name) + len(value) for name, value in record.headers)
