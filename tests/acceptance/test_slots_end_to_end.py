"""Emptying, restoring, owning and naming slots, as somebody does it who has only the program. On both logs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.sdk import ApiError
from interlock.targets import load_target
from tests.support.installation import BOTH_LOGS, Installation, install, stimulus

pytestmark = pytest.mark.acceptance

APP = "tests.support.errands"


@pytest.fixture(scope="module", params=BOTH_LOGS)
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A program with the code of errands and parcels; nothing is published yet."""
    made = install(request.param, request, tmp_path_factory.mktemp("slots"))
    try:
        made.start(APP)
        yield made
    finally:
        made.close()


def emitted(installation: Installation, key: str) -> tuple[str, ...]:
    """The publications that a new errand meets."""
    installation.client.emit_json(stimulus("errand.asked", {"n": 1}, key))
    return tuple(start.publication_id for start in installation.routed("errand.asked", key).starts)


def changed(**more: object) -> str:
    """The errands as another document."""
    return json.dumps({**json.loads(load_target(f"{APP}:errands")), **more})


def document_file(folder: Path, **more: object) -> str:
    path = folder / "errands.json"
    path.write_text(changed(**more), "utf-8")
    return str(path)


def test_what_was_unpublished_starts_nothing_and_what_runs_goes_on_until_it_is_restored(
    installation: Installation,
) -> None:
    """Proves: PUB-14, PUB-16, PUB-17, PUB-18, PUB-20"""
    first = installation.told("publish", f"{APP}:parcels")
    installation.client.emit_json(stimulus("parcel.sent", {"parcel_id": "p-1"}, "before"))
    [start] = installation.routed("parcel.sent", "before").starts
    installation.becomes(start.execution_id, "waiting")

    emptied = installation.told("unpublish", "parcels", "--expect-revision", "1")
    assert (emptied["status"], emptied["revision"], emptied["publicationId"]) == (
        "unpublished",
        2,
        first["publicationId"],
    )
    installation.client.emit_json(stimulus("parcel.sent", {"parcel_id": "p-2"}, "while-empty"))
    assert installation.routed("parcel.sent", "while-empty").stimulus.outcome == "unmatched"
    retired = installation.client.publication(first["publicationId"])
    assert retired.source_reference is not None
    assert (retired.publication.status, retired.source_reference.live) == ("retired", False)

    # Everything of it is in the log: the process may die in between.
    installation.kill()
    installation.start(APP)
    assert installation.client.slot("parcels").authority is None
    installation.client.emit_json(stimulus("parcel.signed", {"by": "Ada"}, correlation="p-1"))
    done = installation.client.run(start.execution_id, wait_s=30).run
    assert (done.status, done.artifact_id) == ("completed", first["artifactId"])

    restored = installation.told("restore", "parcels", "--previous", "--expect-revision", "2")
    assert (restored["status"], restored["revision"], restored["restores"]) == ("active", 3, first["publicationId"])
    assert restored["artifactId"] == first["artifactId"]
    installation.client.emit_json(stimulus("parcel.sent", {"parcel_id": "p-3"}, "restored"))
    [again] = installation.routed("parcel.sent", "restored").starts
    assert again.publication_id == restored["publicationId"]
    code, told = installation.run("why", "parcels", "--at-least", restored["atLeast"])
    assert (code, first["publicationId"] in told.partition("restores")[2]) == (0, True)
    assert installation.types("parcels/default") == [
        "publishing.SlotActivated",
        "publishing.SlotEmptied",
        "publishing.SlotActivated",
    ]


