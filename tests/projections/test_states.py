"""The state of any aggregate as of any of its events is what the deciders held of it then."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from interlock.projections.history.fold import VIEW
from interlock.projections.history.query import AsOf, SqliteHistory
from interlock.projections.history.states import STATES, UnknownKind, state_of
from interlock.projections.reader import ViewReader
from interlock.schemas.catalog import STORED
from interlock.schemas.inventory import record_modules, stored_types
from tests.projections.journals import CODEC, Journals, live, projecting
from tests.projections.stories import SHELL, SLOT, activation, candidate, prepared, routed, whole_run
from tests.schemas.golden import sample


def kinds() -> dict[str, type]:
    """Kind of stream → the first of its facts, as the modules of facts say themselves."""
    found: dict[str, type] = {}
    for module in record_modules():
        if said := re.search(r"\(stream\s+`([a-z-]+):", module.__doc__ or ""):
            found[said[1]] = stored_types(module)[0][0]
    return found


def test_every_kind_of_aggregate_has_a_state() -> None:
    """Proves: PRJ-10 (every kind of aggregate)."""
    assert set(STATES) == set(kinds())
    stored = {row.type for row in STORED}
    assert {first for first in kinds().values() if first not in stored} == set()


@pytest.mark.parametrize("kind", sorted(STATES))
def test_a_state_is_json_from_the_first_fact_on(kind: str) -> None:
    first = sample(kinds()[kind], "first", True)
    assert json.dumps(state_of(f"{kind}:x", [first]))


def test_a_stream_of_no_kind_that_there_is_says_which_there_are() -> None:
    with pytest.raises(UnknownKind, match=r"expected an aggregate of claims, dead-letter, .*found 'order:1'"):
        state_of("order:1", [])


async def test_the_state_of_a_publication_and_its_slot_at_each_of_their_steps(tmp_path: Path) -> None:
    """Proves: PRJ-10."""
    journals = Journals()
    steps = (
        candidate("p1"),
        prepared("p1"),
        activation("p1", revision=1),
        candidate("p2", revision=1),
        activation("p2", revision=2, replaces="p1"),
    )
    for number, step in enumerate(steps, 1):
        await journals.commit("publishing", *step, time_ms=number * 1_000)
    await journals.commit("routing", routed("s1", starts=("e1",)))
    await journals.commit("executions", *whole_run("e1"))
    async with projecting(journals, tmp_path, VIEW) as host:
        await live(host)
        history = SqliteHistory(ViewReader(tmp_path, VIEW), CODEC)
        found = [history.as_of("publication:p1", revision=number) for number in (1, 2, 3, 4, 5, 9)]
        assert [(told(each)["status"], each and each.revision) for each in found] == [
            ("requested", 1),
            ("pending-projection", 2),
            ("pending-projection", 3),
            ("active", 4),
            ("retired", 5),
            ("retired", 5),
        ]
        by_time = [history.as_of(f"slot:{SLOT}", time_ms=at) for at in (2_999, 3_000, 4_999, 5_000)]
        assert [each and told(each)["publication_id"] for each in by_time] == [None, "p1", "p1", "p2"]
        now = history.as_of(f"claims:{SHELL}")
        claimed = {claim: [one["slot_id"] for one in claimants] for claim, claimants in told(now)["by_claim"].items()}
        assert claimed == {"event:order.placed": [SLOT]}
        run = history.as_of("execution:e1", revision=2)
        assert (told(run)["status"], list(told(run)["outputs"]), run and run.last_revision) == (
            "running",
            ["node-0"],
            5,
        )
        assert told(history.as_of("stimulus:s1"))["met"] == ["e1"]
        assert history.as_of("publication:nobody") is None
        assert history.as_of("publication:p1", revision=0) is None


async def test_the_newest_events_of_several_aggregates_come_in_their_order(tmp_path: Path) -> None:
    journals = Journals()
    await journals.commit("publishing", *candidate("p1"))
    await journals.commit("publishing", *activation("p1", revision=1))
    async with projecting(journals, tmp_path, VIEW) as host:
        await live(host)
        history = SqliteHistory(ViewReader(tmp_path, VIEW), CODEC)
        slot, publication, nobody = history.newest(f"slot:{SLOT}", "publication:p1", "publication:nobody")
        ((last,),) = history.newest("publication:p1", limit=1)
    assert ([each.type for each in slot], nobody) == (["publishing.SlotActivated"], ())
    assert [each.revision for each in publication] == [1, 2, 3]
    assert (last, last.type) == (publication[-1], "publishing.PublicationActivated")


def told(found: AsOf | None) -> dict[str, Any]:
    assert found is not None
    assert isinstance(found.state, dict)
    return found.state
