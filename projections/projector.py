"""Reads journals and folds them into one copy of a view: the same code live and in a rebuild.

    start: compare the topics and positions with the log ─► warming up ─► everything that was there at the start: live
    each round: take what the readers have ─► fold whole appends ─► rows and places in one transaction ─► tell waiters

Where a failure goes:

- the log can't be asked (`Unavailable`), or the file can't be used (`StoreAway`): noted in the status, and tried again
  after a back-off, from the last position that was stored;
- the log has changed, an event can't be folded, the file is damaged: `ViewStopped`. The view keeps the rows of the
  last append that could be folded and says so; the other views go on.

Always true: rows are those of whole appends that count, each folded once, in the order of its shard (PRJ-04, PRJ-07).
Nothing but the file is changed: what has to leave the process is asked from the rows, after they are stored.

What would surprise: folding and writing happen on the event loop, in transactions that are kept short by a bound on
their events. A lone append is stored at once. A live view that has just written rests for some times as long as that
took, so the busier the loop, the more appends share a transaction.
That is into the file's write-ahead log; from there a thread brings them into the file, which means waiting for the
disk. The view writes on meanwhile, and then waits only for the little that has come in the time (`_bring`).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from interlock.log.blobs.store import BlobLost
from interlock.log.frame import Append
from interlock.log.journal import START, JournalReader, LogChanged, Position, behind
from interlock.log.port import Log, LogError, OffsetGone, Shard, Unavailable
from interlock.log.waiters import Waiters
from interlock.projections.recorded import Codec
from interlock.projections.sqlite_rows import SqliteRows
from interlock.projections.store import Place, Store, StoreAway, StoreBroken
from interlock.projections.view import CannotFold, View

logger = logging.getLogger(__name__)

T = TypeVar("T")

EVENTS_PER_TRANSACTION_MAX = 1_000
"""Some twenty milliseconds of folding, in which nothing else runs on the loop; with fewer, writing costs more."""
EVENTS_BUFFERED_MAX = 4 * EVENTS_PER_TRANSACTION_MAX
"""For each shard: read ahead, so that the next transaction never waits for the log."""
BYTES_BUFFERED_MAX = 32 << 20
"""For each shard: how much is read ahead, where events are large."""
RESTS = 4
"""How many times as long as its last transaction took a live view rests: what comes meanwhile is stored together. A
run's checkpoints are milliseconds apart, and one transaction costs as much as folding ten of them; so without a rest
views would take the loop from those who write."""
REST_S_MAX = 0.01
BACK_OFF_FIRST_S = 0.1
BACK_OFF_MAX_S = 5.0
READ_WAIT_S = 5.0
"""How long a reader waits for records before it asks again; nothing depends on it."""


class TopicIds(Protocol):
    """Tells one life of a topic from the next; `interlock.log.port.LogAdmin` is one."""

    async def topic_id(self, topic: str, /) -> str:
        """An id that a topic keeps for life and that one made anew under the same name does not share."""
        ...


class ViewStopped(Exception):
    """A view can't go on; the message says why and what to do."""


@dataclass(slots=True)
class _Intake:
    """What was read from one shard and is not stored yet."""

    appends: deque[Append] = field(default_factory=deque[Append])
    events: int = 0
    """Records in `appends`."""
    bytes: int = 0
    """What their values take."""
    read_to: int = 0
    """The offset behind everything that was read."""
    stored_to: int = 0
    """The offset behind everything that is in the rows, or counts for nothing."""
    start_end: int | None = None
    """The end that was seen at the start; None before it was."""
    unavailable: str = ""
    """Why the shard can't be read now."""


