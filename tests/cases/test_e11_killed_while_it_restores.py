"""E11: a process that is killed while it fills its views says no more and no less than the log after its next start."""

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.installation import BOTH_LOGS, Installation, install, stimulus, until

pytestmark = [pytest.mark.cases, pytest.mark.acceptance, pytest.mark.timeout(240)]

APP = "tests.support.errands"
RUNS = 200
KILLS = 2
VIEWS = ("slots", "trigger-index", "stimuli", "executions", "history")


@pytest.fixture(params=BOTH_LOGS)
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    """A program on one of the logs."""
    made = install(request.param, request, tmp_path)
    try:
        made.start(APP)
        made.publish(f"{APP}:errands")
        yield made
    finally:
        made.close()


def kept(installation: Installation) -> int:
    """The last append of a journal that the file of the executions says that it holds; 0 where it says nothing."""
    found = 0
    for path in (installation.data / "views").glob("executions*.sqlite"):
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
                found += connection.execute("SELECT coalesce(sum(number), 0) FROM _positions").fetchone()[0]
        except sqlite3.Error:
            continue  # not made yet
    return found


def test_views_are_those_of_a_full_replay_however_often_their_filling_was_killed(installation: Installation) -> None:
    """Proves: PRJ-06, PRJ-07."""
    client = installation.client
    texts = [stimulus("errand.asked", {"n": number}, f"k{number}", f"c{number}") for number in range(RUNS)]
    installation.outside.write(installation.topic("stimuli"), 0, texts)
    until(lambda: client.counts().runs.get("completed", 0) == RUNS, f"{RUNS} runs to complete")
    installation.stop()
    shutil.rmtree(installation.data / "views")
    last = 0
    for _ in range(KILLS):
        installation.start(APP, serving=False)
        # Something of it was stored, and the process may be anywhere in storing more.
        last = until(lambda: (found := kept(installation)) > last and found, "the filling to go on")  # noqa: B023
        installation.kill()
    installation.start(APP)
    for view in VIEWS:
        client.verify(view)
        found = client.projection(view, wait_s=30)
        assert found.verification is not None
        assert (found.verification.state, found.verification.differs) == ("done", False), found
        assert found.verification.rows > 0
    assert client.counts().runs == {"completed": RUNS}
