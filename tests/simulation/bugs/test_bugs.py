"""The simulator sees: each bug that is put in on purpose is found within its seeds, which are green without it."""

from collections.abc import Iterator

import pytest

from tests.simulation.bugs.catalogue import BUGS, MASKED
from tests.simulation.bugs.hunt import Pool, shrunk

pytestmark = pytest.mark.simulation
QUICK = [bug.name for bug in BUGS.values() if not bug.soak]
LONG = [bug.name for bug in BUGS.values() if bug.soak]


@pytest.fixture(scope="module")
def quick() -> Iterator[Pool]:
    """All hunts that `make test` has time for, under way in processes of their own."""
    yield from _hunting([*QUICK, *MASKED])


@pytest.fixture(scope="module")
def long() -> Iterator[Pool]:
    """The others."""
    yield from _hunting(LONG)


def _hunting(names: list[str]) -> Iterator[Pool]:
    pool = Pool()
    pool.begin(names)
    yield pool
    pool.close()


def _is_found(pool: Pool, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = pool.hunted(name)
    with capsys.disabled():
        print(f"\n{found.line}")
    assert found.rule, f"expected it within {found.seeds} seeds, found nothing: {BUGS[name].sentence}"
    without = pool.without(name, found.seeds)
    assert [report for report in without.values() if report] == []


@pytest.mark.parametrize("name", QUICK)
def test_a_planted_bug_is_found_and_its_seeds_are_green_without_it(
    name: str, quick: Pool, capsys: pytest.CaptureFixture[str]
) -> None:
    _is_found(quick, name, capsys)


@pytest.mark.parametrize("name", MASKED)
def test_either_check_is_enough_where_there_are_two(name: str, quick: Pool) -> None:
    found = quick.hunted(name)
    assert found.rule == "", found.report


@pytest.mark.soak
@pytest.mark.parametrize("name", LONG)
def test_a_bug_that_takes_longer_is_found_as_well(name: str, long: Pool, capsys: pytest.CaptureFixture[str]) -> None:
    _is_found(long, name, capsys)


def test_there_are_bugs_enough_and_each_says_what_it_stands_for() -> None:
    assert len(QUICK) >= 15
    assert [bug.name for bug in BUGS.values() if "The mistake: " not in bug.sentence] == []


def test_a_run_that_found_a_bug_shrinks_to_a_handful_of_items(capsys: pytest.CaptureFixture[str]) -> None:
    whole, left = shrunk("a stimulus is routed again")
    with capsys.disabled():
        print(f"\n{left} of {whole} items are left")
    assert 1 <= left <= 4
