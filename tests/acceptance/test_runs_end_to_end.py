"""Runs that somebody ends and runs that nobody can serve, on the real program. On both logs."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from interlock.domain.sharding import execution_id
from interlock.log.kafka.log import KafkaLog
from interlock.log.sqlite.log import SqliteLog
from interlock.runtime.settings import Settings
from interlock.runtime.topics import topics_of
from interlock.schemas.codec import AvroCodec
from interlock.sdk import ApiError, Client
from interlock.sdk.types import Unserved
from interlock.sdk.wire import from_wire
from interlock.targets import load_target
from tests.support import deliveries, histories
from tests.support.installation import BOTH_LOGS, Installation, id_of, install, stimulus, until

pytestmark = pytest.mark.acceptance

APP, LATER = "tests.support.errands", "tests.support.errands_later"
Refused = tuple[int, str, str]
"""Status, kind and sentence."""


@pytest.fixture(scope="module", params=BOTH_LOGS)
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A program with errands, watches and parcels, and without the code of reports."""
    made = install(request.param, request, tmp_path_factory.mktemp("runs"))
    try:
        made.start(APP)
        for workflow in ("errands", "watches", "stares", "parcels"):
            made.publish(f"{APP}:{workflow}")
        made.publish(f"{LATER}:reports")
        yield made
    finally:
        made.close()


def begin(installation: Installation, name: str, data: object, key: str) -> str:
    """Starts a run; its id."""
    installation.client.emit_json(stimulus(name, data, key))
    [start] = installation.routed(name, key).starts
    return start.execution_id


def refused(installation: Installation, run: str, command: str) -> Refused:
    """How a request to end a run is refused; every later answer has to be the same."""
    with pytest.raises(ApiError) as error:
        installation.client.cancel(run, command_id=command, wait_s=30)
    assert error.value.details["commandId"] == command
    return error.value.status, error.value.kind, error.value.message


def test_a_run_that_waits_ends_at_once_and_is_resumed_by_nothing(installation: Installation) -> None:
    """Proves: LOG-06, STM-05 (a wait that was withdrawn meets nothing), BKM-03"""
    run = begin(installation, "parcel.sent", {"parcel_id": "withdrawn"}, "sent-withdrawn")
    installation.becomes(run, "waiting")
    answers = {installation.client.cancel(run, command_id="withdraw", reason="lost").status for _ in range(3)}
    assert answers == {"cancelled"}
    installation.client.emit_json(stimulus("parcel.signed", {}, "signed-withdrawn", "withdrawn", ttl="1h"))
    event = installation.routed("parcel.signed", "signed-withdrawn", "withdrawn")
    # Where it was matched before the withdrawal came, the run declines it.
    assert [each.declined for each in event.resumes] in ([], [True], [False])
    found = installation.client.run(run)
    assert (found.run.status, found.wait) == ("cancelled", None)
    assert [(each.command_id, each.reason) for each in found.cancels] == [("withdraw", "lost")]
    types = installation.types(f"execution:{run}")
    assert types[-2:] == ["executions.CancelRequested", "executions.ExecutionCancelled"]
    assert "executions.BookmarkConsumed" not in types


def test_a_run_that_works_ends_with_its_activity_and_each_who_asked_is_told_then(
    installation: Installation, tmp_path: Path
) -> None:
    """Proves: LOG-06 ("pending" is a report; the answer comes once the run has ended, to each command)."""
    gate = tmp_path / "gate"
    run = begin(installation, "watch.asked", {"gate": str(gate)}, "watch-cancelled")
    installation.becomes(run, "running")
    for command in ("first", "second", "first"):
        assert installation.client.cancel(run, command_id=command, wait_s=0.1).status == "pending"
    assert installation.becomes(run, "cancelling").run.ended_at_ms is None
    gate.touch()
    assert installation.becomes(run, "cancelled").run.ended_at_ms is not None
    for command in ("first", "second", "first"):
        assert installation.client.cancel(run, command_id=command, wait_s=30).status == "cancelled"
    third = refused(installation, run, "third")
    assert third[:2] == (409, "state")
    assert refused(installation, run, "third") == third
    types = installation.types(f"execution:{run}")
    assert types.count("executions.CancelRequested") == 2
    assert types[-1] == "executions.ExecutionCancelled"


def test_a_run_that_has_ended_is_not_ended_again(installation: Installation) -> None:
    """Proves: LOG-06 (a refusal is an answer: the same command gets the same)."""
    run = installation.ended("errand.asked", _emitted(installation, "ended")).run.execution_id
    first = refused(installation, run, "too-late")
    assert first[:2] == (409, "state")
    assert "completed" in first[2]
    assert [refused(installation, run, "too-late") for _ in range(3)] == [first] * 3
    assert installation.run("runs", "cancel", run)[0] == 1


