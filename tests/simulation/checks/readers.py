"""The engine's own readers over the same records: each, whenever it began and however it reads, folds the same appends.

    from the beginning · from an append in the middle that stands where its writer had read to · in small pieces ·
    behind a stored position

Rules: reader-differs, reader-stops.
"""

import random
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import TypeVar

from interlock.log.frame import Append
from interlock.log.journal import START, JournalReader, Position, behind
from interlock.log.memory import MemoryBroker
from interlock.log.port import Extent, Record, Shard, Stored
from tests.simulation.checks import Violation
from tests.simulation.checks.tape import Tape, name

T = TypeVar("T")

LATER_READERS = 3
"""How many readers that began later there are of a journal at a time; one gives way to each new one."""
BEGINS = 0.02
"""How likely another one begins at an append."""
PIECE_MAX = 7
"""The most records that a slow reader takes at a time."""


class RawLog:
    """The broker's records as a log that answers at once, so that its readers can be asked without a loop."""

    batch_bytes_max = 0

    def __init__(self, broker: MemoryBroker, piece: int | None = None) -> None:
        self.broker = broker
        self.piece = piece

    async def send(self, shard: Shard, batch: Sequence[Record]) -> int:
        """It only reads."""
        raise AssertionError(f"expected the judge only to read, found it sending to {shard}")

    def reader(self, shard: Shard, offset: int) -> "_RawReader":
        """A place in the records."""
        return _RawReader(self, shard, offset)

    async def end(self, shard: Shard) -> int:
        """The end now."""
        return self.broker.partition(shard).extent.end

    async def extent(self, shard: Shard) -> Extent:
        """What there is now."""
        return self.broker.partition(shard).extent

    async def close(self) -> None:
        """Nothing to let go of."""


class _RawReader:
    def __init__(self, log: RawLog, shard: Shard, offset: int) -> None:
        self._log = log
        self._shard = shard
        self._offset = offset

    @property
    def next_offset(self) -> int:
        return self._offset

    async def read(self, wait_s: float) -> Sequence[Stored]:
        partition = self._log.broker.partition(self._shard)
        start = self._offset - partition.first
        end = None if self._log.piece is None else start + self._log.piece
        records = partition.records[start:end]
        self._offset += len(records)
        return records

    async def close(self) -> None:
        return None


@dataclass(slots=True)
class _Follower:
    """One reader and the number that it has to return next; None before its first."""

    reader: JournalReader
    next_number: int | None
    began: str


class ReadersCheck:
    """Readers of one journal."""

    def __init__(self, tape: Tape, broker: MemoryBroker, chance: random.Random) -> None:
        self._tape = tape
        self._chance = chance
        self._raw = RawLog(broker)
        self._slow = RawLog(broker, 1)
        self._followers = [_Follower(JournalReader(self._raw, tape.shard), 1, "at the beginning")]
        self._followers.append(_Follower(JournalReader(self._slow, tape.shard), 1, "at the beginning, in pieces"))
        self._later: list[_Follower] = []

    def read(self, new: Sequence[Append]) -> None:
        """Lets every reader read on; `new` are the appends that the judge has just found to count."""
        self._slow.piece = self._chance.randint(1, PIECE_MAX)
        for append in new:
            if self._chance.random() < BEGINS:
                self._begin(append)
        for follower in (*self._followers, *self._later):
            self._follow(follower)

    def caught_up(self) -> None:
        """Lets the slow one read everything."""
        self._slow.piece = None
        for follower in (*self._followers, *self._later):
            self._follow(follower)
            last = len(self._tape.commits)
            if follower.next_number not in (None, last + 1):
                raise Violation(
                    "reader-differs",
                    f"expected a reader of {name(self._tape.home)} that began {follower.began} to have read append "
                    f"{last}, found that it expects {follower.next_number}",
                )

    def _begin(self, append: Append) -> None:
        if append.base == append.frame.end and self._chance.random() < 0.5:
            reader = JournalReader(self._raw, self._tape.shard, middle=append.base)
            began = f"in the middle, at offset {append.base}"
            later = _Follower(reader, append.frame.number, began)
        else:
            position: Position = behind(append) if append.frame.number else START
            reader = JournalReader(self._raw, self._tape.shard, position)
            later = _Follower(reader, append.frame.number + 1, f"behind append {append.frame.number}")
        self._later = [*self._later, later][-LATER_READERS:]

    def _follow(self, follower: _Follower) -> None:
        try:
            appends = at_once(follower.reader.read(0.0))
        except Exception as error:
            raise Violation(
                "reader-stops",
                f"expected a reader of {name(self._tape.home)} that began {follower.began} to go on, found {error!r}",
            ) from error
        for append in appends:
            follower.next_number = same(self._tape, append, follower.next_number, follower.began)


def same(tape: Tape, append: Append, expected: int | None, began: str) -> int:
    """The number that a reader has to return next, after this append. Raises `Violation` where it isn't the right one.

    `expected` None is a reader that has returned none yet, and may begin with any.
    """
    number = append.frame.number if expected is None else expected
    right = tape.commits[number - 1].append if 1 <= number <= len(tape.commits) else None
    if right is None or right.frame != append.frame or right.base != append.base or right.note != append.note:
        found = "none that counts" if right is None else f"{right.frame.number} ({right.frame.id}) at {right.base}"
        raise Violation(
            "reader-differs",
            f"expected a reader of {name(tape.home)} that began {began} to return {found}, found append "
            f"{append.frame.number} ({append.frame.id}) at {append.base}",
        )
    return number + 1


def at_once(call: Coroutine[object, object, T]) -> T:
    """What a coroutine gives that waits for nothing."""
    try:
        call.send(None)
    except StopIteration as ended:
        found: T = ended.value
        return found
    call.close()
    raise AssertionError("expected a call that waits for nothing, found one that waits")
