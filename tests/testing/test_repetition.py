"""One seed of a rehearsal gives one history, whatever the interpreter's own chance."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def said(seed: int, hash_seed: str) -> str:
    """Every event, with its ids and its time, by a process whose sets of text have an order of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.testing.rehearsal_child", str(seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_one_seed_gives_the_same_events_in_two_processes_and_another_seed_others() -> None:
    """Proves: OPS-05."""
    first = said(1, "1")
    assert first.count("\n") > 10
    assert first == said(1, "4711")
    assert first != said(2, "1")
