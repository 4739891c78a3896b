"""Ends a run that stands in one step for ever: code that goes round without waiting never gives the loop back, so that
nothing on the loop could notice.

The time is the processor's, not the clock's: a machine that is busy with other things ends no run. What would surprise:
it is told by a signal, in the middle of whatever runs, and is no `Exception`, because the engine would take one for a
failure of a shard and try again. Outside the main thread, where Python gives no signals, nothing is watched.
"""

import signal
import threading
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from tests.simulation.checks import Violation

RULE: Final = "every step ends"
STACK_KEPT_MAX: Final = 12
"""Frames that are told, the innermost ones."""


class Spinning(SystemExit):
    """A step doesn't end. As a `SystemExit` it goes through every task, and through the loop."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation = violation


@contextmanager
def watching(steps: Callable[[], int], within_s: float) -> Generator[None, None, None]:
    """Raises `Spinning` within, once `steps` has given the same for `within_s` CPU seconds, or up to twice that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = -1

    def look(number: int, frame: FrameType | None) -> None:
        nonlocal known
        before, known = known, steps()
        if known == before:
            raise Spinning(Violation(RULE, _sentence(known, within_s, frame)))

    former = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, within_s, within_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, former)


def _sentence(steps: int, within_s: float, frame: FrameType | None) -> str:
    stack = "".join(traceback.format_stack(frame, STACK_KEPT_MAX))
    return f"expected step {steps} to take less than {within_s:g} CPU seconds, found it still at\n{stack}"
