"""The newest records of one shard in memory, so that a reader at the end is handed them without a look at the file.

Always true: what is kept here is durable and without a gap. An append of another process leaves a gap, so what was
kept before it is dropped; readers find it in the file.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from interlock.log.port import Record, Stored
from interlock.log.waiters import Waiters

TAIL_BYTES_MAX = 256 << 10
"""How much is kept for each shard, in bytes of its batches; the objects take a few times as much."""

TAIL_BATCHES_MAX = 256
"""How many batches are kept for each shard at most."""


@dataclass(slots=True)
class _Kept:
    """One batch; `stored` is made for the first reader and shared by all."""

    base: int
    time_ms: int
    size: int
    batch: Sequence[Record]
    stored: Sequence[Stored] = ()

    def records(self) -> Sequence[Stored]:
        if not self.stored:
            self.stored = [
                Stored(self.base + index, self.time_ms, record.key, record.value, tuple(record.headers))
                for index, record in enumerate(self.batch)
            ]
            self.batch = ()
        return self.stored


class Tail:
    """The newest batches of a shard, and those who wait for more. Lives on the event loop."""

    __slots__ = ("_bases", "_bytes", "_end", "_kept", "_seen_end", "appends", "readers", "waiters")

    def __init__(self) -> None:
        self.readers = 0
        """How many readers are open; nothing is kept while there are none."""
        self.appends = 0
        """How many batches this process has appended."""
        self.waiters = Waiters()
        self._bases: list[int] = []
        self._kept: list[_Kept] = []
        self._bytes = 0
        self._end = 0
        self._seen_end = -1

    def add(self, base: int, batch: Sequence[Record], time_ms: int, size: int) -> None:
        """Keeps a batch that this process has appended, and wakes those who wait."""
        if not self.readers or (self._kept and base != self._end):
            self.clear()
        self.appends += 1
        self._end = base + len(batch)
        if self.readers:
            self._bases.append(base)
            self._kept.append(_Kept(base, time_ms, size, batch))
            self._bytes += size
            if self._bytes > TAIL_BYTES_MAX or len(self._kept) > TAIL_BATCHES_MAX:
                self._shrink()
        self.observe(self._end)

    def read(self, offset: int) -> Sequence[Stored]:
        """What is kept from `offset` on; () where that is not kept."""
        if not self._bases or not self._bases[0] <= offset < self._end:
            return ()
        place = bisect_right(self._bases, offset) - 1
        first = self._kept[place].records()
        skip = offset - self._bases[place]
        if skip == 0 and place == len(self._kept) - 1:
            return first
        found = list(first[skip:])
        for kept in self._kept[place + 1 :]:
            found.extend(kept.records())
        return found

    @property
    def seen_end(self) -> int:
        """The shard's end as it was seen last, by whomever; -1 before that."""
        return self._seen_end

    def observe(self, end: int) -> None:
        """Takes notice of the shard's end as somebody saw it; wakes those who wait if it is another than before."""
        if end != self._seen_end:
            self._seen_end = end
            self.waiters.wake()

    def clear(self) -> None:
        """Keeps nothing any more."""
        if self._kept:
            self._bases.clear()
            self._kept.clear()
            self._bytes = 0

    def _shrink(self) -> None:
        """Drops the older half, so that this is seldom done."""
        dropped = (len(self._kept) + 1) // 2
        self._bytes -= sum(kept.size for kept in self._kept[:dropped])
        del self._kept[:dropped]
        del self._bases[:dropped]
