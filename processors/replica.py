"""A process's own copy of who has authority, folded from the publishing journal as it grows.

Routing decides by it and executions find executables in it. It only ever moves forward, and everything between two
awaits sees one position of it. A message that rests on a later position waits in `reached`.
"""

import asyncio
import logging

from interlock.domain.publishing.authority import Authority
from interlock.domain.publishing.shard import PublishingShard
from interlock.log.frame import is_event
from interlock.log.journal import JournalReader
from interlock.log.port import Log, Shard, Unavailable
from interlock.processors.mail import recorded
from interlock.processors.ports import Codec

log = logging.getLogger(__name__)


class AuthorityReplica:
    """Follows the publishing journal (one shard) from its beginning."""

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
        end = (await self._log.end(self._journal)).end
        while self._next_offset < end:
            self._moved.clear()
            await self._moved.wait()

    async def run(self) -> None:
        """Follows for ever; ends only by cancellation, or loudly where the journal can't be folded."""
        reader = JournalReader(self._log, self._journal)
        goal: int | None = None
        try:
            while True:
                try:
                    if goal is None:
                        goal = (await self._log.end(self._journal)).end
                    self.warm = self.warm or reader.next_offset >= goal
                    appends = await reader.read(0.0 if not self.warm else self._wait_s)
                except Unavailable as error:
                    log.warning("the replica of %s waits: %s", self._journal, error)
                    await asyncio.sleep(self._wait_s)
                    continue
                for append in appends:
                    for entry in append.entries:
                        if is_event(entry):
                            stream = entry.key.decode("utf-8", "surrogatepass")
                            event = recorded(self._codec, self._journal, entry.offset, entry.value)
                            self.authority.apply(stream, event)
                            if self._whole is not None:
                                self._whole.apply(stream, event)
                    self._position = append.frame.number
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
