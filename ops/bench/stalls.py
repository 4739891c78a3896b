"""What holds an event loop up: how long, whether it computed or waited meanwhile, and where it was.

A beat goes over the loop every few milliseconds, and a thread looks at the loop's thread while one is overdue. Each
stall says how much of it was CPU time of the loop's thread: the rest it waited, for a disk, for a lock, for another
thread that had the interpreter, or for its turn on a busy machine. Garbage collection is told apart, since no
stack shows it.

What would surprise: the looking thread needs the interpreter too, so what is in C and keeps it is seen only at its end.
"""

import asyncio
import gc
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

from ops.bench.sampling import place_of

BEAT_S: Final = 0.002
LATE_S: Final = 0.02
"""A beat that is later is a stall."""
SCHEDSTAT: Final = Path("/proc/thread-self/schedstat")
FRAMES_MAX: Final = 4
"""Of this repository, the innermost ones; with what they called outside of it."""
TOLD_MAX: Final = 12


class Stall(NamedTuple):
    """Once that the loop was held up."""

    at_s: float
    """Since the beginning."""
    ms: float
    cpu_ms: float
    """CPU time of the loop's thread in it."""
    queued_ms: float
    """How long the loop's thread could have gone on, but others had the processors; 0 where Linux doesn't tell."""
    garbage_ms: float
    """Garbage collection in it, by whichever thread."""
    seen: Mapping[str, int]
    """Where the loop's thread was, as often as it was looked at."""


class Stalls:
    """What was noticed."""

    def __init__(self) -> None:
        self.found: list[Stall] = []
        self.seconds = 0.0
        self._began_s = self._beat_s = time.perf_counter()
        self._beat_cpu_s, self._beat_queued_s = time.thread_time(), _queued_s()
        self._thread = threading.get_ident()
        self._seen: Counter[str] = Counter()
        self._garbage_s = 0.0
        self._collecting_since_s = 0.0
        self._over = threading.Event()

    def lines(self) -> list[str]:
        """The longest ones, as text."""
        held_ms = sum(one.ms for one in self.found)
        many, late_ms = len(self.found), LATE_S * 1e3
        lines = [f"{many} times late by {late_ms:g} ms or more, {held_ms:.0f} ms of {self.seconds:.1f} s; the longest:"]
        for one in sorted(self.found, key=lambda one: -one.ms)[:TOLD_MAX]:
            of = f"CPU {one.cpu_ms:.0f} with garbage {one.garbage_ms:.0f}, queued {one.queued_ms:.0f}"
            lines.append(f"  {one.ms:6.0f} ms ({of}), {one.at_s:.1f} s after the beginning")
            lines += [f"    {count:4}  {where}" for where, count in Counter(one.seen).most_common(3)]
        return lines

    async def beat(self) -> None:
        """Goes over the loop until it is cancelled."""
        while True:
            await asyncio.sleep(BEAT_S)
            now_s, cpu_s, queued_s = time.perf_counter(), time.thread_time(), _queued_s()
            late_s = now_s - self._beat_s - BEAT_S
            if late_s > LATE_S:
                stall = Stall(
                    at_s=self._beat_s - self._began_s,
                    ms=late_s * 1e3,
                    cpu_ms=(cpu_s - self._beat_cpu_s) * 1e3,
                    queued_ms=(queued_s - self._beat_queued_s) * 1e3,
                    garbage_ms=self._garbage_s * 1e3,
                    seen=dict(self._seen),
                )
                self.found.append(stall)
            self._seen.clear()
            self._garbage_s = 0.0
            self._beat_s, self._beat_cpu_s, self._beat_queued_s = now_s, cpu_s, queued_s

    def watch(self) -> None:
        """Looks at the loop's thread from another one, until `end`."""
        while not self._over.wait(LATE_S / 4):
            if time.perf_counter() - self._beat_s > LATE_S / 2:
                frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage] - no other way
                self._seen[_where(frames.get(self._thread))] += 1

    def collected(self, phase: str, _: dict[str, int]) -> None:
        """A callback of the garbage collector."""
        now_s = time.perf_counter()
        if phase == "start":
            self._collecting_since_s = now_s
        else:
            self._garbage_s += now_s - self._collecting_since_s

    def end(self) -> None:
        """Ends `watch`."""
        self.seconds = time.perf_counter() - self._began_s
        self._over.set()


@asynccontextmanager
async def stalls() -> AsyncGenerator[Stalls]:
    """Notices what holds the running loop up within."""
    noticed = Stalls()
    gc.callbacks.append(noticed.collected)
    thread = threading.Thread(target=noticed.watch, daemon=True)
    thread.start()
    beating = asyncio.create_task(noticed.beat())
    try:
        yield noticed
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        noticed.end()
        thread.join()
        gc.callbacks.remove(noticed.collected)


def _queued_s() -> float:
    """How long this thread has waited for a processor so far."""
    try:
        return int(SCHEDSTAT.read_text("ascii").split()[1]) / 1e9
    except OSError:
        return 0.0


def _where(frame: FrameType | None) -> str:
    """The innermost functions, from within."""
    found: list[str] = []
    own = 0
    while frame is not None and own < FRAMES_MAX:
        path, package = place_of(frame.f_code.co_filename)
        if package or not own:
            found.append(f"{path}:{frame.f_lineno} {frame.f_code.co_name}")
        own += bool(package)
        frame = frame.f_back
    return " < ".join(found)
