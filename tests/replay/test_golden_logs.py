"""E16: what releases have left comes to the same states and rows for ever, whatever is decided otherwise since."""

from pathlib import Path

import pytest

from tests.replay.golden import UNRELEASED, fold, lacking, logs, read, summary

pytestmark = pytest.mark.replay


@pytest.mark.parametrize("path", logs(), ids=lambda path: path.stem)
def test_a_log_comes_to_what_it_came_to(path: Path) -> None:
    """Proves: LOG-01, PRJ-06 (replay decides nothing again)."""
    expected = path.with_suffix(".told").read_text("utf-8")
    assert summary(fold(path)) == expected, "tests/replay/golden.py says what may change this, and how to look"


def test_the_logs_of_this_release_have_every_type_of_event() -> None:
    """A type that was added since is in none, and would be folded by nobody here."""
    assert lacking(read(path) for path in logs() if path.stem.startswith(UNRELEASED)) == set()
