"""Views that are rebuilt while stimuli arrive and people ask, on the real program: nobody gets a wrong answer, and the
rows are those that were there. On both logs."""

import random
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

import pytest

from examples.demo.look import rows_of_all_views
from interlock.projections.views import VIEWS
from interlock.sdk import Client
from interlock.sdk.types import ENDED, Rebuild
from tests.support.installation import BOTH_LOGS, Installation, id_of, install, stimulus, until

pytestmark = pytest.mark.acceptance

APP = "tests.support.errands"
BEFORE = 150
"""Stimuli of each kind that are there when a test begins, so that a rebuild takes a while."""
ROUNDS = 2
"""How often each view is rebuilt."""
NAMES = [view.name for view in VIEWS]


@pytest.fixture(scope="module", params=BOTH_LOGS)
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A program that has done something already."""
    made = install(request.param, request, tmp_path_factory.mktemp("rebuild"))
    try:
        made.start(APP)
        made.publish(f"{APP}:errands")
        made.publish(f"{APP}:parcels")
        for partition in (0, 1):
            values = [value for number in range(partition, BEFORE, 2) for value in story(f"before-{number}")]
            made.outside.write(made.topic("stimuli"), partition, values)
        settle(made)
        yield made
    finally:
        made.close()


def story(key: str) -> list[bytes]:
    """An errand, a parcel that is signed for or waits for ever, and something unfit."""
    values = [stimulus("errand.asked", {"key": key}, key), stimulus("parcel.sent", {"parcel_id": key}, key, key)]
    if key.endswith(("1", "3", "5")):
        values.append(stimulus("parcel.signed", {"by": key}, key, key, ttl="1h"))
    return [*values, stimulus("errand.asked", {"other": key}, key)]


def settle(installation: Installation) -> None:
    """Waits until every view holds all that is in the journals, and nothing more comes of it."""

    def settled() -> bool:
        counts = installation.client.counts()
        views = installation.client.projections()
        return not counts.runs.get("running") and not counts.stimuli.get("kept") and not any(view.lag for view in views)

    until(settled, "everything to be done")


class Load:
    """Stories go on and on, and each of them is asked for again and again by several clients."""

    def __init__(self, installation: Installation) -> None:
        self.wrong: list[str] = []
        self.answers = 0
        self.keys: list[str] = [f"before-{number}" for number in range(BEFORE)]
        self._installation = installation
        self._over = threading.Event()
        self._chance = random.Random(9)

    def run(self, while_: Callable[[], None]) -> None:
        """Keeps on for as long as the call takes."""
        threads = [threading.Thread(target=self._guarded, args=(work,)) for work in (self._write, *4 * [self._probe])]
        for thread in threads:
            thread.start()
        try:
            while_()
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _guarded(self, work: Callable[[Client], None]) -> None:
        try:
            with closing(Client(self._installation.client.base_url)) as client:
                while not self._over.is_set():
                    work(client)
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody who asked got no right answer
            self.wrong.append(f"{work.__name__}: {type(error).__name__}: {error}")

    def _write(self, client: Client) -> None:
        key = f"during-{len(self.keys)}"
        for value in story(key):
            client.emit_json(value)
        client.stimulus(id_of("errand.asked", key), wait_s=30)
        client.stimulus(id_of("parcel.sent", key, key), wait_s=30)
        self.keys.append(key)

    def _probe(self, client: Client) -> None:
        """Asks the same twice and more; what was true once stays so."""
        key = self._chance.choice(self.keys)
        errand = client.stimulus(id_of("errand.asked", key)).stimulus
        self._expect(errand.outcome == "started", f"{key} has started a run", errand)
        [start] = client.stimulus(id_of("parcel.sent", key, key)).starts
        seen = client.run(start.execution_id, wait_s=30, seen="")
        counts, slots = client.counts(), client.slots()
        events = _revisions(client, f"execution:{start.execution_id}")
        for _ in range(3):
            found = client.run(start.execution_id)
            self._expect(len(found.steps) >= len(seen.steps), "no step is taken back", (seen, found))
            self._expect(seen.run.status not in ENDED or found == seen, "what has ended stays so", (seen, found))
            later = client.counts()
            self._expect(_ended(later.runs) >= _ended(counts.runs), "counts never fall", (counts, later))
            self._expect(sum(later.stimuli.values()) >= sum(counts.stimuli.values()), "nothing is lost", later)
            self._expect(client.slots() == slots, "nobody has published", slots)
            again = _revisions(client, f"execution:{start.execution_id}")
            self._expect(again[: len(events)] == events, "history goes on where it was", (events, again))
            seen, counts, events = found, later, again
            self.answers += 6

    def _expect(self, holds: bool, what: str, found: object) -> None:
        if not holds:
            self.wrong.append(f"expected that {what}, found {found}")


def test_a_rebuild_while_stimuli_arrive_gives_the_same_rows_and_nobody_a_wrong_answer(
    installation: Installation,
) -> None:
    """Proves: PRJ-06, PRJ-04 (every stimulus that came meanwhile has started what has authority).

    No "not found" for what is there, no older state, and no 503 either: the old copy serves until they swap.
    """
    load = Load(installation)
    rebuilt: list[Rebuild] = []

    def rebuild() -> None:
        for name in [name for _ in range(ROUNDS) for name in NAMES]:
            asked = installation.client.rebuild(name, compare=True)
            found = installation.client.projection(name, wait_s=30).rebuild
            assert found is not None
            assert found.rebuild_id == asked.rebuild_id
            rebuilt.append(found)

    load.run(rebuild)
    assert load.wrong == []
    assert load.answers > 100
    assert len(load.keys) > BEFORE
    assert [(each.view, each.state, each.message) for each in rebuilt] == [(n, "done", "") for n in NAMES * ROUNDS]
    assert [each.rebuilt_digest for each in rebuilt] == [each.replaced_digest for each in rebuilt]
    assert all(each.rebuilt_digest for each in rebuilt)
    for key in load.keys[BEFORE:]:
        assert installation.ended("errand.asked", key).run.output == {"key": key}


def test_a_rebuild_that_is_cut_short_by_a_kill_goes_on(installation: Installation) -> None:
    """Proves: PRJ-06, PRJ-07 (rows and position never part, whatever moment it dies at)."""
    asked = {name: installation.client.rebuild(name).rebuild_id for name in NAMES}
    installation.kill()
    installation.start(APP)
    for name, rebuild_id in asked.items():
        found = until(partial(_done, installation, name), f"the rebuild of {name}")
        assert (found.rebuild_id, found.state, found.message) == (rebuild_id, "done", "")
    settle(installation)
    runs = _all_runs(installation.client)
    assert len(runs) == len(set(runs)) == sum(installation.client.counts().runs.values())


def test_views_that_were_deleted_come_back_row_by_row_from_the_journals(installation: Installation) -> None:
    """Proves: PRJ-06, PRJ-07 (a replay triggers nothing: the journals are as long as before)."""
    settle(installation)
    before, ends = rows_of_all_views(installation.data), _work_done(installation)
    assert {name.partition(".")[0] for name, rows in before.items() if rows} == set(NAMES)
    installation.stop()
    shutil.rmtree(installation.data / "views")
    installation.start(APP)
    settle(installation)
    after = rows_of_all_views(installation.data)
    assert after.keys() == before.keys()
    for name, rows in before.items():
        assert after[name] == rows, name
    assert _work_done(installation) == ends


def _revisions(client: Client, stream: str) -> list[tuple[int, str]]:
    return [(each.revision, each.type) for each in client.history(stream).items]


def _ended(runs: dict[str, int]) -> int:
    return sum(count for status, count in runs.items() if status in ENDED)


def _done(installation: Installation, view: str) -> Rebuild | None:
    found = installation.client.projection(view, wait_s=10).rebuild
    return found if found is not None and found.state == "done" else None


def _all_runs(client: Client) -> list[str]:
    page = client.runs(limit=500)
    found = [run.execution_id for run in page.items]
    while page.next is not None:
        page = client.runs(limit=500, after=page.next)
        found += [run.execution_id for run in page.items]
    return found


def _work_done(installation: Installation) -> dict[str, int]:
    """Context/partition → events and intents of its journal; what counts no frames, which each start adds to."""
    found: dict[str, int] = {}
    for context, partitions in {"publishing": 1, "routing": 2, "executions": 2}.items():
        for partition in range(partitions):
            records = installation.outside.read(installation.topic(f"{context}.journal"), partition)
            found[f"{context}/{partition}"] = sum(dict(each.headers)["kind"] != b"frame" for each in records)
    return found
