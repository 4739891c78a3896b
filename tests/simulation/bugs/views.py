"""Bugs of views: rows, positions and visibility that don't change together."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from interlock.log.frame import Append, is_event
from interlock.log.journal import JournalReader, behind
from interlock.log.port import Shard
from interlock.processors import reconciler
from interlock.processors.mail import recorded
from interlock.processors.truth import Truth
from interlock.projections import compare
from interlock.projections.compare import Difference, KeyedRow
from interlock.projections.host import ViewHost
from interlock.projections.projector import Projector
from interlock.projections.store import Place, Store, StoreAway
from interlock.projections.trigger_index import fold as trigger_index
from interlock.projections.trigger_index.store import BINDINGS
from tests.simulation.bugs import Catalogue, Swaps
from tests.simulation.plan import Lean

views = Catalogue()


@views.bug()
def positions_are_stored_apart_from_rows() -> Swaps:
    """After a crash rows are folded again that were stored before. The mistake: to store positions now and then, in a
    transaction of their own."""
    original = Store.transact

    def transact(self: Store, fold: Callable[[Any], None], places: Mapping[Shard, Place]) -> None:
        original(self, _nothing, owed.pop(id(self), {}))
        original(self, fold, {})
        owed[id(self)] = places

    owed: dict[int, Mapping[Shard, Place]] = {}
    return [(Store, "transact", transact)]


@views.bug()
def visibility_is_switched_row_by_row() -> Swaps:
    """Whoever looks while a publication replaces another one sees both or neither. The mistake: a transaction for each
    event, instead of one for the append."""

    async def store_batch(self: Any, batch: Sequence[tuple[Shard, Append]]) -> None:
        for shard, append in batch:
            place = Place(behind(append), self._places[shard].topic_id)
            for entry in append.entries:
                part = replace(append, entries=(entry,))
                await self._stored(lambda: self._store.transact(_folding(self, shard, part), {}))  # noqa: B023
                await asyncio.sleep(0.001)
            await self._stored(lambda: self._store.transact(_nothing, {shard: place}))  # noqa: B023
            self._places[shard] = place

    return [(Projector, "_store_batch", store_batch)]


def _nothing(rows: object) -> None:
    """No row."""


def _folding(projector: Any, shard: Shard, part: Append) -> Callable[[Any], None]:
    return lambda rows: projector._view.fold(shard, part, projector._codec, rows)


@views.bug()
def rows_of_a_retired_publication_stay() -> Swaps:
    """What a slot selects no longer is still found by who looks for authority. The mistake: to add rows and forget to
    take away."""
    original: Any = trigger_index._remove  # pyright: ignore[reportPrivateUsage]

    def remove(publication_id: str, rows: Any) -> None:
        if any(row.state == "active" for row in rows.under(BINDINGS, publication_id)):
            return
        original(publication_id, rows)

    return [(trigger_index, "_remove", remove)]


@views.bug(tries=32, lean=Lean(lags=6, upkeep=10, publishes=12))
def a_rebuild_swaps_where_it_is() -> Swaps:
    """A rebuilt copy serves before it is where the old one was, so that readers see what they saw come undone. The
    mistake: to take "nearly there" for there."""

    async def meet(self: Any, other: object, *, exactly: bool) -> None:
        """As it is."""

    return [(ViewHost, "_meet", meet)]


@views.bug(lean=Lean(upkeep=20, publishes=6))
def a_pass_repairs_what_only_lags() -> Swaps:
    """Rows of a copy that is behind are held against slots that are ahead, and repaired. The mistake: to compare with
    what is so now, whatever the rows are at."""

    async def advance(self: Any, position: int) -> None:
        end = await self._log.end(self._journal)
        reader = self._reader = self._reader or JournalReader(self._log, self._journal)
        while reader.next_offset < end:
            for append in await reader.read(self._wait_s):
                for entry in append.entries:
                    if is_event(entry):
                        event = recorded(self._codec, self._journal, entry.offset, entry.value)
                        self._apply(entry.key.decode("utf-8", "surrogatepass"), event)
                self.position = append.frame.number

    return [(Truth, "advance", advance)]


@views.bug(lean=Lean(tampering=6))
def a_pass_overlooks_rows_that_are_lost() -> Swaps:
    """A row that is gone stays gone. The mistake: to go through the rows that there are, and to ask of each whether it
    should be there."""

    def differences(expected: Iterable[KeyedRow], found: Iterable[KeyedRow]) -> Iterator[Difference]:
        return (each for each in compare.differences(expected, found) if each.kind != "missing")

    return [(reconciler, "differences", differences)]


@views.bug(lean=Lean(tampering=6))
def a_pass_overlooks_what_should_not_be_seen() -> Swaps:
    """A row that is visible before its time, or hidden after it, stays so. The mistake: to compare what rows say,
    without the field by which they are shown."""

    def differences(expected: Iterable[KeyedRow], found: Iterable[KeyedRow]) -> Iterator[Difference]:
        return (each for each in compare.differences(expected, found) if each.expected[1:] != each.found[1:])

    return [(reconciler, "differences", differences)]


@views.bug(lean=Lean(disks=2))
def what_a_full_disk_refuses_is_left_out() -> Swaps:
    """A view goes on behind an append whose rows couldn't be written. The mistake: to note the failure in the log, and
    to think that this is enough."""
    original = Store.transact

    def transact(self: Store, fold: Callable[[Any], None], places: Mapping[Shard, Place]) -> None:
        with suppress(StoreAway):
            original(self, fold, places)

    return [(Store, "transact", transact)]


@views.bug(lean=Lean(disks=4, owners=6))
def positions_are_stored_although_rows_failed() -> Swaps:
    """Where rows can't be written and their position can, a view says that it holds what it doesn't. The mistake: two
    transactions, and the smaller one in a `finally`."""
    original = Store.transact

    def transact(self: Store, fold: Callable[[Any], None], places: Mapping[Shard, Place]) -> None:
        try:
            original(self, fold, {})
        finally:
            original(self, _nothing, places)

    return [(Store, "transact", transact)]
