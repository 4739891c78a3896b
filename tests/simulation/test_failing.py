"""A run that raises anything is one that broke a rule: it is told, shrunk and run again as any other."""

import re
from typing import Final

import pytest

from tests.simulation.__main__ import main
from tests.simulation.items import DropItem
from tests.simulation.many import run_one
from tests.simulation.plan import draw
from tests.simulation.run import FAILED, run
from tests.simulation.shrink import shrink
from tests.simulation.troubles import Troubles

SEED: Final = 1
STEPS: Final = 2


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of the simulation raises what is no violation."""

    async def drop(self: Troubles, item: DropItem) -> None:
        raise KeyError(f"no such view as {item.view}")

    monkeypatch.setattr(Troubles, "_drop", drop)


def test_a_run_that_raises_says_what_and_where_and_how_to_run_it_again() -> None:
    result = run(draw(SEED, STEPS))
    assert result.violation is not None
    assert result.violation.rule == f"{FAILED} by KeyError"
    assert "no such view as" in str(result.violation)
    assert "in drop\n" in str(result.violation)
    assert result.steps > 0
    assert result.faults, "it counts what it was up to there"
    assert f"make simulate SEED={SEED} STEPS={STEPS}" in result.report()


def test_of_many_it_is_told_as_any_other_that_was_found() -> None:
    (found,) = run_one(SEED, STEPS).found
    assert found.rule == f"{FAILED} by KeyError"
    assert found.again == f"make simulate SEED={SEED} STEPS={STEPS}"


def test_it_shrinks_to_what_raises_and_the_command_runs_that_again(capsys: pytest.CaptureFixture[str]) -> None:
    result = shrink(draw(SEED, STEPS), lambda left, tried, shorter: None)
    assert result is not None
    assert [type(item) for item in result.plan.items] == [DropItem]
    words = re.fullmatch(r"make simulate SEED=(\d+) STEPS=(\d+) ONLY=(\S+)", result.again)
    assert words is not None
    seed, steps, only = words.groups()
    assert main(["one", "--seed", seed, "--steps", steps, "--only", only]) == 1
    said = capsys.readouterr().out
    assert f"{FAILED} by KeyError" in said
    assert result.again in said