class Projector:
    """Projects the journals of a view into one store, from `run` until it is cancelled or raises `ViewStopped`."""

    def __init__(
        self,
        view: View,
        store: Store,
        *,
        log: Log,
        topic_ids: TopicIds,
        codec: Codec,
        shards: Sequence[Shard],
        changed: Callable[[], None],
    ) -> None:
        """`shards` are all the shards of the view's journals; `changed` is called whenever something here is new."""
        self.caught_up = False
        """Whether it has reached the end that it saw at its start."""
        self.store_away = ""
        """Why the file can't be used now; "" while it can."""
        self._view = view
        self._store = store
        self._log = log
        self._topic_ids = topic_ids
        self._codec = codec
        self._shards = deque(shards)
        self._changed = changed
        self._places: dict[Shard, Place] = {}
        self._intakes: dict[Shard, _Intake] = {shard: _Intake() for shard in shards}
        self._limits: Mapping[Shard, int] | None = None
        self._failure: ViewStopped | None = None
        self._rests_until_s = 0.0
        """By the loop's time."""
        self._bringing: asyncio.Future[None] | None = None
        """The checkpoint that the view writes on beside, until another one has followed it."""
        self._storing: Sequence[tuple[Shard, Append]] = ()
        """What the transaction under way stores, however long its file is away."""
        self._arrived = Waiters()
        self._room = Waiters()

    def position(self, shard: Shard) -> Position:
        """How far the rows are in a shard."""
        place = self._places.get(shard)
        return START if place is None else place.position

    def stored_to(self, shard: Shard) -> int:
        """The offset up to which the rows hold everything that counts."""
        return self._intakes[shard].stored_to

    @property
    def oldest_ms(self) -> int | None:
        """The log's time of the oldest append that was read and isn't in the rows; None where there is none."""
        waiting = [append for _, append in self._storing]
        waiting += [intake.appends[0] for intake in self._intakes.values() if intake.appends]
        return min((append.time_ms for append in waiting), default=None)

    def waiting_for(self) -> str:
        """What it waits for before it can go on; "" if nothing."""
        reasons = [intake.unavailable for intake in self._intakes.values() if intake.unavailable]
        return "; ".join([self.store_away, *reasons] if self.store_away else reasons)

    def limit(self, numbers: Mapping[Shard, int] | None) -> None:
        """Folds no append above these numbers from now on; None folds all."""
        self._limits = numbers
        self._arrived.wake()

    async def run(self) -> None:
        """Projects until it is cancelled. Raises `ViewStopped`."""
        await self._stored(self._store.mark_started)
        self._places = await self._stored(self._store.places)
        readers = [asyncio.create_task(self._guarded_read(shard)) for shard in self._intakes]
        try:
            while True:
                await self._round()
        finally:
            for reader in readers:
                reader.cancel()
            # Also the thread has to have ended before anybody closes the file, or deletes it.
            await asyncio.gather(*readers, *([self._bringing] if self._bringing else []), return_exceptions=True)

    async def _round(self) -> None:
        """Stores what there is, or waits until there is something."""
        if self._failure is not None:
            raise self._failure
        await self._gather()
        batch = self._take()
        if batch:
            time_s = asyncio.get_running_loop().time
            began_s = time_s()
            self._storing = batch
            await self._store_batch(batch)
            self._storing = ()
            ended_s = time_s()
            self._rests_until_s = ended_s + min(RESTS * (ended_s - began_s), REST_S_MAX)
            self._room.wake()
        moved = self._settle() or bool(batch)
        if self._is_caught_up():
            await self._stored(self._store.mark_caught_up)
            self.caught_up = True
            self._changed()
            # While that was stored more may have arrived, so it is looked for again and not waited for.
            return
        if moved:
            # Whoever waits for news looks at the rows, so nobody is woken for nothing.
            self._changed()
        if batch:
            await self._bring()
            # The others on this loop have their turn between two transactions.
            await asyncio.sleep(0)
        elif self._failure is None:
            await self._arrived.wait()

    async def _gather(self) -> None:
        """Rests, unless there is much to catch up with."""
        waiting = sum(intake.events for intake in self._intakes.values())
        if self.caught_up and 0 < waiting < EVENTS_PER_TRANSACTION_MAX:
            left_s = self._rests_until_s - asyncio.get_running_loop().time()
            if left_s > 0:
                await asyncio.sleep(left_s)

    def _take(self) -> list[tuple[Shard, Append]]:
        """The next appends to store, as many as a transaction takes; the shards take turns at being first."""
        batch: list[tuple[Shard, Append]] = []
        room = EVENTS_PER_TRANSACTION_MAX
        self._shards.rotate(-1)
        for shard in self._shards:
            intake = self._intakes[shard]
            while room > 0 and intake.appends and self._may_fold(shard, intake.appends[0]):
                append = intake.appends.popleft()
                intake.events -= append.frame.size
                intake.bytes -= _bytes_of(append)
                room -= append.frame.size
                batch.append((shard, append))
        return batch

    def _may_fold(self, shard: Shard, append: Append) -> bool:
        return self._limits is None or append.frame.number <= self._limits.get(shard, 0)

    async def _store_batch(self, batch: Sequence[tuple[Shard, Append]]) -> None:
        """Stores all of a batch, or what lies before the append that can't be folded, and then raises."""
        folded = 0

        def fold(rows: SqliteRows) -> None:
            nonlocal folded
            folded = 0
            for shard, append in batch:
                self._view.fold(shard, append, self._codec, rows)
                folded += 1

        last = dict(batch)
        places = {shard: Place(behind(append), self._places[shard].topic_id) for shard, append in last.items()}
        try:
            await self._stored(lambda: self._store.transact(fold, places))
        except CannotFold as error:
            if folded:
                await self._store_batch(batch[:folded])
            raise ViewStopped(
                f"the view {self._view.name!r} has stopped: {error}; run a release that can, "
                "or rebuild the view if its fold was mended"
            ) from error
        self._places.update(places)

    async def _bring(self) -> None:
        """Has a thread bring what was stored into the file itself, by two checkpoints, one after the other.

        The first takes as long as the disk does for thousands of rows, and the view writes on: a publish may wait for
        its next rows. The second has only those of that time to bring, and the view waits for it: SQLite uses a
        write-ahead log anew once everything in it is in the file, which never comes to pass while something is added.
        """
        if self._bringing is None:
            if self._store.checkpoint_due:
                self._bringing = self._checkpoint()
        elif self._bringing.done():
            await self._brought(self._bringing)
            self._bringing = self._checkpoint()
            await self._brought(self._bringing)
            self._bringing = None

    def _checkpoint(self) -> asyncio.Future[None]:
        return asyncio.get_running_loop().run_in_executor(None, self._store.checkpoint)

    async def _brought(self, checkpoint: asyncio.Future[None]) -> None:
        # The rows are stored already; where the file can't be used now, the next transaction says so.
        with suppress(StoreAway, StoreBroken):
            await asyncio.shield(checkpoint)

    def _settle(self) -> bool:
        """Notes how far everything is stored; tells whether that is further than before."""
        settled = [each for each in self._intakes.values() if not each.appends and each.stored_to != each.read_to]
        for intake in settled:
            intake.stored_to = intake.read_to
        return bool(settled)

    def _is_caught_up(self) -> bool:
        return not self.caught_up and all(
            intake.start_end is not None and intake.stored_to >= intake.start_end for intake in self._intakes.values()
        )

    async def _stored(self, call: Callable[[], T]) -> T:
        """What `call` gives, as soon as the file can be used. Raises `ViewStopped` where it is damaged."""
        back_off_s = BACK_OFF_FIRST_S
        while True:
            try:
                result = call()
            except StoreAway as error:
                if not self.store_away:
                    logger.warning("the view %s waits: %s", self._view.name, error)
                self.store_away = str(error)
                self._changed()
                await asyncio.sleep(back_off_s)
                back_off_s = min(2 * back_off_s, BACK_OFF_MAX_S)
            except StoreBroken as error:
                raise ViewStopped(f"the view {self._view.name!r} has stopped: {error}") from error
            else:
                self.store_away = ""
                return result

    async def _guarded_read(self, shard: Shard) -> None:
        """Reads a shard for ever; what ends it ends the projector."""
        try:
            await self._read(shard)
        except Exception as error:  # noqa: BLE001 - it is raised again by `run`
            self._failure = self._failure or ViewStopped(self._explained(shard, error))
            self._failure.__cause__ = error
            self._arrived.wake()

    async def _read(self, shard: Shard) -> None:
        intake = self._intakes[shard]
        start = await self._compared_with_log(shard, intake)
        reader = JournalReader(self._log, shard, start)
        intake.read_to = reader.next_offset
        try:
            while True:
                appends = await self._available(intake, lambda: reader.read(READ_WAIT_S))
                if reader.next_offset == intake.read_to:
                    continue
                intake.appends.extend(appends)
                intake.events += sum(append.frame.size for append in appends)
                intake.bytes += sum(map(_bytes_of, appends))
                intake.read_to = reader.next_offset
                self._arrived.wake()
                while intake.events >= EVENTS_BUFFERED_MAX or intake.bytes >= BYTES_BUFFERED_MAX:
                    await self._room.wait()
        finally:
            await reader.close()

    async def _compared_with_log(self, shard: Shard, intake: _Intake) -> Position:
        """The position to read from, once the log was seen to be the one that it was taken from."""
        topic_id = await self._available(intake, lambda: self._topic_ids.topic_id(shard.topic))
        end = await self._available(intake, lambda: self._log.end(shard))
        place = self._places.setdefault(shard, Place(START, topic_id))
        position = place.position
        if place.topic_id != topic_id:
            raise LogChanged(
                f"expected {shard} to be of topic {place.topic_id}, found {topic_id}: the topic was made anew"
            )
        # A reader that begins exactly at the end sees nothing, and so would wait for ever on a log that was cut there.
        if position.number and position.base >= end:
            raise LogChanged(
                f"expected append {position.number} at offset {position.base} of {shard}, found the end at {end}: "
                "the log was cut or made anew"
            )
        intake.start_end = end
        self._arrived.wake()
        return position

    async def _available(self, intake: _Intake, call: Callable[[], Awaitable[T]]) -> T:
        """What `call` gives, as soon as the log can be asked."""
        back_off_s = BACK_OFF_FIRST_S
        while True:
            try:
                result = await call()
            except Unavailable as error:
                intake.unavailable = str(error)
                self._changed()
                await asyncio.sleep(back_off_s)
                back_off_s = min(2 * back_off_s, BACK_OFF_MAX_S)
            else:
                intake.unavailable = ""
                return result

    def _explained(self, shard: Shard, error: Exception) -> str:
        cause = error.__cause__
        if isinstance(error, LogChanged) and isinstance(cause, OffsetGone) and cause.offset < cause.extent.first:
            # What would be made anew from the log needs its beginning.
            remedy = "the log's beginning is gone: restore a log that has it, then rebuild the view from it"
        elif isinstance(error, LogChanged):
            remedy = (
                "make sure that this is the right log, restore it where records of it are gone (`interlock topics "
                "check` names settings that take some away), then rebuild the view from it"
            )
        elif isinstance(error, BlobLost):
            remedy = "the view can't be made without it"
        elif isinstance(error, OffsetGone):
            remedy = "the log no longer holds what the view is made from; restore the view or the log from a backup"
        elif isinstance(error, LogError):
            remedy = "see that the log is whole (`interlock topics check`), then start again"
        else:
            remedy = "this is an error of the program; the view can be rebuilt once it is mended"
        return f"the view {self._view.name!r} has stopped reading {shard}: {error!r}; {remedy}"


def _bytes_of(append: Append) -> int:
    return sum([len(entry.value) for entry in append.entries])
