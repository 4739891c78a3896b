"""The simulator on the command line; `make simulate`, `simulate-many` and `simulate-shrink` call it.

    python -m tests.simulation one    --seed 7 [--steps 60] [--only 3,8-20] [--whole]
    python -m tests.simulation many   --first 1 --count 500 [--steps 60] [--jobs 2]
    python -m tests.simulation shrink --seed 7 [--steps 60] [--only …]

It ends with 1 where something was found.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.simulation.many import Summary, run_many
from tests.simulation.plan import STEPS, Plan, draw
from tests.simulation.run import Result, run
from tests.simulation.shrink import shrink

LINE_EACH: Final = 10
"""Where nobody watches a terminal, a line is written after so many seeds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what is asked for; 0 where nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Runs the whole engine from seeds.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("one", help="run one seed")
    smaller = verbs.add_parser("shrink", help="find the shortest run of a seed that still breaks the same rule")
    for verb in (one, smaller):
        verb.add_argument("--seed", type=int, required=True)
        verb.add_argument("--only", default="", help="numbers of the plan's items that are kept, as 3,8-20")
    one.add_argument("--whole", action="store_true", help="print the whole trace, also of a run that breaks no rule")
    several = verbs.add_parser("many", help="run seeds one after the other, on all cores")
    several.add_argument("--first", type=int, default=1)
    several.add_argument("--count", type=int, default=100)
    several.add_argument("--jobs", type=int, default=0, help="processes; 0 takes one for each core")
    for verb in (one, several, smaller):
        verb.add_argument("--steps", type=int, default=STEPS, help="things that users do, roughly")
    given = parser.parse_args(arguments)
    if given.verb == "many":
        return _many(given.first, given.count, given.steps, given.jobs)
    plan = draw(given.seed, given.steps)
    if given.only:
        plan = plan.only(_numbers(given.only))
    return _shrink(plan) if given.verb == "shrink" else _one(plan, whole=given.whole)


def _one(plan: Plan, *, whole: bool) -> int:
    result = run(plan, whole=whole)
    if whole or result.violation is not None:
        print(result.report(None if whole else 200))
    else:
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(result.faults.items()))
        print(
            f"seed {plan.seed}: {result.commits} commits, {result.publishes} publishes, {result.stimuli} stimuli in "
            f"{result.virtual_s:.0f} virtual seconds; faults: {faults}; {result.commits / result.cpu_s:.0f} commits "
            f"checked a CPU second; trace {result.trace.digest[:16]}"
        )
    return 0 if result.violation is None else 1


def _many(first: int, count: int, steps: int, jobs: int) -> int:
    total = Summary()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("seeds", total=count)
        for summary in run_many(range(first, first + count), steps=steps, jobs=jobs or None):
            total.add(summary)
            for found in summary.found:
                console.print(found.line, markup=False, highlight=False, soft_wrap=True)
            progress.advance(task)
            if not console.is_terminal and total.runs % LINE_EACH == 0:
                print(f"{total.runs} of {count} seeds, {len(total.found)} found something", file=sys.stderr, flush=True)
    print(total.text())
    return 1 if total.found else 0


def _shrink(plan: Plan) -> int:
    console = Console(stderr=True)

    def tell(kept: int, tried: int, result: Result) -> None:
        console.print(f"{tried} runs tried, {kept} items left, {result.commits} commits", markup=False)

    result = shrink(plan, tell)
    if result is None:
        print(f"seed {plan.seed} with {plan.steps} steps breaks no rule, so there is nothing to shrink")
        return 0
    print("What is left of the plan:")
    print("\n".join(f"  {item}" for item in result.plan.items))
    print(result.report(None))
    return 1


def _numbers(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


if __name__ == "__main__":
    sys.exit(main())
