"""The end of a process, also where something that is not the engine's doesn't let it.

first signal ─► `stop` is called on the loop; after END_S the process ends, whatever it waits for
second one   ─► it ends at once, in every phase: while the loop is blocked, and after the loop is gone
`leave`      ─► all that counts has ended; what still goes on may do so for LEAVE_S

An activity that swallows its cancellation, or that is in a thread, can't be stopped from outside; so the process is
ended without it, and a warning names what was left. Nothing that was acknowledged is lost by that.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final

from interlock.cli.codes import Code

log = logging.getLogger("interlock")

LEAVE_S: Final = 3.0
"""How long code that is not the engine's may keep a process that has ended in order."""
END_S: Final = 45.0
"""How long ending in order may take; requests, turns and deliveries have their own bounds, which are below it."""
SAY_S: Final = 1.0
"""How long the last words may take: whoever should read them may have stopped."""
NAMES_MAX: Final = 10
"""How many things that were left are named."""

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Ending:
    """One a process; made on the main thread, where signals arrive."""

    def __init__(self, loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
        """`stop` is called on the loop at the first signal."""
        self._loop = loop
        self._stop = stop
        self._signals = 0
        # Not the loop's own handlers: they are silent while something blocks the loop, and once it is closed.
        self._before = {number: signal.signal(number, self._signalled) for number in SIGNALS}

    def undo(self) -> None:
        """Lets signals do what they did before, in a process that goes on without an engine."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def leave(self) -> None:
        """Ends the process in a while, if it hasn't ended by itself."""
        self._after(LEAVE_S, Code.DONE, "ended without waiting for what goes on")

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        if self._signals > 1:
            end(128 + number, "a second signal: ending at once")
        self._after(END_S, Code.FAILED, f"not ended in order within {END_S:g} s: ending now")
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._first, number)

    def _first(self, number: int) -> None:
        log.info("%s: ending in order; a second signal ends at once", signal.Signals(number).name)
        self._stop()

    def _after(self, seconds: float, code: int, message: str) -> None:
        def late() -> None:
            left = ", ".join(self._left()) or "nothing that has a name"
            end(code, f"{message}; left: {left}")

        timer = threading.Timer(seconds, late)
        timer.daemon = True
        timer.start()

    def _left(self) -> list[str]:
        """What keeps the process: tasks of the loop, and threads that Python waits for."""
        with contextlib.suppress(RuntimeError):  # tasks that come and go meanwhile
            tasks = sorted(f"task {_shown(task)}" for task in asyncio.all_tasks(self._loop))
            threads = sorted(
                f"thread {each.name}"
                for each in threading.enumerate()
                if not each.daemon and each is not threading.main_thread()
            )
            found = tasks + threads
            more = [f"and {len(found) - NAMES_MAX} more"] if len(found) > NAMES_MAX else []
            return found[:NAMES_MAX] + more
        return []


def end(code: int, message: str) -> None:
    """Ends the process now, with a warning if it can still be said."""

    def say() -> None:
        log.warning("%s", message)
        logging.shutdown()
        sys.stdout.flush()

    # On a thread of its own, for a pipe that nobody reads would hold it.
    saying = threading.Thread(target=say, daemon=True)
    saying.start()
    saying.join(SAY_S)
    os._exit(code)


def _shown(task: "asyncio.Task[object]") -> str:
    coroutine = getattr(task.get_coro(), "__qualname__", "")
    return f"{task.get_name()} ({coroutine})" if coroutine else task.get_name()
