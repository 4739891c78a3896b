"""An event loop on which time passes only when everybody waits: days take milliseconds, and runs repeat themselves.

What would surprise: real sockets and threads have no place on it; whoever waits for one of them waits for ever, and
`Deadlock` says so at once.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


class Deadlock(RuntimeError):
    """Every task waits for something that no timer will bring."""


class _Jump(selectors.SelectSelector):
    """A selector that, asked to wait, moves the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise Deadlock("expected something to wait for, found that every task waits for another")
        self.now_s += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose `time()` jumps to the next timer."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)
        # Timers closer than this count as due together; with the real clock's resolution, sums of floats would stall.
        self._clock_resolution = 1e-9

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._jump.now_s


class LoopClock:
    """The loop's time as milliseconds since 1970, from a fixed beginning; an offset makes it differ from others."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, start_ms: int = 1_700_000_000_000, offset_ms: int = 0
    ) -> None:
        self._loop = loop
        self._start_ms = start_ms
        self.offset_ms = offset_ms

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return self._start_ms + self.offset_ms + int(self._loop.time() * 1000)


def run_virtual(main: Coroutine[object, object, T]) -> T:
    """Runs a coroutine to its end on a `VirtualLoop` of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
