"""Makes a run that breaks a rule as short as it can: leaves items of its plan out while the same rule is still broken.

What lies behind the breach goes first. Then delta debugging: large parts, then smaller ones, until no single item can
be left out. What users do and what goes wrong are items alike; each has a seed of its own, so the rest stays as it was.
Who goes next on the loop is drawn anew where less happens, so a fault that needs one rare order may be lost on the way;
the shrinker then tries the same items with another part left out.
"""

from collections.abc import Callable

from tests.simulation.plan import Plan
from tests.simulation.run import Result, run

RUNS_MAX = 600
"""Runs that are tried; a run of few items takes a fraction of a second."""

Tell = Callable[[int, int, Result], None]


def shrink(plan: Plan, tell: Tell) -> Result | None:
    """The result of the shortest run found that still breaks the rule; None where the plan breaks none.

    `tell` hears of each shorter run: items left, runs tried, its result.
    """
    best = run(plan)
    if best.violation is None:
        return None
    rule, tried = best.violation.rule, 1
    before = [place for place, item in enumerate(best.plan.items) if item.at_s <= best.virtual_s]
    if len(before) < len(best.plan.items):
        cut, tried = run(best.plan.only(before)), tried + 1
        # What comes later has no part in it; only who tells the end of the run by its last item may differ.
        best = cut if cut.violation is not None and cut.violation.rule == rule else best
    chunk = max(1, len(best.plan.items) // 2)
    while True:
        at, shorter = 0, False
        while at < len(best.plan.items) and tried < RUNS_MAX:
            places = [place for place in range(len(best.plan.items)) if not at <= place < at + chunk]
            result, tried = run(best.plan.only(places)), tried + 1
            if result.violation is not None and result.violation.rule == rule:
                best, shorter = result, True
                tell(len(places), tried, best)
            else:
                at += chunk
        if tried >= RUNS_MAX or (chunk == 1 and not shorter):
            return best
        chunk = max(1, min(chunk, len(best.plan.items)) // 2)
