"""The journal's rules, once, over the three calls of the port.

**The rule.** An append counts if the append that it follows is the last that counted; any other is void, and every
reader skips it whole. So each append is a compare-and-swap on the whole journal, and the order of the log decides. A
second rule follows from it: an append that begins exactly where its writer had read to counts in any case, because that
writer had folded everything before it. By it `append` returns at once, and a reader may begin in the middle.

The life of an ownership:

    open: fold to the end ─► still assigned? ─► send `opened` ─► fold to it ─► it counts ─► owner
                 ▲                                   │                 └► another counted first ─► again, later
                 └───────────── doubt ───────────────┘
    append: send ─► landed where expected ─────────────────────────────► counts
                 ├► landed behind it ─► read what lies between ─► void only ─► counts
                 │                                             └► a foreign append counted ─► `Lost`
                 ├► landed before it ─► `LogChanged`: the log lost records, stop loudly
                 ├► refused ─► `Refused`: nothing was written, the ownership goes on
                 └► doubt ─► `Lost`: nothing is retried and nobody is asked; open again

After `Lost` the object is dead: whoever used it drops what it decided since, and opens anew. Behind its own `opened`
whatever was in doubt has counted or never will, because it follows an append that is no longer the last.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from interlock.domain.frozen import frozen
from interlock.log.frame import NOTHING, Append, Entry, Frame, assemble, is_event, read_frame
from interlock.log.port import Doubt, Log, LogError, OffsetGone, Reader, Shard, Stored


@frozen()
class Position:
    """A place in a journal: behind an append that counted. Stored with what was derived up to it."""

    base: int
    """The offset of that append's frame; reading goes on from it, so that it can be recognised."""
    id: str
    """Its id, or `NOTHING` before the first."""
    number: int
    """Its number; dense over the appends that count, so it also says how far one view is behind another."""
    events: int
    """How many events counted up to it."""


START = Position(base=0, id=NOTHING, number=0, events=0)
"""Before the first append of a journal."""


class JournalError(LogError):
    """The root of what can be wrong with a journal."""


class Lost(JournalError):
    """The ownership is over: another one counted, or an outcome is in doubt. Drop what was decided and open again."""


class NotAssigned(JournalError):
    """The shard was given to another process while it was being opened."""


class LogChanged(JournalError):
    """The log has lost or changed records that were read before; nothing may go on from here without an operator."""


class Rule:
    """Judges records one by one; pure, and the only place where it is decided what counts.

    With `last` None it begins in the middle: the first append that stands where its writer expected it is the first
    that it knows to count, and everything before that is skipped.
    """

    __slots__ = ("_entries", "_head", "last", "next_offset")

    def __init__(self, last: Position | None, next_offset: int) -> None:
        self.last = last
        self.next_offset = next_offset
        """The offset of the record that is fed next."""
        self._head: tuple[Frame, Stored] | None = None
        self._entries: list[Stored] = []

    def feed(self, stored: Stored) -> Append | None:
        """Takes the next record and returns the append that it completes, if that one counts."""
        self.next_offset = stored.offset + 1
        if self._head is None or stored.offset != self._head[1].offset + len(self._entries) + 1:
            frame = read_frame(stored)
            self._entries = []
            self._head = None if frame is None else (frame, stored)
            if frame is None or frame.size > 1:
                return None
        else:
            self._entries.append(stored)
        return self._complete()

    def _complete(self) -> Append | None:
        if self._head is None or len(self._entries) + 1 < self._head[0].size:
            return None
        frame, stored = self._head
        append = Append(frame, stored.value, stored.offset, stored.time_ms, tuple(self._entries))
        self._head = None
        self._entries = []
        return self._judge(append)

    def _judge(self, append: Append) -> Append | None:
        frame, last = append.frame, self.last
        stands = append.base == frame.end
        if last is None:
            if not stands:
                return None
        elif frame.follows != last.id:
            if stands:
                raise LogChanged(
                    f"expected the append at offset {append.base} to follow append {last.number} ({last.id}), found "
                    f"that its writer had read up to it and follows {frame.follows}: records of the log have changed"
                )
            return None
        self.last = behind(append)
        return append


def behind(append: Append) -> Position:
    """The position behind an append that counts."""
    events = append.frame.position + sum(map(is_event, append.entries))
    return Position(append.base, append.frame.id, append.frame.number, events)