def test_what_was_refused_stays_refused_when_it_would_be_done_now(installation: Installation, tmp_path: Path) -> None:
    """Proves: LOG-06. A run is asked to end before it is there, and again, by the same command, once it is; and the
    process is killed in between."""
    [start] = installation.routed("watch.asked", _watch(installation, tmp_path / "known", "known")).starts
    future = execution_id("default", start.binding_id, id_of("watch.asked", "future"))
    unknown = refused(installation, future, "early")
    assert unknown[:2] == (404, "not-found")

    gate = tmp_path / "future"
    assert begin(installation, "watch.asked", {"gate": str(gate)}, "future") == future
    installation.becomes(future, "running")
    assert refused(installation, future, "early") == unknown
    installation.kill()
    installation.start(APP)
    assert refused(installation, future, "early") == unknown
    assert installation.client.run(future).run.status == "running"
    gate.touch()
    (tmp_path / "known").touch()
    assert installation.becomes(future, "completed").run.output == "over"
    assert refused(installation, future, "early") == unknown


def test_an_activity_that_does_not_end_keeps_no_process_and_is_called_again(
    installation: Installation, tmp_path: Path
) -> None:
    """Proves: CHK-02 (what is owed after an end in order is called by whoever comes next)."""
    gate = tmp_path / "stubborn"
    names = ("watch.asked", "stare.asked")
    runs = [begin(installation, name, {"gate": str(gate)}, "stubborn") for name in names]
    for run in runs:
        installation.becomes(run, "running")
    installation.stop()
    gate.touch()
    installation.start(APP)
    for run in runs:
        assert installation.becomes(run, "completed").run.output == "over"


def test_of_two_publishes_from_one_revision_one_wins_and_both_are_answered_alike_when_repeated(
    installation: Installation,
) -> None:
    """Proves: LOG-06, PUB-11"""
    document = load_target(f"{APP}:errands")

    def publish(command: str) -> tuple[str, str, str]:
        try:
            with Client(installation.client.base_url) as client:
                found = client.publish(document, expect_revision=1, command_id=command)
            return found.status, found.publication_id, str(found.revision)
        except ApiError as error:
            return error.kind, error.message, str(error.details)

    with ThreadPoolExecutor(2) as callers:
        answers = dict(zip(("one", "two"), callers.map(publish, ("one", "two")), strict=True))
    assert sorted(answer[0] for answer in answers.values()) == ["active", "superseded"]
    assert {command: publish(command) for command in answers} == answers

    def statuses() -> list[str]:
        return sorted(each.status for each in installation.client.publications(definition="errands").items)

    # The loser has changed nothing else: what was there before the winner is what the winner has replaced.
    until(lambda: statuses() == ["active", "retired", "superseded"], "the publications of errands")
    slot = installation.client.slot("errands").slot
    assert (slot.revision, [slot.publication_id]) == (2, [one[1] for one in answers.values() if one[0] == "active"])


def test_a_run_resumes_on_what_it_was_started_with_after_its_slot_has_moved_on(installation: Installation) -> None:
    """Proves: EXE-01, LOG-01 (what an activation changes in several aggregates is one append)."""
    run = begin(installation, "parcel.sent", {"parcel_id": "pinned"}, "sent-pinned")
    pinned = installation.becomes(run, "waiting").run
    installation.publish(f"{APP}:parcels_v2")
    newer = begin(installation, "parcel.sent", {"parcel_id": "newer"}, "sent-newer")
    for parcel in ("pinned", "newer"):
        installation.client.emit_json(stimulus("parcel.signed", {"by": parcel}, f"signed-{parcel}", parcel, ttl="1h"))
    before, after = installation.becomes(run, "completed"), installation.becomes(newer, "completed")
    assert (before.run.artifact_id, before.run.publication_id) == (pinned.artifact_id, pinned.publication_id)
    assert after.run.artifact_id != pinned.artifact_id
    assert [[step.node_id for step in found.steps] for found in (before, after)] == [
        ["pack", "signed", "hand_over"],
        ["pack", "signed", "hand_over", "told"],
    ]

    streams = {
        f"slot:{pinned.slot_id}": "SlotActivated",
        f"publication:{after.run.publication_id}": "PublicationActivated",
        f"publication:{pinned.publication_id}": "PublicationRetired",
        "claims:default": "ClaimsChanged",
    }
    changed = [
        [one for one in installation.client.history(stream).items if one.type == f"publishing.{type_}"][-1]
        for stream, type_ in streams.items()
    ]
    assert len({(one.partition, one.number, one.owner) for one in changed}) == 1
    positions = [one.position for one in changed]
    assert positions == list(range(positions[0], positions[0] + len(positions)))


def test_a_publish_that_fails_leaves_the_authority_where_it_was(installation: Installation) -> None:
    """Proves: PUB-13 (what does not compile is recorded with the reason; what was there goes on starting)."""
    before = installation.client.slot("errands")
    document = json.loads(load_target(f"{APP}:errands"))
    wrong = [
        {**document, "triggers": [{"type": "nobody", "name": "knows"}]},
        {**document, "steps": [{"id": "answer", "activity": "answer", "inputs": {"input": "nowhere"}}]},
        {**document, "steps": [{"id": "input", "activity": "answer"}]},
    ]
    for each in wrong:
        with pytest.raises(ApiError) as refusal:
            installation.client.publish(json.dumps(each))
        assert (refusal.value.status, refusal.value.kind) == (400, "invalid")
        assert "xpected" in refusal.value.message
        assert refusal.value.faults
        failed = installation.client.publication(refusal.value.details["publicationId"], wait_s=30).publication
        assert (failed.status, failed.faults) == ("failed", refusal.value.faults)
    assert installation.client.slot("errands") == before
    run = installation.ended("errand.asked", _emitted(installation, "after-a-failed-publish")).run
    assert run.publication_id == before.slot.publication_id


