"""Two slots that select one executable share nothing else: emptying one leaves the other's bindings, schedules and
routes as they are. On both logs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock.log.port import Shard
from interlock.projections.reader import ViewReader
from interlock.projections.trigger_index.fold import VIEW
from interlock.projections.trigger_index.query import SqliteTriggerIndex
from interlock.sdk import Client
from interlock.sdk.types import Published
from interlock.targets import load_target
from tests.support.installation import BOTH_LOGS, Installation, install, stimulus, until

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(240)]

APP = "tests.support.errands"
CRON = {"type": "cron", "expression": "0 6 * * *"}
TIMER = {"type": "timer", "every": "10m"}
ENDPOINT = {"type": "http", "method": "POST", "path": "/errands/:id"}

Rows = tuple[list[Any], list[Any], list[Any]]
"""Bindings, schedules and routes."""


@pytest.fixture(params=BOTH_LOGS)
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    """A program without a publication."""
    made = install(request.param, request, tmp_path)
    try:
        made.start(APP)
        yield made
    finally:
        made.close()


def document(*more: dict[str, str]) -> str:
    """The errands, with further triggers."""
    errands: dict[str, Any] = json.loads(load_target(f"{APP}:errands"))
    return json.dumps({**errands, "triggers": [*errands["triggers"], *more]})


class Offers:
    """What the trigger index offers of publications."""

    def __init__(self, installation: Installation) -> None:
        self._reader = ViewReader(installation.data / "views", VIEW)
        self._index = SqliteTriggerIndex(self._reader)
        self._journal = Shard(installation.topic("publishing.journal"), 0)

    def rows(self, shell: str, publication_id: str, position: int) -> Rows:
        """What it has of one, once it knows of this position."""

        def known() -> bool:
            with self._reader.snapshot() as snapshot:
                place = snapshot.positions().get(self._journal)
            return place is not None and place.number >= position

        until(known, f"the trigger index at {position}")
        return (
            list(self._index.bindings(publication_id)),
            [row for row in self._index.schedules(shell) if row.publication_id == publication_id],
            [row for row in self._index.routes(shell) if row.publication_id == publication_id],
        )

    def close(self) -> None:
        """Lets go of the file."""
        self._reader.close()


@pytest.mark.parametrize(("emptied", "left"), [("default", "canary"), ("canary", "default")])
def test_slots_of_one_definition(installation: Installation, emptied: str, left: str) -> None:
    """Proves: PUB-02, PUB-07, PUB-14, PUB-18, TRG-05."""
    client, offers = installation.client, Offers(installation)
    published = {slot: client.publish(document(CRON, TIMER), slot=slot) for slot in ("default", "canary")}
    _one_artifact(*published.values())
    stays, goes = published[left], published[emptied]
    last = max(each.position for each in published.values())
    before = offers.rows("default", stays.publication_id, last)
    assert [len(rows) for rows in before] == [3, 2, 0]
    assert {row.binding_id for row in before[0]}.isdisjoint(
        row.binding_id for row in offers.rows("default", goes.publication_id, last)[0]
    )
    done = client.unpublish("errands", slot=emptied)
    assert offers.rows("default", stays.publication_id, done.position) == before
    assert offers.rows("default", goes.publication_id, done.position) == ([], [], [])
    offers.close()
    for key in ("before-a-kill", "after-it"):
        client.emit_json(stimulus("errand.asked", {"n": 1}, key))
        [start] = installation.routed("errand.asked", key).starts
        assert start.publication_id == stays.publication_id
        if key == "before-a-kill":
            installation.kill()
            installation.start(APP)
    again = client.publish(document(CRON, TIMER), slot=emptied)
    assert again.artifact_id == stays.artifact_id
    client.emit_json(stimulus("errand.asked", {"n": 1}, "both"))
    starts = installation.routed("errand.asked", "both").starts
    assert {each.publication_id for each in starts} == {again.publication_id, stays.publication_id}


def test_slots_of_two_shells(installation: Installation) -> None:
    """An endpoint is one slot's in its shell, so two slots that share an executable with one are of two shells.

    Proves: PUB-01, TRG-04, TRG-05.
    """
    offers = Offers(installation)
    with Client(installation.client.base_url, shell="left") as left, Client(left.base_url, shell="right") as right:
        stays, goes = (client.publish(document(ENDPOINT, CRON)) for client in (left, right))
        _one_artifact(stays, goes)
        before = offers.rows("left", stays.publication_id, goes.position)
        assert [len(rows) for rows in before] == [3, 1, 1]
        done = right.unpublish("errands")
        assert offers.rows("left", stays.publication_id, done.position) == before
        assert offers.rows("right", goes.publication_id, done.position) == ([], [], [])
        assert left.slot("errands").slot.publication_id == stays.publication_id
    offers.close()


def _one_artifact(*published: Published) -> None:
    assert {each.status for each in published} == {"active"}
    assert len({each.artifact_id for each in published}) == 1
