"""Bugs of the journal: what counts, and what its writer takes for counted."""

from collections.abc import Sequence
from typing import Any

from interlock.log.frame import Append
from interlock.log.journal import Journal, Lost, Rule, behind
from interlock.log.port import Doubt, Extent, Log, Reader, Record, Shard
from interlock.processors.ownership import Ownership
from tests.simulation.bugs import Catalogue, Swaps

journal = Catalogue()


@journal.bug()
def readers_take_every_append_for_one_that_counts() -> Swaps:
    """The check of the predecessor is gone on the reader's side, so an owner that was replaced still writes history.
    The mistake: to trust that nobody writes but the owner."""

    def judge(self: Any, append: Append) -> Append:
        self.last = behind(append)
        return append

    return [(Rule, "_judge", judge)]


@journal.bug()
def an_append_is_acknowledged_wherever_it_landed() -> Swaps:
    """An append that landed behind another owner's is void, and its writer goes on as if it counted. The mistake: to
    take the log's acknowledgement for that of the journal."""

    async def settle(self: Any, frame: object, base: int) -> int:
        return base

    return [(Journal, "_settle", settle)]


@journal.bug()
def a_doubt_is_taken_for_a_yes() -> Swaps:
    """What the log gave no answer for is taken to have landed. The mistake: to swallow a timeout, since it nearly
    always went well."""
    original = Journal.__init__

    def make(self: Any, log: Log, *args: Any, **kwargs: Any) -> None:
        original(self, _Hopeful(log), *args, **kwargs)

    return [(Journal, "__init__", make)]


@journal.bug()
def after_a_doubt_the_owner_goes_on() -> Swaps:
    """The ownership is not opened anew after a doubt, and keeps what it decided though nobody knows whether it counts.
    The mistake: to handle the error where it is raised, and forget that memory is ahead of the log."""
    original: Any = Ownership._append  # pyright: ignore[reportPrivateUsage]

    async def append(self: Any, unit: object) -> None:
        try:
            await original(self, unit)
        except Lost as lost:
            if not isinstance(lost.__cause__, Doubt):
                raise
            self.journal._lost = None

    return [(Ownership, "_append", append)]


@journal.bug()
def a_snapshot_holds_what_has_not_counted() -> Swaps:
    """An owner that begins with a snapshot knows of decisions that never came to be. The mistake: to take it from the
    state that decisions are made on, while an append is on its way."""
    original: Any = Ownership._append  # pyright: ignore[reportPrivateUsage]
    count: Any = Ownership._count  # pyright: ignore[reportPrivateUsage]

    async def append(self: Any, unit: object) -> None:
        if self._keeper is not None and self._keeper.due:
            self._keeper.write(self._at, *self.kept())
        await original(self, unit)

    def counted(self: Any, progress: object, promised: object, records: int, at: object) -> None:
        keeper, self._keeper = self._keeper, None
        count(self, progress, promised, records, at)
        self._keeper = keeper
        if keeper is not None:
            keeper.folded(records)

    return [(Ownership, "_append", append), (Ownership, "_count", counted)]


class _Hopeful:
    """A log without doubts. Implements `Log`."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @property
    def batch_bytes_max(self) -> int:
        """As the log's."""
        return self._log.batch_bytes_max

    async def send(self, shard: Shard, batch: Sequence[Record]) -> int:
        """Where it landed, or where it should have."""
        try:
            return await self._log.send(shard, batch)
        except Doubt:
            return int(dict(batch[0].headers)["expected-end"])

    def reader(self, shard: Shard, offset: int) -> Reader:
        """The log's."""
        return self._log.reader(shard, offset)

    async def end(self, shard: Shard) -> int:
        """The log's."""
        return await self._log.end(shard)

    async def extent(self, shard: Shard) -> Extent:
        """The log's."""
        return await self._log.extent(shard)

    async def close(self) -> None:
        """The log's."""
        await self._log.close()
