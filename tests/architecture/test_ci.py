"""How a run of continuous integration ends: by a code that tells a run without a broker from one that passed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = """#!/bin/sh
echo "$@" >> "$PWD/asked"
case "$2" in
  ops.kafka) exit "$BROKER" ;;
  pytest) case "$*" in *--ignore=*) exit "$COMPUTED" ;; *) exit "$TESTS" ;; esac ;;
esac
"""
"""Stands in for the environment's Python: a broker is there or not, and tests pass or don't."""


def ended(
    folder: Path, *command: str, broker: int, tests: int = 0, computed: int = 0, check: int = 0
) -> tuple[int, list[str]]:
    """The code that a command ends with in a tree with the real scripts, and what Python was asked."""
    for name in ("ops/test.sh", ".ci/run", "Makefile"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    checked = folder / "checked"
    for path, text in ((folder / ".venv/bin/python", PYTHON), (checked, f"#!/bin/sh\nexit {check}\n")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        path.chmod(0o755)
    told = {"BROKER": str(broker), "TESTS": str(tests), "COMPUTED": str(computed), "MAKE": str(checked)}
    done = subprocess.run(command, cwd=folder, env=os.environ | told, check=False, capture_output=True)
    asked = folder / "asked"
    return done.returncode, asked.read_text("utf-8").splitlines() if asked.exists() else []


CI = ("bash", ".ci/run")
CHECK = "-m ops.kafka check"


def sides(asked: list[str], chosen: str) -> tuple[list[str], list[str]]:
    """The folders that are tested first, and those that the other side leaves out; either may be asked for first."""
    waits, computes = sorted(asked, key=lambda each: "--ignore=" in each)
    begin, end = f"-m pytest -m {chosen} ", " --durations=10"
    parts = [each.removeprefix(begin).removesuffix(end) for each in (waits, computes)]
    assert [f"{begin}{part}{end}" for part in parts] == [waits, computes]
    return parts[0].split(), parts[1].replace("--ignore=", "").split()


def test_with_a_broker_every_test_but_soak_runs_on_one_of_two_sides(tmp_path: Path) -> None:
    code, asked = ended(tmp_path, *CI, broker=0)
    assert code == 0
    assert asked[0] == CHECK
    first, left_out = sides(asked[1:], "not soak")
    assert first == left_out
    assert [folder for folder in first if not (ROOT / folder).is_dir()] == []


def test_without_a_broker_the_rest_runs_and_the_run_ends_with_3(tmp_path: Path) -> None:
    code, asked = ended(tmp_path, *CI, broker=3)
    assert code == 3
    assert (asked[0], asked[-1]) == (CHECK, CHECK)
    first, left_out = sides(asked[1:-1], "not soak and not kafka")
    assert first == left_out


@pytest.mark.parametrize("broker", [0, 3])
def test_tests_that_fail_end_it_with_their_code(tmp_path: Path, broker: int) -> None:
    assert ended(tmp_path, *CI, broker=broker, tests=1)[0] == 1
    assert ended(tmp_path, *CI, broker=broker, computed=1)[0] == 1


def test_a_broker_that_cannot_start_ends_it(tmp_path: Path) -> None:
    assert ended(tmp_path, *CI, broker=1) == (1, [CHECK])


def test_lint_and_types_come_first(tmp_path: Path) -> None:
    assert ended(tmp_path, *CI, broker=0, check=2) == (2, [])


def test_make_test_is_the_same_and_ends_with_makes_own_code(tmp_path: Path) -> None:
    command = ("make", "test", f"MAKE={tmp_path / 'checked'}")
    code, asked = ended(tmp_path, *command, broker=3)
    assert (code, len(asked)) == (2, 4)
