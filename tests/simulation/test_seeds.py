"""The whole engine through its faults, from seeds: the rules hold all the time, and in the end everything converges."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.simulation.checks import Violation
from tests.simulation.items import FAULTS
from tests.simulation.many import Summary, run_many
from tests.simulation.plan import STEPS, Plan, draw
from tests.simulation.run import Result, spans
from tests.simulation.shrink import shrink
from tests.simulation.trace import Trace

SEEDS: Final = 200
FIRST: Final = 1
IN_ONE_TEST: Final = 10
SEEDS_FILE: Final = Path(__file__).parent / "seeds.txt"
ROOT: Final = Path(__file__).parents[2]


def kept_seeds() -> list[tuple[int, int]]:
    """Seed and steps of every run that ever found something."""
    lines = [line for line in SEEDS_FILE.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    return [(int(words[0]), int(words[1])) for words in (line.split() for line in lines)]


@pytest.mark.simulation
@pytest.mark.parametrize(("seed", "steps"), kept_seeds())
def test_what_was_found_once_stays_mended(seed: int, steps: int) -> None:
    (summary,) = run_many([seed], steps=steps, jobs=1)
    assert summary.found == [], summary.found[0].report


@pytest.fixture(scope="module")
def summaries() -> Iterator[Summary]:
    """All seeds, under way in processes of their own; each test takes the next that end."""
    return run_many(range(FIRST, FIRST + SEEDS), steps=STEPS)


@pytest.mark.simulation
@pytest.mark.parametrize("part", range(SEEDS // IN_ONE_TEST))
def test_every_rule_holds_in_every_run(part: int, summaries: Iterator[Summary]) -> None:
    """Proves: LOG-01, LOG-06, PRJ-02, PRJ-04, OWN-01, OPS-05, PUB-11, PUB-16, STM-04, STM-05, EXE-02, CHK-01, CHK-02,
    BKM-03."""
    for _ in range(IN_ONE_TEST):
        summary = next(summaries)
        assert summary.found == [], summary.found[0].report
        assert summary.commits >= 300, summary
        assert summary.publishes >= 5, summary
        assert summary.stimuli >= 50, summary
        assert [kind for kind in FAULTS if not summary.faults[kind]] == [], f"missing in seed {summary.seed}"


@pytest.mark.simulation
def test_one_seed_is_one_trace_whatever_the_hash_seed() -> None:
    said = [
        subprocess.run(
            [sys.executable, "-m", "tests.simulation", "one", "--seed", "3", "--whole"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert said[0].count("\n") > 300


def test_shrinking_leaves_the_items_that_it_takes_to_break_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = draw(5, STEPS)
    needed = {whole.items[place] for place in (3, 40, 41, len(whole.items) - 1)}

    def broken_by_four(plan: Plan) -> Result:
        violation = Violation("four", "expected no four") if needed <= set(plan.items) else None
        return Result(plan=plan, trace=Trace(), violation=violation)

    monkeypatch.setattr("tests.simulation.shrink.run", broken_by_four)
    heard: list[int] = []
    result = shrink(whole, lambda left, tried, _: heard.append(left))
    assert result is not None
    assert set(result.plan.items) == needed
    assert result.plan.kept == (3, 40, 41, len(whole.items) - 1)
    assert heard == sorted(heard, reverse=True)
    assert result.again.endswith(f"ONLY=3,40-41,{len(whole.items) - 1}")


def test_leaving_an_item_out_changes_no_other() -> None:
    plan = draw(5, STEPS)
    without = plan.only([place for place in range(len(plan.items)) if place != 7])
    assert without.items == plan.items[:7] + plan.items[8:]
    again = without.only(range(len(without.items) - 1))
    assert again.kept == tuple(place for place in range(len(plan.items) - 1) if place != 7)
    assert again.kept is not None
    assert spans(again.kept) == f"0-6,8-{len(plan.items) - 2}"


def test_a_plan_is_all_that_a_seed_means() -> None:
    assert draw(11, STEPS) == draw(11, STEPS)
    assert draw(11, STEPS) != draw(12, STEPS)


def test_each_item_that_is_a_fault_is_of_a_kind_that_its_class_names() -> None:
    items = [item for seed in range(9) for item in draw(seed, STEPS).items]
    assert [item for item in items if item.fault and item.fault not in item.kinds] == []
    assert {item.fault for item in items} == {"", *FAULTS}
