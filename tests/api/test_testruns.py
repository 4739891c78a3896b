"""Test runs by HTTP: of drafts, versions and references, apart from everything that has authority (PUB-17)."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from interlock.runtime.engine import Engine
from tests.api.service import WAIT_S, Service, document, ready

TABLES = ("bindings", "candidates", "asks", "routes", "schedules")


def index_rows(engine: Engine) -> list[tuple[object, ...]]:
    path = engine.settings.data / "views" / "trigger-index.sqlite"
    with sqlite3.connect(path) as connection:
        return [row for table in TABLES for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")]


async def test_a_draft_runs_without_being_published_and_is_seen_to_be_a_test_run(service: Service) -> None:
    """Proves: PUB-17."""
    body = {"document": document(), "data": {"id": "o-1"}, "requestedBy": "ada", "commandId": "t-1"}
    started = await service.post("/v1/test-runs", body)
    assert (started["status"], started["names"], started["definitionId"]) == ("started", "draft", "orders")
    detail = await service.get(f"/v1/runs/{started['executionId']}", wait=WAIT_S)
    run = detail["run"]
    assert (run["status"], run["output"]) == ("completed", {"reservation": "o-1"})
    assert (run["testReferenceId"], run["artifactId"]) == (started["referenceId"], started["artifactId"])
    assert (run["slotId"], run["publicationId"], run["stimulusId"]) == ("", "", "")
    assert await service.post("/v1/test-runs", body) == started
    assert len((await service.get("/v1/runs"))["items"]) == 1
    history = (await service.get(f"/v1/history/{started['referenceId']}", wait=WAIT_S))["items"]
    assert [each["type"] for each in history] == [
        "publishing.SourceReferenceCreated",
        "publishing.SourceReferenceUsed",
    ]
    state = (await service.get(f"/v1/states/{started['referenceId']}"))["state"]
    assert (state["created"]["requested_by"], state["expired"], state["runs"]) == (
        "ada",
        False,
        [started["executionId"]],
    )
    assert (await service.get("/v1/slots"))["items"] == (await service.get("/v1/publications"))["items"] == []


async def test_it_leaves_slots_claims_and_the_trigger_index_as_they_are(service: Service) -> None:
    """Proves: PUB-17, PUB-03."""
    published = await service.publish()
    slot, rows = await service.get("/v1/slots/orders/default"), index_rows(service.engine)
    assert rows
    other = await service.post("/v1/test-runs", {"document": document(wait="payment.received"), "data": {"id": "o"}})
    await service.get("/v1/publications", at_least=other["atLeast"], wait=WAIT_S)
    assert (await service.get("/v1/slots/orders/default"), index_rows(service.engine)) == (slot, rows)
    # What starts the draft's definition starts what is published, and nothing of the draft.
    run = (await service.get(f"/v1/runs/{await service.started()}"))["run"]
    assert (run["publicationId"], run["testReferenceId"]) == (published["publicationId"], "")


async def test_what_happens_outside_never_meets_its_waits_and_what_is_meant_for_it_does(service: Service) -> None:
    """Proves: PUB-17 (it never takes what is for others)."""
    text = document(wait="payment.received")
    started = await service.post("/v1/test-runs", {"document": text, "data": {"id": "o-1"}})
    run = started["executionId"]
    shown = await service.get(f"/v1/runs/{run}", wait=WAIT_S, seen="nothing")
    while shown["run"]["status"] != "waiting":
        shown = await service.get(f"/v1/runs/{run}", wait=WAIT_S, seen=shown["mark"])
    outside = await service.emit(name="payment.received", data={"paid": 1}, correlation="o-1")
    told = await service.get(f"/v1/stimuli/{outside}", wait=WAIT_S)
    assert (told["stimulus"]["outcome"], told["resumes"]) == ("unmatched", [])
    meant: dict[str, Any] = {"data": {"paid": 2}, "correlation": "o-1", "testRun": run, "ttl": "1h"}
    told = await service.get(f"/v1/stimuli/{await service.emit('payment.received', **meant)}", wait=WAIT_S)
    assert told["starts"] == []
    ended = await service.get(f"/v1/runs/{run}", wait=WAIT_S)
    assert (ended["run"]["status"], ended["run"]["output"]) == ("completed", {"paid": 2})


async def test_a_version_and_an_earlier_reference_can_be_named(service: Service) -> None:
    """Proves: PUB-17 (a design version)."""
    published = await service.publish()
    body = {"definition": "orders", "version": published["version"], "data": {"id": "o-1"}}
    first = await service.post("/v1/test-runs", body)
    assert (first["names"], first["artifactId"]) == ("version", published["artifactId"])
    again = await service.post("/v1/test-runs", {"reference": first["referenceId"], "data": {"id": "o-2"}})
    assert again["referenceId"] == first["referenceId"]
    ended = await service.get(f"/v1/runs/{again['executionId']}", wait=WAIT_S)
    assert ended["run"]["output"] == {"reservation": "o-2"}


async def test_what_names_nothing_or_too_much_is_refused(service: Service) -> None:
    for body in (
        {},
        {"document": document(), "reference": "r"},
        {"definition": "orders"},
        {"version": "1"},
        {"document": document(), "definition": "orders"},
    ):
        assert (await service.post("/v1/test-runs", body, 400))["kind"] == "invalid"
    assert (await service.post("/v1/test-runs", {"reference": "nobody"}, 404))["kind"] == "not-found"
    wrong = await service.post("/v1/test-runs", {"document": '{"name": "orders", "steps": []}'}, 400)
    assert wrong["faults"]


async def test_a_reference_expires_by_the_setting_and_a_run_that_started_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves: PUB-17 (expires by policy; runs already started go on)."""
    monkeypatch.setenv("INTERLOCK_TEST_REFERENCE_S", "1")
    async with ready(tmp_path) as service:
        text = document(wait="payment.received")
        started = await service.post("/v1/test-runs", {"document": text, "data": {"id": "o-1"}})
        expired = await service.get(f"/v1/history/{started['referenceId']}", after=2, wait=WAIT_S)
        assert [each["type"] for each in expired["items"]] == ["publishing.SourceReferenceExpired"]
        late = await service.post("/v1/test-runs", {"reference": started["referenceId"]}, 409)
        assert (late["kind"], "time is over" in late["message"]) == ("state", True)
        meant = {"name": "payment.received", "correlation": "o-1", "testRun": started["executionId"], "ttl": "1h"}
        await service.emit(**meant)
        ended = await service.get(f"/v1/runs/{started['executionId']}", wait=WAIT_S)
        assert ended["run"]["status"] == "completed"