def test_scripts_can_rely_on_what_these_verbs_end_with(installation: Installation, tmp_path: Path) -> None:
    """Proves: OPS-01, PUB-11, PUB-14"""
    one = installation.told("publish", f"{APP}:errands")
    two = installation.told("publish", document_file(tmp_path, description="changed", version="two"))
    assert two["revision"] == 2
    assert installation.told("unpublish", "errands", "--expect-revision", "1", code=1)["kind"] == "superseded"
    assert installation.told("unpublish", "errands", "--expect-revision", "9", code=1)["kind"] == "invalid"
    assert installation.told("unpublish", "nobody")["status"] == "nothing"

    assert installation.told("restore", "errands", "--publication", two["publicationId"])["status"] == "nothing"
    back = installation.told("restore", "errands", "--publication", one["publicationId"])
    assert emitted(installation, "after-restore") == (back["publicationId"],)
    assert installation.run("restore", "errands")[0] == 2
    assert installation.run("restore", "errands", "--previous", "--publication", "p")[0] == 2

    failed = installation.told("publish", document_file(tmp_path, steps=[]), code=1)
    assert (failed["kind"], failed["faults"][0]["where"]) == ("invalid", "steps")
    refused = installation.told("restore", "errands", "--publication", failed["details"]["publicationId"], code=1)
    assert (refused["kind"], refused["details"]["status"]) == ("state", "failed")

    pending = installation.told("unpublish", "errands", "--no-wait", code=3)
    assert (pending["status"], bool(pending["missing"])) == ("pending", True)
    heard = installation.told("unpublish", "errands", "--command-id", pending["commandId"])
    assert (heard["status"], heard["revision"]) == ("unpublished", 4)
    assert installation.told("unpublish", "errands")["status"] == "nothing"
    code, shown = installation.run("slots", "list")
    assert (code, "(empty)" in shown) == (0, True)


def test_a_restore_and_an_unpublish_are_told_beforehand(installation: Installation) -> None:
    """Proves: PUB-09, PUB-14"""
    client = installation.client
    first = client.publish(changed(), slot="looked")
    second = client.publish(changed(triggers=[{"type": "event", "name": "errand.other"}]), slot="looked")
    dry = ("errands", "--slot", "looked", "--dry-run")
    looked = installation.told("restore", *dry, "--previous")
    assert (looked["action"], looked["restores"], looked["replaces"]) == (
        "replace",
        first.publication_id,
        second.publication_id,
    )
    code, shown = installation.run("restore", *dry, "--previous")
    assert (code, first.publication_id in shown) == (0, True)
    assert client.preflight_restore("errands", slot="looked").restores == first.publication_id
    assert installation.told("restore", *dry, "--previous", "--expect-revision", "1", code=1)["action"] == "lose"
    assert installation.told("unpublish", *dry)["action"] == "empty"
    code, shown = installation.run("unpublish", *dry)
    assert (code, f"retire publication {second.publication_id}" in shown) == (0, True)
    assert client.preflight_unpublish("errands", slot="looked").replaces == second.publication_id
    assert installation.run("unpublish", *dry, "--no-wait")[0] == 2
    assert client.slot("errands", "looked", position=second.position).slot.revision == 2
    assert installation.told("unpublish", "errands", "--slot", "looked")["revision"] == 3
    assert installation.told("unpublish", *dry)["action"] == "nothing"
    listed = ("publications", "list", "--slot", "looked")
    found = installation.told(*listed, "--definition", "errands")["items"]
    assert [each["publicationId"] for each in found] == [second.publication_id, first.publication_id]
    assert client.publications(definition="errands", slot="other").items == ()
    assert installation.told(*listed, code=1)["kind"] == "invalid"


def test_a_draft_is_tried_without_being_published(installation: Installation) -> None:
    """Proves: PUB-17"""
    client = installation.client
    before = client.slots()
    started = installation.told("test-run", f"{APP}:parcels", "--data", '{"parcel_id": "p-1"}', "--command-id", "try-1")
    assert (started["status"], started["names"]) == ("started", "draft")
    again = installation.told("test-run", f"{APP}:parcels", "--data", '{"parcel_id": "p-1"}', "--command-id", "try-1")
    assert again["executionId"] == started["executionId"]
    run = started["executionId"]
    shown = client.run(run, wait_s=20, seen="nothing")
    while shown.run.status != "waiting":
        shown = client.run(run, wait_s=20, seen=shown.mark)
    code, told = installation.run("runs", "show", run)
    assert (code, started["referenceId"] in told) == (0, True)
    code, told = installation.run("runs", "list")
    assert (code, "parcels (test)" in told) == (0, True)
    sent = ("Event", "parcel.signed", "--correlation", "p-1", "--ttl", "1h", "--data", '{"by": "ada"}')
    installation.told("emit", *sent, "--test-run", run)
    assert client.run(run, wait_s=20).run.status == "completed"
    further = client.test_run(reference=started["referenceId"], data={"parcel_id": "p-2"})
    assert (further.reference_id, further.artifact_id) == (started["referenceId"], started["artifactId"])
    history = installation.told("history", started["referenceId"])
    assert history["items"][0]["type"].partition(".")[2] == "SourceReferenceCreated"
    assert installation.run("test-run")[0] == 2
    refused = installation.told("test-run", "--reference", "nobody", code=1)
    assert refused["kind"] == "not-found"
    assert client.slots() == before