class JournalReader:
    """Reads the appends of one journal that count, from a stored position or from any offset in the middle."""

    def __init__(self, log: Log, shard: Shard, start: Position = START, *, middle: int | None = None) -> None:
        """Begins behind `start`, or, where `middle` is given, at the first recognisable append from that offset."""
        self.shard = shard
        self._log = log
        offset = start.base if middle is None else middle
        self._reader: Reader = log.reader(shard, offset)
        self._rule = Rule(None if middle is not None else start, offset)
        self._anchor = None if middle is not None or start.number == 0 else start
        self._passed = offset
        """Behind what is no record: a log that ends with one would be waited for at its end for ever."""

    @property
    def position(self) -> Position:
        """Behind the last append that was returned (or where it began)."""
        return self._rule.last or START

    @property
    def next_offset(self) -> int:
        """The offset that is read next."""
        return max(self._rule.next_offset, self._passed)

    async def read(self, wait_s: float) -> list[Append]:
        """The next appends that count, in order; [] after `wait_s` seconds, or where only void ones came.

        Raises `LogChanged` where the log is not the one that the position was taken from, else what the port raises.
        """
        try:
            records = await self._reader.read(wait_s)
        except OffsetGone as error:
            if self._anchor is None:
                raise
            raise LogChanged(f"{error}; a position taken from it names append {self._anchor.number} there") from error
        counted: list[Append] = []
        if self._anchor is not None and not records:
            await self._miss(self._anchor)
        for stored in records:
            if self._anchor is not None:
                self._recognise(stored, self._anchor)
                self._anchor = None
                self._rule.next_offset = stored.offset + 1
                continue
            append = self._rule.feed(stored)
            if append is not None:
                counted.append(append)
        if self._anchor is None:
            self._passed = self._reader.next_offset
        return counted

    async def _miss(self, anchor: Position) -> None:
        """A log that was cut exactly at the anchor has nothing to read there, and would be waited for for ever."""
        end = await self._log.end(self.shard)
        if end <= anchor.base:
            raise LogChanged(
                f"expected append {anchor.number} ({anchor.id}) at offset {anchor.base} of {self.shard}, found the end "
                f"of the log at {end}: it was cut or recreated; rebuild from the log, or restore what belongs to it"
            )

    def _recognise(self, stored: Stored, anchor: Position) -> None:
        frame = read_frame(stored)
        if frame is None or frame.id != anchor.id or stored.offset != anchor.base:
            found = "no frame" if frame is None else f"append {frame.number} ({frame.id})"
            raise LogChanged(
                f"expected append {anchor.number} ({anchor.id}) at {anchor.base} of {self.shard}, found {found}; "
                "the log was recreated, restored or cut; rebuild from the log, or restore what belongs to it"
            )

    async def close(self) -> None:
        """Lets go of the reader."""
        await self._reader.close()


