"""The simulator sees: each bug that is put in on purpose is found within its seeds, which are green without it."""

from collections.abc import Iterator

import pytest

from tests.simulation.bugs.catalogue import BUGS, MASKED
from tests.simulation.bugs.hunt import Pool, shrunk

pytestmark = pytest.mark.simulation


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """All hunts, under way in processes of their own."""
    hunting = Pool()
    hunting.begin([*BUGS, *MASKED])
    yield hunting
    hunting.close()


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found_and_its_seeds_are_green_without_it(
    name: str, pool: Pool, capsys: pytest.CaptureFixture[str]
) -> None:
    found = pool.hunted(name)
    with capsys.disabled():
        print(f"\n{found.line}")
    assert found.rule, f"expected it within {found.seeds} seeds, found nothing: {BUGS[name].sentence}"
    without = pool.without(name, found.seeds)
    assert [report for report in without.values() if report] == []


@pytest.mark.parametrize("name", MASKED)
def test_either_check_is_enough_where_there_are_two(name: str, pool: Pool) -> None:
    found = pool.hunted(name)
    assert found.rule == "", found.report


def test_there_are_bugs_enough_and_each_says_what_it_stands_for() -> None:
    assert len(BUGS) >= 20
    assert [bug.name for bug in BUGS.values() if "The mistake: " not in bug.sentence] == []


def test_a_run_that_found_a_bug_shrinks_to_a_handful_of_items(capsys: pytest.CaptureFixture[str]) -> None:
    whole, left = shrunk("a stimulus is routed again")
    with capsys.disabled():
        print(f"\n{left} of {whole} items are left")
    assert 1 <= left <= 8