def test_an_owner_is_named_to_whoever_meets_them(installation: Installation) -> None:
    """Proves: PUB-19"""
    installation.told("publish", f"{APP}:errands", "--slot", "owned", "--owner", "team:payments")
    for verb in (("publish", f"{APP}:errands"), ("unpublish", "errands"), ("restore", "errands", "--previous")):
        refused = installation.told(*verb, "--slot", "owned", "--owner", "service:ci", code=1)
        assert (refused["kind"], refused["details"]["ownerKind"], refused["details"]["ownerId"]) == (
            "conflict",
            "team",
            "payments",
        )
    code, shown = installation.run("slots", "show", "errands", "owned")
    assert (code, "team:payments" in shown) == (0, True)
    done = installation.told("unpublish", "errands", "--slot", "owned", "--owner", "service:ci", "--take-over")
    assert done["status"] == "unpublished"
    owner = installation.client.slot("errands", "owned", position=done["position"]).slot.owner
    assert owner is not None
    assert (owner.kind, owner.id) == ("service", "ci")


def test_who_decides_on_the_slot_is_told_beforehand(installation: Installation, tmp_path: Path) -> None:
    """Proves: PUB-06, PUB-08, PUB-09"""
    sent = document_file(tmp_path, publish={"slot": "blue"})
    looked = installation.told("preflight", sent)
    assert (looked["action"], looked["slotName"], looked["policySource"]) == ("fill", "blue", "workflow")
    code, shown = installation.run("preflight", sent)
    assert (code, "slot named by" in shown, "the document" in shown) == (0, True, True)
    assert installation.told("publish", sent)["slot"] == "blue"
    assert installation.told("unpublish", "errands", "--slot", "blue")["status"] == "unpublished"
    demanding = document_file(tmp_path, publish={"explicit": True})
    refused = installation.told("publish", demanding, code=1)
    assert (refused["kind"], refused["details"]["policySource"]) == ("invalid", "workflow")
    assert "--slot" in refused["message"]
    assert installation.told("publish", demanding, "--slot", "green")["slot"] == "green"
    code, shown = installation.run("publish", document_file(tmp_path, publish={"slot": "blue"}))
    assert (code, "errands/blue is active" in shown) == (0, True)
    (stays,) = (line for line in shown.splitlines() if line.startswith("stays beside"))
    assert stays.split(maxsplit=2)[-1] == "green (goes on starting work)"
    _, foreseen = installation.run("preflight", document_file(tmp_path, publish={"slot": "blue"}))
    assert stays.split() in [line.split() for line in foreseen.splitlines()]
    assert installation.told("unpublish", "errands", "--slot", "blue")["status"] == "unpublished"


def test_a_refused_or_failed_change_leaves_the_authority_serving(installation: Installation) -> None:
    """Proves: PUB-13"""
    serving = installation.client.publish(changed(), slot="steady", owner="team:steady")
    before = installation.client.slot("errands", "steady", position=serving.position)
    for attempt in (
        lambda: installation.client.publish(changed(steps=[]), slot="steady", owner="team:steady"),
        lambda: installation.client.publish(changed(), slot="steady"),
        lambda: installation.client.unpublish("errands", slot="steady"),
        lambda: installation.client.unpublish("errands", slot="steady", owner="team:steady", expect_revision=0),
        lambda: installation.client.restore("errands", slot="steady", owner="team:steady"),
    ):
        with pytest.raises(ApiError):
            attempt()
    assert installation.client.slot("errands", "steady") == before
    assert serving.publication_id in emitted(installation, "after-attempts")
