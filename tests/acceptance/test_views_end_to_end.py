"""Views as an operator looks after them, and the past as an auditor asks for it, on the real program. On both logs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.sdk import ApiError
from interlock.targets import load_target
from tests.support import tampering
from tests.support.installation import BOTH_LOGS, Installation, install, stimulus, until

pytestmark = pytest.mark.acceptance

APP = "tests.support.errands"


@pytest.fixture(params=BOTH_LOGS)
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    """A program with a published workflow; it reconciles by itself every half second."""
    made = install(request.param, request, tmp_path, RECONCILE_S="0.5")
    try:
        made.start(APP)
        made.publish(f"{APP}:errands")
        yield made
    finally:
        made.close()


def test_rows_that_somebody_deletes_are_found_and_repaired_while_work_goes_on(installation: Installation) -> None:
    """Proves: PRJ-05."""
    index = installation.data / "views" / "trigger-index.sqlite"
    assert tampering.change(index, "DELETE FROM bindings") == 1
    assert tampering.change(
        index, "INSERT INTO candidates SELECT 'dead', shell, definition_id, slot_id FROM candidates"
    )
    until(lambda: len(installation.client.repairs().items) == 2, "the periodic pass to repair both")
    repairs = installation.client.repairs().items
    assert {(each.standing, each.missing, each.foreign) for each in repairs} == {("active", 1, 0), ("gone", 0, 1)}
    assert {each.requested_by for each in repairs} == {""}
    events = installation.told("history", f"reconciliation:{repairs[0].reconciliation_id}")["items"]
    assert {each["type"] for each in events} == {"publishing.ProjectionRepaired"}

    def settled() -> bool:
        return installation.run("reconcile", "--dry-run")[0] == 0

    until(settled, "nothing to be wrong any more")
    assert {each["view"]: each["drift"] for each in installation.told("projections", "list")}["trigger-index"][
        "rows"
    ] == 2
    # What routing decides by was right all the time.
    installation.outside.write(installation.topic("stimuli"), 0, [stimulus("errand.asked", {"key": "k"}, "k")])
    assert installation.ended("errand.asked", "k").run.status == "completed"


def test_a_verification_tells_what_differs_and_a_rebuild_mends_it(installation: Installation) -> None:
    """Proves: PRJ-06."""
    assert [each["missing"] for each in installation.told("projections", "verify")] == [0] * 5
    slots = installation.data / "views" / "slots.sqlite"
    assert tampering.change(slots, "UPDATE slots SET revision = 9") == 1
    [verified] = installation.told("projections", "verify", "slots", code=1)
    assert (verified["changed"], verified["samples"][0]["table"]) == (1, "slots")
    assert "slots" in installation.run("projections", "verify", "slots")[1]
    installation.told("projections", "rebuild", "slots")
    installation.told("projections", "verify", "slots")
    assert installation.client.slot("errands").slot.revision == 1


def test_every_answer_can_be_read_back_at_its_position_and_after_a_kill_too(installation: Installation) -> None:
    """Proves: PRJ-08, PRJ-09."""
    client = installation.client
    document = load_target(f"{APP}:errands")
    for revision in range(2, 6):
        published = client.publish(document)
        assert client.at_least(published.at_least).slot("errands").slot.revision == revision
        emitted = client.emit("Event", "errand.asked", data={"revision": revision})
        [start] = client.at_least(emitted.at_least).stimulus(emitted.stimulus_id).starts
        assert start.publication_id == published.publication_id
    last = client.publish(document, wait_s=0)
    installation.kill()
    installation.start(APP)
    assert client.at_least(last.at_least).publication(last.publication_id).publication.command_id == last.command_id
    found = installation.told("slots", "list", "--at-least", last.at_least)
    assert [each["definitionId"] for each in found["items"]] == ["errands"]
    problem = installation.told("slots", "list", "--at-least", "publishing/0:999999", code=3)
    assert problem["details"]["asked"] == "publishing/0:999999"
    with pytest.raises(ApiError, match="Expected the view 'slots' at publishing/0:999999"):
        client.at_least("publishing/0:999999").slots()


def test_who_asks_why_is_told_the_chain_and_what_was_before(installation: Installation) -> None:
    """Proves: PRJ-10."""
    client = installation.client
    first = client.why("errands")
    second = client.publish(load_target(f"{APP}:errands"), requested_by="ada")
    why = installation.told("why", "errands", "--slot", "default", "--at-least", second.at_least)
    assert (why["publicationId"], why["requestedBy"], why["revision"]) == (second.publication_id, "ada", 2)
    assert (why["observedRevision"], why["replaced"]["publicationId"]) == (1, first.publication_id)
    assert [each["view"] for each in why["prepared"]] == ["trigger-index"]
    text = installation.run("why", "errands")[1]
    assert all(word in text for word in ("ada", "observed", "trigger-index", first.publication_id, "SlotActivated"))
    then = installation.told("history", "errands/default", "--at", "1")
    assert then["state"]["publication_id"] == first.publication_id
    code, text = installation.run("history", f"publication:{first.publication_id}", "--at", "2999-01-01T00:00:00Z")
    assert (code, '"status": "retired"' in text) == (0, True)
    assert installation.run("history", "errands/default", "--at", "yesterday")[0] == 1
    assert installation.run("why", "nobody")[0] == 1
