"""Time and ids of a real process."""

import asyncio
import secrets
import time
from collections.abc import Callable
from functools import cache
from typing import Final

from interlock.log.port import LogAdmin
from interlock.processors.ports import Clock, ClockOff

FRESH_S: Final = 60.0
"""How long a clock that was measured against the log's is taken to be as it was."""


def wall_ms() -> int:
    """What the machine's clock shows, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def passed_ms() -> int:
    """Milliseconds since some instant. No step of the machine's clock is in it; where the system tells, the time that
    the machine slept is."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1_000_000


class SteadyClock:
    """The machine's clock as it was when this was made, moved on by what has passed since.

    What would surprise: a step of the machine's clock (by hand, by NTP, by a machine that was restored) reaches a
    process only when it starts again. Timers of days ahead don't fire because of one, and nothing is forgotten by it.
    """

    def __init__(self, wall_ms: Callable[[], int] = wall_ms, passed_ms: Callable[[], int] = passed_ms) -> None:
        self._passed_ms = passed_ms
        self._began_ms = wall_ms() - passed_ms()

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return self._began_ms + self._passed_ms()


@cache
def process_clock() -> SteadyClock:
    """The one of this process: the engine's, and that of a log which is told the time by it."""
    return SteadyClock()


class ClockGuard:
    """Tells whether a process's clock is near enough to the log's, before it opens a shard."""

    def __init__(self, clock: Clock, admin: LogAdmin, skew_max_ms: int) -> None:
        self._clock = clock
        self._admin = admin
        self._skew_max_ms = skew_max_ms
        self._fresh_until_s = float("-inf")

    async def check(self) -> None:
        """Raises `ClockOff`, `Refused`, `Unavailable`. Asks the log again once its last good answer is a minute old."""
        # By the loop's time: a clock that was set back would take itself for measured for as long.
        now_s = asyncio.get_running_loop().time()
        if now_s < self._fresh_until_s:
            return
        skew_ms = 1000 * await self._admin.clock_skew_s(self._clock.now_ms)
        if abs(skew_ms) > self._skew_max_ms:
            raise ClockOff(
                f"expected this process's clock within {self._skew_max_ms} ms of the log's, found it "
                f"{-skew_ms:+.1f} ms off; set the machine's clock (NTP), and start this process again: it owns no "
                "shard before"
            )
        self._fresh_until_s = now_s + FRESH_S


def random_id() -> str:
    """32 hexadecimal digits of the system's randomness."""
    return secrets.token_hex(16)
