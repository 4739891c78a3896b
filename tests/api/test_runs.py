"""Runs by HTTP."""

import pytest

from tests.api.service import WAIT_S, Service, document


async def test_a_run_is_shown_with_its_steps_and_its_output_as_json(service: Service) -> None:
    """Proves: OPS-01."""
    published = await service.publish()
    run_id = await service.started(data={"id": "o-1"})
    detail = await service.get(f"/v1/runs/{run_id}", wait=WAIT_S)
    assert detail["run"]["status"] == "completed"
    assert detail["run"]["publicationId"] == published["publicationId"]
    assert detail["run"]["output"] == {"reservation": "o-1"}
    assert [(step["nodeId"], step["status"], step["output"]) for step in detail["steps"]] == [
        ("first", "completed", {"reservation": "o-1"})
    ]


async def test_a_run_that_fails_says_at_which_step_and_why(service: Service) -> None:
    await service.publish(document(calls="refuse"))
    run_id = await service.started(data={"id": "o-1"})
    detail = await service.get(f"/v1/runs/{run_id}", wait=WAIT_S)
    assert (detail["run"]["status"], detail["run"]["nodeId"]) == ("faulted", "first")
    assert detail["run"]["fault"] == {"type": "ValueError", "message": "expected stock for o-1, found none"}


async def test_a_run_that_nobody_can_serve_says_so_with_its_age(service: Service) -> None:
    await service.publish(document(calls="elsewhere"))
    run_id = await service.started()
    detail = await service.get(f"/v1/runs/{run_id}")
    while detail["run"]["unserved"] is None:
        detail = await service.get(f"/v1/runs/{run_id}", wait=WAIT_S, seen=detail["mark"])
    unserved = detail["run"]["unserved"]
    assert unserved["activity"] == "elsewhere"
    assert unserved["ageMs"] >= 0
    later = (await service.get("/v1/runs", unserved="true"))["items"][0]["unserved"]
    assert (later["sinceMs"], later["ageMs"] >= unserved["ageMs"]) == (unserved["sinceMs"], True)
    assert [run.execution_id for run in service.engine.unserved()] == [run_id]


async def test_a_run_is_asked_to_end_and_ends(service: Service) -> None:
    await service.publish(document(wait="payment.received"))
    run_id = await service.started()
    cancelled = await service.post(
        f"/v1/runs/{run_id}/cancel", {"reason": "enough", "requestedBy": "me", "commandId": "c-1", "wait": WAIT_S}
    )
    known = cancelled.pop("atLeast")
    assert cancelled == {"status": "cancelled", "commandId": "c-1", "executionId": run_id}
    detail = await service.get(f"/v1/runs/{run_id}", at_least=known)
    assert detail["run"]["status"] == "cancelled"
    assert [(each["requestedBy"], each["reason"]) for each in detail["cancels"]] == [("me", "enough")]


async def test_a_cancel_that_is_repeated_gets_the_same_answer(service: Service) -> None:
    """Proves: LOG-06."""
    await service.publish(document(wait="payment.received"))
    run_id = await service.started()
    body = {"commandId": "c-1", "wait": WAIT_S}
    first = await service.post(f"/v1/runs/{run_id}/cancel", body)
    assert await service.post(f"/v1/runs/{run_id}/cancel", body) == first


async def test_a_cancel_is_pending_while_nobody_waits_for_it(service: Service) -> None:
    await service.publish(document(wait="payment.received"))
    run_id = await service.started()
    pending = await service.post(f"/v1/runs/{run_id}/cancel", {"commandId": "c-1", "wait": 0}, 202)
    assert pending["status"] == "pending"
    assert (await service.get(f"/v1/runs/{run_id}", wait=WAIT_S))["run"]["status"] == "cancelled"


async def test_a_run_that_has_ended_stays_as_it_is(service: Service) -> None:
    await service.publish()
    run_id = await service.started()
    await service.get(f"/v1/runs/{run_id}", wait=WAIT_S)
    problem = await service.post(f"/v1/runs/{run_id}/cancel", {"wait": WAIT_S}, 409)
    assert (problem["kind"], problem["details"]["status"]) == ("state", "completed")


async def test_a_cancel_of_no_run_is_not_found(service: Service) -> None:
    problem = await service.post("/v1/runs/nobody/cancel", {"wait": WAIT_S}, 404)
    assert problem["kind"] == "not-found"


async def test_a_request_that_waits_for_a_change_comes_back_with_it_and_not_before(service: Service) -> None:
    await service.publish(document(wait="payment.received"))
    run_id = await service.started(data={"id": "o-1"})
    detail = await service.get(f"/v1/runs/{run_id}")
    while detail["wait"] is None:
        detail = await service.get(f"/v1/runs/{run_id}", wait=WAIT_S, seen=detail["mark"])
    same = await service.get(f"/v1/runs/{run_id}", wait=0.05, seen=detail["mark"])
    assert same["mark"] == detail["mark"]
    await service.emit(name="payment.received", correlation="o-1", ttl="1h")
    changed = await service.get(f"/v1/runs/{run_id}", wait=WAIT_S, seen=detail["mark"])
    assert changed["mark"] != detail["mark"]


async def test_runs_are_listed_by_status_definition_and_publication(service: Service) -> None:
    first = await service.publish()
    await service.publish(document("other", event="other.happened", wait="payment.received"))
    done = await service.started()
    await service.get(f"/v1/runs/{done}", wait=WAIT_S)
    waiting = await service.started(name="other.happened")

    async def listed(**query: str) -> list[str]:
        return [each["executionId"] for each in (await service.get("/v1/runs", **query))["items"]]

    assert await listed(status="completed") == [done]
    assert await listed(definition="other") == [waiting]
    assert await listed(publication=first["publicationId"]) == [done]
    counts = await service.get("/v1/counts")
    assert counts["runs"]["completed"] == 1
    assert counts["stimuli"] == {"started": 2}


@pytest.mark.parametrize(
    "aggregate", ["execution:{run}", "{run}", "{publication}", "{stimulus}", "orders/default", "slot:{slot}"]
)
async def test_a_history_is_found_by_stream_by_id_and_by_slot(service: Service, aggregate: str) -> None:
    """Proves: OPS-01."""
    published = await service.publish()
    stimulus = await service.emit()
    run_id = (await service.get(f"/v1/stimuli/{stimulus}", wait=WAIT_S))["starts"][0]["executionId"]
    await service.get(f"/v1/runs/{run_id}", wait=WAIT_S)
    named = aggregate.format(
        run=run_id, publication=published["publicationId"], stimulus=stimulus, slot=published["slotId"]
    )
    page = await service.get(f"/v1/history/{named}", wait=WAIT_S)
    assert [entry["revision"] for entry in page["items"]] == list(range(1, len(page["items"]) + 1))
    assert all(isinstance(entry["data"], dict) for entry in page["items"])


async def test_a_history_comes_in_pages(service: Service) -> None:
    await service.publish()
    run_id = await service.started()
    await service.get(f"/v1/runs/{run_id}", wait=WAIT_S)
    whole: list[dict[str, object]] = []
    while not whole or whole[-1]["type"] != "executions.ExecutionCompleted":  # the history may be behind the runs
        whole = (await service.get(f"/v1/history/{run_id}", wait=WAIT_S))["items"]
    first = await service.get(f"/v1/history/{run_id}", limit=1)
    rest = await service.get(f"/v1/history/{run_id}", after=first["next"])
    assert [*first["items"], *rest["items"]] == whole
    assert rest["next"] is None
