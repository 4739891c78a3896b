"""Preflight, publish, slots and publications by HTTP."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.runtime.roles import ROLES, Role
from tests.api.service import WAIT_S, Service, document, serving


async def test_a_publish_is_answered_active_with_what_it_made(service: Service) -> None:
    """Proves: OPS-01."""
    published = await service.publish()
    assert (published["status"], published["definitionId"], published["slot"], published["revision"]) == (
        "active",
        "orders",
        "default",
        1,
    )
    found = await service.get("/v1/slots/orders/default", position=published["position"])
    assert found["slot"]["publicationId"] == published["publicationId"]
    assert found["authority"]["publication"]["artifactId"] == published["artifactId"]
    detail = await service.get(f"/v1/publications/{published['publicationId']}", wait=WAIT_S)
    assert (detail["pending"], detail["reachedShards"]) == (False, [0, 1])


async def test_a_publication_shows_what_is_wanted_of_each_view_and_how_far_that_is(service: Service) -> None:
    """Proves: PRJ-01."""
    first = await service.publish()
    second = await service.publish(document(event="order.changed"))

    async def shown(publication_id: str) -> list[tuple[str, str, int]]:
        detail = await service.get(f"/v1/publications/{publication_id}", wait=WAIT_S, position=second["position"])
        assert {each["kind"] for each in detail["intents"]} == {"trigger-index"}
        return [(each["operation"], each["status"], each["attempts"]) for each in detail["intents"]]

    assert (await shown(second["publicationId"]))[0] == ("prepare", "delivered", 1)
    assert [operation for operation, _, _ in await shown(first["publicationId"])] == ["prepare", "activate", "retire"]


async def test_a_command_that_is_repeated_gets_the_same_answer(service: Service) -> None:
    """Proves: LOG-06."""
    first = await service.publish(commandId="c-1")
    again = await service.publish(commandId="c-1")
    assert again == first
    assert len((await service.get("/v1/publications", position=first["position"]))["items"]) == 1


async def test_a_refusal_that_is_repeated_is_the_same_refusal(service: Service) -> None:
    """Proves: LOG-06."""
    body = {"document": '{"name": "orders"}', "commandId": "c-1", "wait": WAIT_S}
    first = await service.post("/v1/publish", body, 400)
    again = await service.post("/v1/publish", body, 400)
    assert first == again
    assert (first["kind"], first["details"]["commandId"]) == ("invalid", "c-1")


async def test_a_publish_whose_document_is_wrong_is_shown_as_failed_with_what_is_wrong(service: Service) -> None:
    """Proves: PUB-05, PUB-13."""
    serving = await service.publish()
    steps = [{"id": "first", "activity": "reserve", "inputs": {"a": "b"}}]
    wrong = json.dumps({**json.loads(document()), "steps": steps})
    problem = await service.post("/v1/publish", {"document": wrong, "wait": WAIT_S}, 400)
    assert (problem["kind"], problem["faults"][0]["code"], problem["faults"][0]["where"]) == (
        "invalid",
        "source",
        "first",
    )
    shown = await service.get(f"/v1/publications/{problem['details']['publicationId']}", wait=WAIT_S)
    found = shown["publication"]
    assert (found["status"], found["failure"], found["reason"]) == ("failed", "invalid", problem["message"])
    assert (found["faults"], found["artifactId"]) == (problem["faults"], "")
    assert (await service.get("/v1/slots/orders/default"))["slot"]["publicationId"] == serving["publicationId"]
    [failed] = (await service.get("/v1/publications", status="failed"))["items"]
    assert failed == found


async def test_a_publish_that_nobody_waits_for_is_pending_and_says_what_is_missing(service: Service) -> None:
    body = {"document": document(), "commandId": "c-1", "wait": 0}
    pending = await service.post("/v1/publish", body, 202)
    assert pending["status"] == "pending"
    assert pending["missing"]
    detail = await service.get(f"/v1/publications/{pending['publicationId']}", wait=WAIT_S)
    assert (detail["pending"], detail["missing"], detail["publication"]["status"]) == (False, [], "active")
    assert (await service.post("/v1/publish", {**body, "wait": WAIT_S}))["status"] == "active"


async def test_what_is_missing_is_told_although_nobody_projects_the_views(tmp_path: Path) -> None:
    """Proves: PUB-16 (with what it waits for: the views are what it waits for, and can't tell)."""
    broker = MemoryBroker()
    unprojected: tuple[Role, ...] = tuple(role for role in ROLES if role != "projector")
    async with serving(tmp_path, log=MemoryLog(broker)) as service:
        await service.get("/health/ready", wait=WAIT_S)
        serving_one = await service.publish()
    async with serving(tmp_path, log=MemoryLog(broker), roles=unprojected) as service:
        body = {"document": document(wait="payment.received"), "commandId": "c-1", "wait": 0.2}
        while not (pending := await service.post("/v1/publish", body, 202))["definitionId"]:
            pass
        assert pending["missing"] == ["view trigger-index has to prepare its rows"]
        assert (pending["slot"], pending["slotId"]) == ("default", serving_one["slotId"])
        # What waits for no view is not held up.
        emptied = await service.post("/v1/unpublish", {"definition": "orders", "wait": WAIT_S})
        assert emptied["publicationId"] == serving_one["publicationId"]


async def test_a_caller_who_waits_hears_the_answer_although_another_one_has_given_up(service: Service) -> None:
    """Proves: LOG-06."""
    body = {"document": document(), "commandId": "c-1"}
    patient, hasty = await asyncio.gather(
        service.post("/v1/publish", {**body, "wait": WAIT_S}), service.post("/v1/publish", {**body, "wait": 0}, 202)
    )
    assert (patient["status"], hasty["status"]) == ("active", "pending")
    assert patient["publicationId"] == hasty["publicationId"]


async def test_an_observed_revision_that_is_gone_loses(service: Service) -> None:
    await service.publish()
    await service.publish(document(wait="payment.received"))
    lost = await service.post(
        "/v1/publish", {"document": document(event="order.changed"), "expectRevision": 1, "wait": WAIT_S}, 409
    )
    assert lost["kind"] == "superseded"
    assert (lost["details"]["expectedRevision"], lost["details"]["foundRevision"]) == ("1", "2")


async def test_a_preflight_says_what_a_publish_would_do_and_does_nothing(service: Service) -> None:
    """Proves: PUB-09."""
    fill = await service.post("/v1/preflight", {"document": document()})
    assert (fill["action"], fill["added"][0]["claim"], fill["foundRevision"]) == ("fill", "event:order.placed", 0)
    assert (await service.get("/v1/publications"))["items"] == []
    published = await service.publish()
    replace = await service.post("/v1/preflight", {"document": document(event="order.changed")})
    assert (replace["action"], replace["replaces"]) == ("replace", published["publicationId"])
    assert [claim["claim"] for claim in replace["removed"]] == ["event:order.placed"]
    await service.publish(document(event="order.changed"))
    lose = await service.post("/v1/preflight", {"document": document(), "expectRevision": 1})
    assert lose["action"] == "lose"


async def test_a_preflight_of_what_does_not_compile_is_the_refusal_of_a_publish(service: Service) -> None:
    bad = {"document": '{"name": "orders", "steps": []}'}
    looked = await service.post("/v1/preflight", bad, 400)
    asked = await service.post("/v1/publish", {**bad, "wait": WAIT_S}, 400)
    assert (looked["message"], looked["faults"]) == (asked["message"], asked["faults"])
    assert len(looked["faults"]) == 2


async def test_a_document_may_be_given_as_an_object_or_as_text(service: Service) -> None:
    given: dict[str, Any] = {"name": "orders", "triggers": [{"type": "event", "name": "e"}], "steps": []}
    given["steps"] = [{"id": "first", "activity": "reserve", "inputs": {"order": "input"}}]
    as_object = await service.post("/v1/preflight", {"document": given})
    as_text = await service.post("/v1/preflight", {"document": document(event="e")})
    assert as_object["version"] == as_text["version"]


@pytest.mark.parametrize("name", ["a/b", "größe", "with blanks", "50%", "a?b#c"])
async def test_names_of_any_kind_reach_their_slot(service: Service, name: str) -> None:
    slot = name.replace("/", "-")
    position = (await service.publish(document(name), slot=slot))["position"]
    found = await service.http.get(f"/v1/slots/{_quoted(name)}/{_quoted(slot)}?position={position}")
    assert (found.json()["slot"]["definitionId"], found.json()["slot"]["name"]) == (name, slot)


async def test_slots_are_listed_by_definition_and_name_in_pages(service: Service) -> None:
    """Ten thousand slots in one answer kept the loop, and all that waits for it, for a quarter of a second."""
    for definition, slot in (("b", "two"), ("b", "one"), ("a", "default")):
        position = (await service.publish(document(definition), slot=slot))["position"]
    first = await service.get("/v1/slots", position=position, limit=2)
    rest = await service.get("/v1/slots", after=first["next"])
    assert [(each["definitionId"], each["name"]) for each in first["items"]] == [("a", "default"), ("b", "one")]
    assert ([each["name"] for each in rest["items"]], rest["next"]) == (["two"], None)
    of_one = await service.get("/v1/slots", definition="b")
    assert [each["name"] for each in of_one["items"]] == ["one", "two"]
    assert (await service.http.get("/v1/slots", params={"limit": 501})).status_code == 400
    for after in ("nonsense", "1-nobody"):
        refused = await service.http.get("/v1/slots", params={"after": after})
        assert (refused.status_code, refused.json()["kind"]) == (400, "invalid")
        assert "`next` of a page" in refused.json()["message"]


async def test_an_answer_knows_of_the_position_that_it_is_asked_for(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves: PRJ-08."""
    monkeypatch.setattr("interlock.api.context.POSITION_WAIT_S", 0.05)
    position = (await service.publish())["position"]
    assert len((await service.get("/v1/slots", position=position))["items"]) == 1
    early = await service.http.get("/v1/slots", params={"position": position + 100})
    assert (early.status_code, early.json()["kind"]) == (503, "warming-up")


async def test_publications_are_listed_by_definition_slot_and_status(service: Service) -> None:
    await service.publish()
    await service.publish(document(event="order.changed"))
    position = (await service.publish(document("other", event="other.happened"), slot="blue"))["position"]

    async def listed(**query: str) -> list[tuple[str, str]]:
        page = await service.get("/v1/publications", position=position, **query)
        return [(each["definitionId"], each["status"]) for each in page["items"]]

    assert await listed() == [("other", "active"), ("orders", "active"), ("orders", "retired")]
    assert await listed(definition="orders", status="retired") == [("orders", "retired")]
    assert await listed(definition="other", slot="blue") == [("other", "active")]


def _quoted(name: str) -> str:
    return quote(name, safe="")
