"""Many seeds at once, in processes of their own; what comes back is small.

A worker that dies takes its seed with it: that seed is then told as found, since a run never ends its interpreter.
"""

import gc
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field

from interlock.runtime.garbage import look_seldom
from tests.simulation.plan import draw
from tests.simulation.run import run


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A seed that broke a rule."""

    seed: int
    rule: str
    sentence: str
    again: str
    """The command that reruns exactly this."""
    report: str
    """The end of its trace."""

    @property
    def line(self) -> str:
        """What a person needs to go on."""
        return f"FOUND seed {self.seed}: {self.sentence}\n      {self.again}"


@dataclass(slots=True)
class Summary:
    """What one run or several were."""

    runs: int = 0
    commits: int = 0
    publishes: int = 0
    stimuli: int = 0
    cpu_s: float = 0.0
    virtual_s: float = 0.0
    faults: Counter[str] = field(default_factory=Counter[str])
    found: list[Found] = field(default_factory=list[Found])
    seed: int = -1
    """Of one run."""

    def add(self, other: "Summary") -> None:
        """Adds another's counts."""
        self.runs += other.runs
        self.commits += other.commits
        self.publishes += other.publishes
        self.stimuli += other.stimuli
        self.cpu_s += other.cpu_s
        self.virtual_s += other.virtual_s
        self.faults.update(other.faults)
        self.found += other.found

    def text(self) -> str:
        """All of it for a person."""
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items()))
        sums = (
            f"{self.runs} runs, {self.commits} commits, {self.publishes} publishes, {self.stimuli} stimuli, "
            f"{self.virtual_s / 3600:.1f} virtual hours in {self.cpu_s:.0f} CPU seconds: "
            f"{self.commits / max(self.cpu_s, 0.001):.0f} commits checked a CPU second"
        )
        lines = [
            sums,
            f"faults that came true: {faults}",
            *(found.line for found in self.found),
            f"{len(self.found)} seeds found something",
        ]
        return "\n".join(lines)


def run_one(seed: int, steps: int) -> Summary:
    """One seed, as a small result that another process can read."""
    # A world that has ended refers to itself, and who looks seldom for such keeps 13 MB of each seed.
    gc.collect()
    result = run(draw(seed, steps))
    found: list[Found] = []
    if (violation := result.violation) is not None:
        found.append(
            Found(seed=seed, rule=violation.rule, sentence=str(violation), again=result.again, report=result.report())
        )
    return Summary(
        runs=1,
        commits=result.commits,
        publishes=result.publishes,
        stimuli=result.stimuli,
        cpu_s=result.cpu_s,
        virtual_s=result.virtual_s,
        faults=result.faults,
        found=found,
        seed=seed,
    )


def run_many(seeds: Iterable[int], *, steps: int, jobs: int | None = None) -> Iterator[Summary]:
    """Runs the seeds in so many processes (one for each core unless said) and gives each result as it comes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    # As a process of the engine does: with Python's own looks for garbage a run costs some eight hundredths more.
    with ProcessPoolExecutor(jobs or os.cpu_count(), mp_context=context, initializer=look_seldom) as pool:
        running = {pool.submit(run_one, seed, steps): seed for seed in seeds}
        try:
            for done in as_completed(running):
                error = done.exception()
                yield (
                    done.result() if error is None else _lost(running[done], steps, f"{type(error).__name__}: {error}")
                )
        finally:
            # Whoever wants no more of them waits only for those that are under way.
            pool.shutdown(wait=False, cancel_futures=True)


def _lost(seed: int, steps: int, why: str) -> Summary:
    """A run that took its interpreter with it, or that could not even be drawn."""
    again = f"make simulate SEED={seed} STEPS={steps}"
    found = Found(
        seed=seed, rule="run", sentence=f"the run never came back: {why}", again=again, report=f"{why}\nagain: {again}"
    )
    return Summary(runs=1, found=[found], seed=seed)
