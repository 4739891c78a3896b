"""A step that never ends is a violation that says where it stands."""

from contextlib import suppress

import pytest

from interlock.processors.ownership import Ownership
from tests.simulation import run as running
from tests.simulation.plan import draw
from tests.simulation.run import run
from tests.simulation.spinning import RULE


def test_a_run_that_goes_round_without_waiting_ends_and_says_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    async def round_and_round(ownership: Ownership) -> None:
        while True:
            # As a loop that tries again whatever happens.
            with suppress(Exception):
                int("1")

    monkeypatch.setattr(running, "STEP_CPU_S_MAX", 0.5)
    monkeypatch.setattr(Ownership, "_turn", round_and_round)
    result = run(draw(1, 5))
    assert result.violation is not None
    assert result.violation.rule == RULE
    assert "in round_and_round" in str(result.violation)
    assert result.steps > 0
    assert "make simulate SEED=1 STEPS=5" in result.report()
