"""Where the CPU time of a process goes: a sample a millisecond of it, taken in the main thread.

A profiler that follows each call makes small functions look dear; a sample costs the same wherever it falls. What is in
C counts for the Python function that called it. Time of other threads falls on whatever the main thread does then, so
their functions are not in the table; on SQLite the writer's own share is small (it waits for the disk).
"""

import signal
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

INTERVAL_S = 0.001
GENERATED = "generated"
HERE = Path(__file__).resolve().parents[2]


class Hot(NamedTuple):
    """A function with its share of the samples."""

    where: str
    """File and function."""
    own: float
    """In the function itself, and in C that it called."""
    whole: float
    """In it and in all that it called."""


class Samples:
    """What was seen."""

    def __init__(self) -> None:
        self.taken = 0
        self._own: Counter[str] = Counter()
        self._whole: Counter[str] = Counter()
        self._packages: Counter[str] = Counter()

    def top(self, count: int) -> list[Hot]:
        """The functions with the largest shares of their own."""
        return [self._hot(where) for where, _ in self._own.most_common(count)]

    def top_whole(self, count: int) -> list[Hot]:
        """The functions with the largest shares with all that they call."""
        return [self._hot(where) for where, _ in self._whole.most_common(count)]

    def packages(self) -> list[tuple[str, float]]:
        """The shares of packages: a sample counts for the innermost function of this repository."""
        return [(name, found / self.taken) for name, found in self._packages.most_common()]

    def take(self, frame: FrameType | None) -> None:
        """Takes one sample."""
        self.taken += 1
        seen: set[str] = set()
        package = ""
        own = True
        while frame is not None:
            path, package_of = place_of(frame.f_code.co_filename)
            where = f"{path}:{frame.f_code.co_qualname}"
            if path == GENERATED:
                # Constructors of dataclasses and Avro's readers and writers: who called says which.
                where = f"{where.rpartition('.')[2]}, generated, of {_caller(frame)}"
            if own:
                self._own[where] += 1
                own = False
            package = package or package_of
            if where not in seen:
                seen.add(where)
                self._whole[where] += 1
            frame = frame.f_back
        self._packages[package or "elsewhere"] += 1

    def _hot(self, where: str) -> Hot:
        return Hot(where, self._own[where] / self.taken, self._whole[where] / self.taken)


@contextmanager
def sampled() -> Generator[Samples]:
    """Takes samples of what runs within; in the main thread only."""
    samples = Samples()
    before = signal.signal(signal.SIGPROF, lambda _, frame: samples.take(frame))
    signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)
    try:
        yield samples
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


_places: dict[str, tuple[str, str]] = {}


def place_of(file: str) -> tuple[str, str]:
    """A short name of a file, and the package of this repository that it is in, or ""."""
    found = _places.get(file)
    if found is None and file.startswith("<"):
        found = _places[file] = GENERATED, ""
    if found is None:
        path = Path(file).resolve()
        if HERE in path.parents and ".venv" not in path.parts:
            inside = path.relative_to(HERE)
            parts = [part for part in inside.parts if part not in ("src", "interlock")]
            found = str(inside), "/".join(parts[:2] if parts[0] in ("domain", "ops") else parts[:1])
        else:
            found = "/".join(path.parts[-2:]), ""
        _places[file] = found
    return found


def _caller(frame: FrameType) -> str:
    """The first function outside of generated code that led to a frame."""
    before = frame.f_back
    while before is not None and before.f_code.co_filename.startswith("<"):
        before = before.f_back
    return "nobody" if before is None else f"{place_of(before.f_code.co_filename)[0]}:{before.f_code.co_qualname}"
