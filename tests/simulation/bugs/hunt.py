"""Hunts for a planted bug: runs seeds with it until one finds it. In processes of their own, like `many.py`.

python -m tests.simulation.bugs.hunt [NAME …] [--shrink]
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass

from tests.simulation.bugs.catalogue import BUGS, MASKED
from tests.simulation.plan import Lean, draw
from tests.simulation.run import Result, run
from tests.simulation.shrink import shrink


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """What came of a hunt."""

    bug: str
    seeds: int
    """Seeds that were run, the last of which found it."""
    rule: str
    """The rule that it broke; "" where no seed found it."""
    sentence: str
    report: str
    """The end of the trace of the run that found it."""
    cpu_s: float

    @property
    def line(self) -> str:
        """For a person who reads the output of the tests."""
        found = f"{self.rule} at seed {self.seeds}" if self.rule else f"not found in {self.seeds} seeds"
        return f"{self.bug}: {found}, {self.cpu_s:.1f} CPU seconds"


def hunt(name: str) -> Hunt:
    """Runs the seeds of a bug with it, until one finds it or there are no more."""
    bug, began_s = (BUGS | MASKED)[name], time.process_time()
    for seed in range(1, bug.tries + 1):
        with bug.planted():
            result = run(draw(seed, bug.steps, bug.lean))
        if (violation := result.violation) is not None:
            rule, sentence, report = violation.rule, str(violation), result.report()
            cpu_s = time.process_time() - began_s
            return Hunt(bug=name, seeds=seed, rule=rule, sentence=sentence, report=report, cpu_s=cpu_s)
    cpu_s = time.process_time() - began_s
    return Hunt(bug=name, seeds=bug.tries, rule="", sentence="", report="", cpu_s=cpu_s)


def green(seed: int, steps: int, lean: Lean) -> str:
    """What a run without any bug finds, with its trace; "" where that is nothing, as it should be."""
    result = run(draw(seed, steps, lean))
    return "" if result.violation is None else result.report()


class Pool:
    """Processes that hunt; what is asked for twice is done once."""

    def __init__(self, jobs: int | None = None) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self._pool = ProcessPoolExecutor(jobs or os.cpu_count(), mp_context=context)
        self._hunts: dict[str, Future[Hunt]] = {}
        self._greens: dict[tuple[int, int, Lean], Future[str]] = {}

    def begin(self, names: Sequence[str]) -> None:
        """Begins to hunt."""
        for name in names:
            self._hunts[name] = self._pool.submit(hunt, name)

    def hunted(self, name: str) -> Hunt:
        """What came of it; waits for that."""
        return self._hunts[name].result()

    def without(self, name: str, seeds: int) -> dict[int, str]:
        """What the first seeds of a bug find without it."""
        bug = BUGS[name]
        asked = [(seed, bug.steps, bug.lean) for seed in range(1, seeds + 1)]
        for one in asked:
            if one not in self._greens:
                self._greens[one] = self._pool.submit(green, *one)
        return {one[0]: self._greens[one].result() for one in asked}

    def close(self) -> None:
        """Ends the processes."""
        self._pool.shutdown(cancel_futures=True)


def shrunk(name: str) -> tuple[int, int]:
    """Items of the plan that finds a bug first, and how many of them are left once it is shrunk."""
    bug, found = BUGS[name], hunt(name)
    plan = draw(found.seeds, bug.steps, bug.lean)
    with bug.planted():
        result = shrink(plan, _silently)
    return len(plan.items), -1 if result is None else len(result.plan.items)


def _silently(kept: int, tried: int, result: Result) -> None:
    """Nobody watches."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Hunts for the bugs that are named, or all; 0 where all were found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.bugs.hunt", description="Hunts planted bugs.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--shrink", action="store_true", help="shrink the run that found it, too")
    parser.add_argument("--report", action="store_true", help="print the trace of the run that found it")
    parser.add_argument("--jobs", type=int, default=0)
    given = parser.parse_args(arguments)
    names = given.names or list(BUGS)
    pool = Pool(given.jobs or None)
    pool.begin(names)
    missed = 0
    for name in names:
        found = pool.hunted(name)
        missed += not found.rule
        print(found.line, flush=True)
        if given.report:
            print(found.report)
        if given.shrink and found.rule:
            whole, left = shrunk(name)
            print(f"    {left} of {whole} items left", flush=True)
    pool.close()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