class Journal:
    """One ownership of one journal, from `open` until it is lost. One append at a time."""

    def __init__(self, log: Log, shard: Shard, owner: str, ids: Callable[[], str], last: Position, end: int) -> None:
        self.shard = shard
        self.owner = owner
        self.position = last
        """Behind the last append that counted."""
        self.token = last.number
        """The fencing token: the number of this ownership's `opened`."""
        self._log = log
        self._ids = ids
        self._end = end
        self._lost: str | None = None
        self._sending = False

    @classmethod
    async def open(
        cls,
        log: Log,
        shard: Shard,
        *,
        ids: Callable[[], str],
        start: Position = START,
        fold: Callable[[Append], None],
        note: Callable[[], bytes],
        still_assigned: Callable[[], Awaitable[bool]],
        wait_s: float = 1.0,
    ) -> "Journal":
        """Folds everything from `start` to the end, takes the journal over with an `opened`, and folds up to it.

        `fold` is given every append that counts, the `opened` included; `note` is asked for the `opened`'s note once
        the state is folded to the end. Raises `Lost` where somebody else opened at the same time or the outcome of
        the `opened` is in doubt (open again, after a back-off), `NotAssigned`, `LogChanged`, or what the port raises.
        """
        reader = JournalReader(log, shard, start)
        try:
            await _fold_to(reader, await log.end(shard), fold, wait_s)
            if not await still_assigned():
                raise NotAssigned(f"expected {shard} to be assigned here, found it given away before it was opened")
            last = reader.position
            frame = Frame(
                id=ids(),
                number=last.number + 1,
                follows=last.id,
                end=reader.next_offset,
                owner=ids(),
                opened=True,
                size=1,
                position=last.events,
            )
            try:
                base = await log.send(shard, assemble(frame, note(), ()))
            except Doubt as doubt:
                raise Lost(f"the opening of {shard} is in doubt: {doubt}") from doubt
            if base < frame.end:
                raise LogChanged(_fell_short(shard, frame, base))
            await _fold_to(reader, base + 1, fold, wait_s)
            if reader.position.id != frame.id:
                raise Lost(f"append {reader.position.number} of {shard} counted before this opening did")
            return cls(log, shard, frame.owner, ids, reader.position, reader.next_offset)
        finally:
            await reader.close()

    async def append(self, note: bytes, entries: Sequence[Entry] = ()) -> Append:
        """Appends and returns once it counts; what is returned is what every reader will read, but for its time.

        Raises `Lost` (drop what was decided, open again), `LogChanged` (stop), `Refused` (nothing written, the
        ownership goes on).
        """
        if self._lost is not None:
            raise Lost(self._lost)
        if self._sending:
            raise AssertionError(f"expected one append at a time for {self.shard}, found two")
        last = self.position
        frame = Frame(
            id=self._ids(),
            number=last.number + 1,
            follows=last.id,
            end=self._end,
            owner=self.owner,
            opened=False,
            size=1 + len(entries),
            position=last.events,
        )
        batch = assemble(frame, note, entries)
        self._sending = True
        try:
            base = await self._log.send(self.shard, batch)
            end = base + frame.size
            if base != frame.end:
                base = await self._settle(frame, base)
        except Doubt as doubt:
            self._lost = f"append {frame.number} to {self.shard} is in doubt: {doubt}"
            raise Lost(self._lost) from doubt
        except BaseException as error:
            if not isinstance(error, LogError) or isinstance(error, JournalError):
                self._lost = f"append {frame.number} to {self.shard} was cut short: {error!r}"
            raise
        finally:
            self._sending = False
        stored = tuple(Stored(base + i, 0, r.key, r.value, r.headers) for i, r in enumerate(batch[1:], 1))
        append = Append(frame, note, base, 0, stored)
        self.position = behind(append)
        self._end = end
        return append

    async def _settle(self, frame: Frame, base: int) -> int:
        """It landed elsewhere than expected: reads what lies between, and tells where it counts by the rule.

        It may count before `base`: a client library that tries again writes a batch twice, and then the first of the
        two counts. Everything up to the end of the last copy is read, because the next append says that it was.
        """
        if base < frame.end:
            raise LogChanged(_fell_short(self.shard, frame, base))
        rule = Rule(self.position, frame.end)
        reader = self._log.reader(self.shard, frame.end)
        counts_at: int | None = None
        try:
            while rule.next_offset < base + frame.size:
                for stored in await reader.read(1.0):
                    counted = rule.feed(stored)
                    if counted is None:
                        continue
                    if counted.frame.id != frame.id:
                        raise Lost(
                            f"expected append {frame.number} of {self.shard} to be the last that counts, found "
                            f"append {counted.frame.number} of owner {counted.frame.owner}: another process owns it"
                        )
                    counts_at = counted.base
        except JournalError:
            raise
        except LogError as error:
            raise Doubt(f"what lies before offset {base} of {self.shard} can't be read: {error}") from error
        finally:
            await reader.close()
        if counts_at is None:
            raise LogChanged(f"expected append {frame.number} of {self.shard} to count at offset {base}, found it void")
        return counts_at


async def _fold_to(reader: JournalReader, end: int, fold: Callable[[Append], None], wait_s: float) -> None:
    breath = Breath()
    while reader.next_offset < end:
        for append in await reader.read(wait_s):
            fold(append)
            await breath.after(append.frame.size)


class Breath:
    """Lets others have their turn while a long journal is folded: without it a lease runs out meanwhile."""

    RECORDS: Final = 128
    """Folded in one go; a few milliseconds."""

    __slots__ = ("_records",)

    def __init__(self) -> None:
        self._records = 0

    async def after(self, records: int) -> None:
        """So many more were folded."""
        self._records += records
        if self._records >= self.RECORDS:
            self._records = 0
            await asyncio.sleep(0)


def _fell_short(shard: Shard, frame: Frame, base: int) -> str:
    return (
        f"expected append {frame.number} of {shard} to land at offset {frame.end} or later, found it at {base}: "
        "the log has lost records that were read before; stop, and restore or rebuild before anything goes on"
    )
