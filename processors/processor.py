"""The single writer of a shard: opens, works, and opens anew after a loss, as long as the shard is assigned here.

assigned ─► open ─► work ─► stopped: end
              ▲       └► Lost, or the log is away: wait (growing, with jitter), open anew if still assigned
              └► LogChanged, BlobLost, or an event that can't be folded: end loudly; an operator is needed
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final

from interlock.log.blobs.store import BlobLost
from interlock.log.journal import LogChanged, Lost
from interlock.log.port import Doubt, LogError, Refused
from interlock.processors.ownership import Ownership
from interlock.processors.ports import Bounds, ClockOff

log = logging.getLogger(__name__)

HELD_S: Final = 5.0
"""How long an ownership has to hold, after one that ended by an error, until it is taken for one that goes on: an
opening is a small write, and may land where the next append doesn't."""


class ShardProcessor:
    """Runs one shard after another ownership; `make` gives a fresh, empty ownership each time."""

    def __init__(
        self,
        name: str,
        *,
        make: Callable[[], Ownership],
        still_assigned: Callable[[], Awaitable[bool]],
        fit: Callable[[], Awaitable[None]],
        bounds: Bounds,
        chance: random.Random,
    ) -> None:
        """`fit` raises `ClockOff` where no shard may be opened."""
        self.name = name
        self.takeovers = 0
        """Ownerships begun; many without a new assignment mean that two processes fight for the shard."""
        self.fault: str | None = None
        """Why the shard stands still and needs an operator; None while it does not."""
        self.ownership: Ownership | None = None
        """The current one; None between two."""
        self._last_error: str | None = None
        self._opened: tuple[float, int] | None = None
        self._make = make
        self._still_assigned = still_assigned
        self._fit = fit
        self._bounds = bounds
        self._chance = chance
        self._stopping = asyncio.Event()

    @property
    def serving(self) -> bool:
        """Whether it owns the shard now, as far as it knows."""
        return self.ownership is not None and self.ownership.journal is not None

    @property
    def last_error(self) -> str | None:
        """Why an append of an earlier ownership did not count; None once this one has appended something, or has held
        for `HELD_S`."""
        if self._last_error is not None and self._opened is not None and self.ownership is not None:
            at, number = self._opened
            journal = self.ownership.journal
            appended = journal is not None and journal.position.number > number
            if appended or asyncio.get_running_loop().time() - at >= HELD_S:
                self._last_error = None
        return self._last_error

    async def run(self) -> None:
        """Until `stop`, or until the shard is no longer assigned here."""
        failures = 0
        while not self._stopping.is_set() and await self._still_assigned():
            ownership = self._make()
            self.ownership = ownership
            try:
                await self._fit()
                await ownership.open(self._still_assigned)
                self.takeovers += 1
                failures = 0
                assert ownership.journal is not None, "expected a journal of an ownership that is open"
                self._opened = asyncio.get_running_loop().time(), ownership.journal.position.number
                if self.takeovers % self._bounds.takeovers_alarm == 0:
                    log.error(
                        "shard %s was taken over %d times under one assignment: is another process, with another "
                        "assignment, writing to its journal?",
                        self.name,
                        self.takeovers,
                    )
                await ownership.work()
            except (LogChanged, BlobLost) as error:
                self.fault = str(error)
                log.error("shard %s stands still: %s", self.name, error)
                return
            except (LogError, ClockOff) as error:
                failures += 1
                if isinstance(error, Refused | Doubt | Lost | ClockOff):
                    self._last_error = str(error)
                log.warning("shard %s is opened again: %s", self.name, error)
            except Exception as error:
                self.fault = f"{type(error).__name__}: {error}"
                log.exception(
                    "shard %s stands still: a record of its journal or a decision can't be handled", self.name
                )
                return
            finally:
                self.ownership = self._opened = None
                await ownership.close()
            await self._back_off(failures)

    def stop(self) -> None:
        """Asks it to end in order: the turn under way is finished and what it promised is delivered."""
        self._stopping.set()
        if self.ownership is not None:
            self.ownership.stop()

    async def _back_off(self, failures: int) -> None:
        bounds = self._bounds
        ms = min(bounds.reopen_backoff_ms * 2 ** min(failures, 10), bounds.reopen_backoff_ms_max)
        try:
            await asyncio.wait_for(self._stopping.wait(), ms * (0.5 + self._chance.random() / 2) / 1000)
        except TimeoutError:
            return