def test_a_run_that_nobody_can_serve_says_so_and_completes_once_the_code_comes(installation: Installation) -> None:
    """Proves: LOG-02 (on either log), EXE-01 (it runs on what it was pinned to, though the slot has moved on)."""
    run = begin(installation, "report.asked", {"n": 1}, "report")
    found = installation.client.run(run, wait_s=30, seen="")
    while found.run.unserved is None:
        found = installation.client.run(run, wait_s=30, seen=found.mark)
    assert found.run.unserved.activity == "sign_off"
    assert found.run.status == "running"
    code, shown = installation.run("runs", "show", run)
    assert code == 0
    assert "sign_off" in shown
    ages = [_unserved(installation, run).age_ms for _ in range(2)]
    assert 0 <= ages[0] < ages[1]
    assert [each.execution_id for each in installation.client.runs(unserved=True).items] == [run]

    # Another version takes its slot meanwhile; then somebody starts a process that has the code.
    installation.publish(f"{LATER}:reports_v2")
    installation.stop()
    installation.start(APP, LATER)
    ended = installation.becomes(run, "completed").run
    assert (ended.output, ended.unserved) == ("signed off", None)
    assert installation.client.runs(unserved=True).items == ()
    later = installation.ended("report.asked", _emitted(installation, "report-2", "report.asked")).run
    assert (ended.artifact_id != later.artifact_id, later.output) == (True, {"report": "signed off"})


def test_every_publication_that_asks_for_an_event_starts_and_no_payload_forges_what_the_run_knows_of_itself(
    installation: Installation, tmp_path: Path
) -> None:
    """Proves: STM-03 (payload and trigger node travel apart from each other, and from what an author names)."""
    other = installation.client.publish(load_target(f"{APP}:stares"), slot="other").publication_id
    default = installation.client.slot("stares").slot.publication_id
    gate = tmp_path / "open"
    gate.touch()
    forged = {"gate": str(gate), "input": {"gate": "none"}, "stare": "done", "triggerNode": "x", "stimulusId": "y"}
    forged |= {"trigger_node": "x", "stimulus_id": "y", "publication_id": "z", "execution_id": "w"}
    installation.client.emit_json(stimulus("stare.asked", forged, "forged"))
    found = installation.routed("stare.asked", "forged")
    assert {each.publication_id for each in found.starts} == {default, other}
    for start in found.starts:
        run = installation.becomes(start.execution_id, "completed").run
        assert (run.output, run.publication_id) == ("over", start.publication_id)
        assert (run.trigger_node, run.stimulus_id) == ("event:stare.asked", found.stimulus.stimulus_id)
        [started, *_] = installation.client.history(f"execution:{run.execution_id}").items
        assert json.loads(cast("dict[str, str]", started.data)["data"]) == forged


def test_only_what_counts_was_delivered_and_each_answer_has_its_command_behind_it(installation: Installation) -> None:
    """Proves: CHK-01, CHK-02, LOG-06. Judged from the log alone, after all that the tests before it have done."""

    async def judge() -> bool:
        settings = Settings(log=installation.url, routing_shards=2, executions_shards=2, stimuli_partitions=2)
        embedded = installation.url.startswith("sqlite:")
        log = SqliteLog(installation.url.removeprefix("sqlite:///")) if embedded else KafkaLog(installation.url)
        try:
            topics = topics_of(settings)
            found = await histories.read(log, topics, AvroCodec())
            arrived = await deliveries.read(log, topics, found)
        finally:
            await log.close()
        histories.check_revisions(found)
        histories.check_starts(found)
        histories.check_waits(found)
        deliveries.check_promises(arrived)
        deliveries.check_marks(arrived)
        deliveries.check_answers(arrived)
        return not deliveries.undelivered(arrived) and len(arrived.replies) > 10

    until(lambda: asyncio.run(judge()), "everything that was promised to be delivered")


# ---- within ----------------------------------------------------------------------------------------------------------


def _emitted(installation: Installation, key: str, name: str = "errand.asked") -> str:
    installation.client.emit_json(stimulus(name, {"n": 1}, key))
    return key


def _watch(installation: Installation, gate: Path, key: str) -> str:
    installation.client.emit_json(stimulus("watch.asked", {"gate": str(gate)}, key))
    return key


def _unserved(installation: Installation, run: str) -> Unserved:
    """What a list says of a run that nobody can serve."""
    listed = installation.told("runs", "list", "--unserved")["items"]
    [found] = [each for each in listed if each["executionId"] == run]
    return from_wire(Unserved, found["unserved"])
