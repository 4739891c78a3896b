"""A process's own copy of who has authority, folded from the publishing journal as it grows.

Routing decides by it and executions find executables in it. It only ever moves forward, and everything between two
awaits sees one position of it. A message that rests on a later position waits in `reached`.
"""

import asyncio
import logging
from typing import Final

from interlock.domain.publishing.authority import Authority, KeptAuthority
from interlock.domain.publishing.shard import PublishingShard
from interlock.log.journal import START, Breath, JournalReader, Position, behind
from interlock.log.port import Log, Shard, Unavailable
from interlock.processors.mail import recorded_events
from interlock.processors.ports import Codec
from interlock.processors.snapshots import Keeper, Snapshot
from interlock.schemas.states import StateFormat

log = logging.getLogger(__name__)

AUTHORITY_FORM: Final = StateFormat(KeptAuthority)
WHOLE_FORM: Final = StateFormat(KeptAuthority, PublishingShard)


class AuthorityReplica:
    """Follows the publishing journal (one shard) from a snapshot, or from its beginning."""

    def __init__(
        self, wire: Log, journal: Shard, codec: Codec, *, whole: PublishingShard | None = None, wait_s: float = 0.5
    ) -> None:
        """`whole` is folded too where a process wants to know all of publishing, as for a preflight."""
        self.authority = Authority()
        self.fault: str | None = None
        """Why it stands still; None while it follows."""
        self._log = wire
        self._journal = journal
        self._codec = codec
        self._whole = whole
        self._wait_s = wait_s
        self._position = 0
        self._next_offset = 0
        self._at = START
        self._keeper: Keeper | None = None
        self.warm = False
        """Whether it has folded everything that was there when it began."""
        self._moved = asyncio.Event()

    @property
    def position(self) -> int:
        """The number of the last append of the publishing journal that is folded."""
        return self._position

    async def reached(self, position: int) -> None:
        """Waits until everything up to `position` is folded."""
        while self._position < position:
            self._moved.clear()
            await self._moved.wait()

    async def current(self) -> None:
        """Waits until everything is folded that the journal holds now. Raises what the port raises."""
        end = await self._log.end(self._journal)
        while self._next_offset < end:
            self._moved.clear()
            await self._moved.wait()

    @property
    def form(self) -> StateFormat:
        """How what is kept is written."""
        return AUTHORITY_FORM if self._whole is None else WHOLE_FORM

    async def run(self, keeper: Keeper | None = None) -> None:
        """Follows for ever; ends only by cancellation, or loudly where the journal can't be folded."""
        reader = JournalReader(self._log, self._journal, await self._begin(keeper))
        goal: int | None = None
        breath = Breath()
        try:
            while True:
                try:
                    if goal is None:
                        goal = await self._log.end(self._journal)
                    if not self.warm and reader.next_offset >= goal:
                        self.warm = True
                        if keeper is not None:
                            keeper.opened()
                    appends = await reader.read(0.0 if not self.warm else self._wait_s)
                except Unavailable as error:
                    log.warning("the replica of %s waits: %s", self._journal, error)
                    await asyncio.sleep(self._wait_s)
                    continue
                for append in appends:
                    await breath.after(append.frame.size)
                    for stream, event in recorded_events(self._codec, self._journal, append):
                        self.authority.apply(stream, event)
                        if self._whole is not None:
                            self._whole.apply(stream, event)
                    self._position, self._at = append.frame.number, behind(append)
                    if keeper is not None:
                        keeper.folded(append.frame.size)
                        if keeper.due:
                            keeper.write(*self._kept())
                if reader.next_offset > self._next_offset:
                    self._next_offset = reader.next_offset
                    self._moved.set()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self.fault = f"{type(error).__name__}: {error}"
            log.exception("the replica of %s stands still", self._journal)
            raise
        finally:
            await reader.close()

    async def close(self) -> None:
        """After `run`: keeps what was folded, in an orderly end."""
        if self._keeper is not None:
            if self.fault is None and self._keeper.worth_finishing:
                await self._keeper.finish(*self._kept())
            await self._keeper.close()

    async def _begin(self, keeper: Keeper | None) -> Position:
        """Takes a snapshot over, if there is one, and tells where to go on."""
        self._keeper = keeper
        found = None if keeper is None else await self._loaded(keeper)
        if found is not None:
            authority, *whole = found.states
            assert isinstance(authority, KeptAuthority), "expected what `_kept` gave"
            self.authority.restore(authority)
            if self._whole is not None:
                (shard,) = whole
                assert isinstance(shard, PublishingShard), "expected what `_kept` gave"
                self._whole.restore(shard)
            self._at, self._position = found.position, found.position.number
            self._moved.set()
        return self._at

    async def _loaded(self, keeper: Keeper) -> Snapshot | None:
        """The snapshot, however long the log is away."""
        while True:
            try:
                return await keeper.load(self._log, self._wait_s)
            except Unavailable as error:
                log.warning("the replica of %s waits: %s", self._journal, error)
                await asyncio.sleep(self._wait_s)

    def _kept(self) -> tuple[Position, *tuple[object, ...]]:
        whole = () if self._whole is None else (self._whole,)
        return self._at, *self.form.copies(self.authority.keep(), *whole)
