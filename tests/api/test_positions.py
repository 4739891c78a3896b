"""Read your own writes: a query that carries a position knows of it, or says how far it came."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from interlock.api.app import ENDPOINTS
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.runtime.roles import Role
from interlock.sdk import ApiError, Client
from tests.api.service import WAIT_S, Service, document, serving


@pytest.fixture
async def blind(tmp_path: Path) -> AsyncGenerator[Service, None]:
    """A service whose views are projected by nobody, after they were filled once."""
    broker = MemoryBroker()
    async with serving(tmp_path, log=MemoryLog(broker)) as service:
        await service.get("/health/ready", wait=WAIT_S)
    without: tuple[Role, ...] = ("publishing", "routing", "executions", "api")
    async with serving(tmp_path, roles=without, log=MemoryLog(broker)) as service:
        yield service


async def test_an_answer_names_a_position_and_every_view_of_its_journal_can_be_asked_at_it(service: Service) -> None:
    """Proves: PRJ-08."""
    for number in range(5):
        published = await service.publish(document(f"orders-{number}"))
        found = await service.get(f"/v1/slots/orders-{number}/default", at_least=published["atLeast"])
        assert found["slot"]["revision"] == 1
        history = await service.get(
            f"/v1/history/publication:{published['publicationId']}", at_least=published["atLeast"]
        )
        # The answer itself is known too, not the activation alone.
        assert history["items"][-1]["type"] == "publishing.PublicationServed"
        state = await service.get(f"/v1/states/slot:{published['slotId']}", at_least=published["atLeast"])
        assert state["state"]["publication_id"] == published["publicationId"]


async def test_a_stimulus_is_known_at_the_position_that_its_emit_was_answered_with(service: Service) -> None:
    """Proves: PRJ-08."""
    await service.publish()
    for number in range(10):
        body = {"type": "Event", "name": "order.placed", "data": {"id": f"o-{number}"}}
        emitted = await service.post("/v1/stimuli", body, 202)
        detail = await service.get(f"/v1/stimuli/{emitted['stimulusId']}", at_least=emitted["atLeast"])
        assert len(detail["starts"]) == 1
        # Asked again, when nothing comes behind it.
        await service.get("/v1/stimuli", at_least=emitted["atLeast"])


async def test_a_run_has_ended_at_the_position_that_its_cancel_was_answered_with(service: Service) -> None:
    """Proves: PRJ-08."""
    await service.publish(document(calls="linger"))
    identity = await service.started()
    cancelled = await service.post(f"/v1/runs/{identity}/cancel", {"wait": 0}, 202)
    assert cancelled["status"] == "pending"
    asked = await service.get(f"/v1/runs/{identity}", at_least=cancelled["atLeast"])
    assert asked["run"]["status"] in ("cancelling", "cancelled")
    await service.publish(document("waits", wait="payment"))
    waiting = await service.started()
    await service.get(f"/v1/runs/{waiting}", wait=WAIT_S, seen="nothing")


async def test_a_pending_publish_is_known_at_its_place_in_the_inbox(service: Service) -> None:
    body = {"document": document(), "commandId": "c-1", "wait": 0}
    pending = await service.post("/v1/publish", body, 202)
    assert pending["atLeast"].startswith("publishing/0@")
    found = await service.get(f"/v1/publications/{pending['publicationId']}", at_least=pending["atLeast"])
    assert found["publication"]["commandId"] == "c-1"
    await service.get(f"/v1/publications/{pending['publicationId']}", wait=WAIT_S)


async def test_several_positions_may_be_carried_at_once(service: Service) -> None:
    published = await service.publish()
    emitted = await service.post("/v1/stimuli", {"type": "Event", "name": "order.placed", "data": {"id": "1"}}, 202)
    both = f"{published['atLeast']}, {emitted['atLeast']}"
    found = await service.get(f"/v1/history/stimulus:{emitted['stimulusId']}", at_least=both)
    assert found["items"]


async def test_a_view_that_does_not_get_there_says_how_far_it_came(service: Service) -> None:
    """Proves: PRJ-08 (or a timeout)."""
    published = await service.publish()
    ahead = f"publishing/0:{published['position'] + 1_000}"
    answer = await service.http.get(
        f"/v1/publications/{published['publicationId']}", params={"at_least": ahead, "wait": 0}
    )
    problem = answer.json()
    assert (answer.status_code, problem["kind"], problem["details"]["asked"]) == (504, "not-reached", ahead)
    context, _, number = problem["details"]["reached"].partition(":")
    assert (context, int(number) >= published["position"]) == ("publishing/0", True)
    offset = (await service.http.get("/v1/stimuli/x", params={"at_least": "routing/1@999999", "wait": 0.1})).json()
    assert offset["kind"] == "not-reached"


async def test_a_view_that_catches_up_after_a_start_is_warming_up_and_nothing_else(blind: Service) -> None:
    """Proves: PRJ-09."""
    body = {"document": document(), "wait": 0}
    pending = await blind.post("/v1/publish", body, 202)
    answer = await blind.http.get("/v1/slots/orders/default", params={"at_least": pending["atLeast"], "wait": 0.2})
    # Filled and caught up once, it is behind now: it says how far it is, never that there is no such slot.
    assert (answer.status_code, answer.json()["kind"]) == (504, "not-reached")
    blind.engine.settings.data.joinpath("views", "slots.sqlite").unlink()
    answer = await blind.http.get("/v1/slots/orders/default", params={"at_least": pending["atLeast"], "wait": 0.2})
    assert (answer.status_code, answer.json()["kind"]) == (503, "warming-up")


@pytest.mark.parametrize(
    "position",
    [
        "",
        "7",
        "publishing/0",
        "publishing/0:",
        "publishing/0:x",
        "publishing/9:1",
        "nobody/0:1",
        "publishing/0:1;",
        ",",
    ],
)
async def test_what_is_no_position_is_refused(service: Service, position: str) -> None:
    answer = await service.http.get("/v1/slots", params={"at_least": position})
    assert (answer.status_code, answer.json()["kind"]) == (400, "invalid")


async def test_a_position_of_a_journal_that_the_answer_is_not_made_from_is_refused(service: Service) -> None:
    answer = await service.http.get("/v1/slots", params={"at_least": "executions/0:1"})
    assert (answer.status_code, answer.json()["kind"]) == (400, "invalid")
    assert "publishing" in answer.json()["message"]


def test_every_question_to_a_view_may_carry_a_position() -> None:
    """Proves: PRJ-08 (every query)."""
    without = {each.path for each in ENDPOINTS if each.method == "GET" and "at_least" not in each.known}
    assert without == {"/v1/projections", "/v1/projections/{view}", "/health/live", "/health/ready"}


def test_a_client_carries_positions_with_its_questions_and_with_no_others() -> None:
    asked: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        if request.url.path == "/v1/slots":
            return httpx.Response(200, json={"items": [], "next": None})
        problem = {"kind": "not-reached", "message": "x", "details": {"reached": "publishing/0:1"}}
        return httpx.Response(504, text=json.dumps(problem))

    with Client("http://api", transport=httpx.MockTransport(answer)) as client:
        knowing = client.at_least("publishing/0:7", "", "routing/1@3")
        knowing.slots()
        client.slots()
        with pytest.raises(ApiError) as caught:
            knowing.run("r", wait_s=1)
        with pytest.raises(ApiError):
            knowing.projection("slots")
    assert [url.params.get("at_least") for url in asked] == [
        "publishing/0:7,routing/1@3",
        None,
        "publishing/0:7,routing/1@3",
        None,
    ]
    assert (caught.value.kind, caught.value.details["reached"]) == ("not-reached", "publishing/0:1")


async def test_a_path_that_waits_for_nothing_else_takes_a_wait_only_with_a_position(service: Service) -> None:
    await service.publish()
    assert (await service.http.get("/v1/slots", params={"wait": 1})).status_code == 400
    await service.get("/v1/slots", wait=1, at_least="publishing/0:1")
