"""Thousands of seeds in a few processes."""

import asyncio
import gc

import pytest

from tests.simulation.many import run_one

pytestmark = pytest.mark.simulation

SEED, STEPS = 1, 5


def test_what_a_run_leaves_behind_goes_before_the_next_one() -> None:
    """Proves nothing of the engine: without it a campaign of some thousand seeds takes all memory that there is."""
    left: list[int] = []
    gc.disable()
    try:
        for _ in range(3):
            assert not run_one(SEED, STEPS).found
            left.append(sum(isinstance(each, asyncio.Task) for each in gc.get_objects()))
    finally:
        gc.enable()
    assert 0 < left[-1] < 2 * left[0]
