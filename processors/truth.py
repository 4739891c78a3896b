"""What the slots call for at exactly one position of the publishing journal.

It is folded with the deciders' own `evolve`, from the journal itself, so it shares nothing with the views that are held
against it. It only moves forward, and only as far as it is told: a copy that was read at a position is compared with
what was so at that very position, and what merely lags is never taken for wrong.

What would surprise: publications that have come to their end are forgotten, since nothing calls for rows of them, and
what calls for none (claims, references, unpublishes, how far an activation is answered) is passed over unread; so it
takes the memory of what has authority, not of history, and less than half the time of a fold of everything.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final, get_args

from interlock.domain.publishing.claims.events import ClaimsChanged
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.publishing.publication.events import (
    PublicationEvent,
    PublicationFailed,
    PublicationRequested,
    PublicationRetired,
    PublicationServed,
    PublicationSuperseded,
    RoutingShardReached,
)
from interlock.domain.publishing.reconciliation.events import ProjectionRepaired
from interlock.domain.publishing.reference.events import SourceReferenceEvent
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.publishing.slot.events import SlotEvent
from interlock.domain.publishing.unpublish.events import UnpublishEvent
from interlock.log.frame import Append
from interlock.log.journal import Breath, JournalReader
from interlock.log.port import Log, LogError, Shard
from interlock.processors.leisure import Leisure
from interlock.processors.mail import Unfoldable, recorded_events
from interlock.processors.ports import Codec

APPENDS_AT_ONCE: Final = 100
"""Appends that are folded before others on the loop have their turn, at the latest."""
_ENDS = (PublicationFailed, PublicationSuperseded, PublicationRetired)
_CALL_FOR_NO_ROWS: Final = (
    ClaimsChanged,
    ExecutableSaved,
    ProjectionRepaired,
    PublicationServed,
    RoutingShardReached,
    *get_args(SourceReferenceEvent),
    *get_args(UnpublishEvent),
)
"""They are most of what a publish records. What this release doesn't know is not among them, and stops the fold."""


class Truth:
    """Publishing as of `position`."""

    def __init__(self, wire: Log, journal: Shard, codec: Codec, *, wait_s: float) -> None:
        """`wait_s` is how long one read waits for records."""
        self.shard = PublishingShard()
        self.position = 0
        """The number of the last append that is folded."""
        self._log = wire
        self._reader: JournalReader | None = None
        self._journal = journal
        self._codec = codec
        self._wait_s = wait_s
        self._passed_over = frozenset(codec.type_name(each).encode() for each in _CALL_FOR_NO_ROWS)
        self._ahead: deque[Append] = deque()
        self._under_way: Iterator[tuple[str, object]] | None = None
        """What is left to fold of the first of them, where somebody has begun with it."""
        self._breath = Breath()

    async def advance(self, position: int) -> None:
        """Folds up to a position that somebody has read. Raises `LogError`, also where the journal ends before it."""
        reader = self._reader = self._reader or JournalReader(self._log, self._journal)
        leisure = Leisure()
        while self.position < position:
            if not self._ahead:
                self._ahead.extend(await reader.read(self._wait_s))
                if not self._ahead and await self._log.end(self._journal) <= reader.next_offset:
                    raise LogError(
                        f"expected append {position} in {self._journal}, found {self.position} to be the last one; "
                        "is this the log that the rows were made from?"
                    )
                # Reading counts as work: it has the interpreter too, on a thread.
                if leisure.due:
                    await leisure.rest()
                continue
            append = self._ahead[0]
            await self._fold(append, leisure)
            self._ahead.popleft()
            self.position = append.frame.number
            await self._breath.after(append.frame.size)
            if self.position % APPENDS_AT_ONCE == 0:
                await leisure.rest()

    async def _fold(self, append: Append, leisure: Leisure) -> None:
        """Folds an append, of which there may be hundreds of events. Who was called off meanwhile goes on with the next
        one; what can't be folded stops everybody, however often they ask."""
        if self._under_way is None:
            self._under_way = recorded_events(self._codec, self._journal, append, self._passed_over)
        try:
            for stream, event in self._under_way:
                self._apply(stream, event)
                if leisure.due:
                    await leisure.rest()
        except Unfoldable:
            self._under_way = None
            raise
        self._under_way = None

    async def close(self) -> None:
        """Ends reading."""
        if self._reader is not None:
            await self._reader.close()

    def _apply(self, stream: str, event: object) -> None:
        match event:
            case _ if isinstance(event, SlotEvent):
                self.shard.apply(stream, event)
                # Only who restores asks what a slot has selected before.
                self.shard.selected.clear()
            case PublicationRequested():
                self.shard.apply(stream, event)
            case _ if isinstance(event, PublicationEvent) and event.publication_id in self.shard.publications:
                self.shard.apply(stream, event)
                if isinstance(event, _ENDS):
                    del self.shard.publications[event.publication_id]
            case _:
                # Of one that has ended.
                pass
