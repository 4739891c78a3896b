"""One seed gives one run, whatever the interpreter's own chance: a failure that was found is found again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LANDINGS_MIN = 200
"""A trace with fewer compares little."""


def trace(seed: int, hash_seed: str) -> list[str]:
    """What lands on the log in a storm, by a process whose sets and dictionaries of text have an order of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation.storm_child", str(seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.simulation
def test_one_seed_gives_the_same_log_in_two_processes_and_another_seed_another() -> None:
    first, second, other = trace(1, "1"), trace(1, "4711"), trace(2, "1")
    assert len(first) > LANDINGS_MIN
    differing = next((pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]), None)
    assert differing is None
    assert len(first) == len(second)
    assert first != other
