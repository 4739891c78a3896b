"""The five minutes of the README, typed as they stand there."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.demo.program import Program
from tests.architecture.test_docs import blocks

pytestmark = pytest.mark.acceptance

ROOT = Path(__file__).resolve().parents[2]
SCRIPT_S = 120

FIND_RUN = """
run_id() {
  until interlock runs list --json | grep -o '"executionId": *"[0-9a-f]*"' | grep -o '[0-9a-f]\\{32\\}'
  do sleep 0.2; done
}
"""
"""What a person does with their eyes."""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """`interlock up --app examples.orders`, which the README has in the first terminal."""
    made = Program(tmp_path)
    made.start()
    yield made
    made.close()


def test_what_the_readme_types_works(program: Program) -> None:
    """Proves: BKM-03, PRJ-06"""
    (typed,) = (block for block in blocks("README.md", "") if "interlock emit" in block)
    script = re.sub(r"\bID\b", "$(run_id)", re.sub(r"#.*", "", typed)).replace("source .venv/bin/activate", "")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "INTERLOCK_DATA": str(program.data),
        "INTERLOCK_API": program.address,
    }
    done = subprocess.run(
        ["bash", "-euc", FIND_RUN + script],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SCRIPT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [each.status for each in program.client.runs().items] == ["completed"]
    assert [each.revision for each in program.client.slots().items] == [2]
