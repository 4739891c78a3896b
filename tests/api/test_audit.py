"""What an aggregate was, and why a slot's authority is what it is."""

from datetime import UTC, datetime

import pytest

from tests.api.service import WAIT_S, Service, document


def instant(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()


async def test_a_slot_as_of_each_revision_and_instant(service: Service) -> None:
    """Proves: PRJ-10."""
    first = await service.publish()
    second = await service.publish(document(calls="linger"))
    events = (await service.get("/v1/history/orders/default", wait=WAIT_S))["items"]
    now = await service.get("/v1/states/orders/default")
    assert (now["stream"], now["revision"], now["lastRevision"]) == (f"slot:{first['slotId']}", 2, 2)
    assert now["state"]["publication_id"] == second["publicationId"]
    for at in (1, instant(events[0]["timeMs"])):
        then = await service.get("/v1/states/orders/default", at=at)
        assert (then["revision"], then["lastRevision"], then["type"]) == (1, 2, "publishing.SlotActivated")
        assert then["state"]["publication_id"] == first["publicationId"]
    never = await service.http.get("/v1/states/orders/default", params={"at": 3})
    assert (never.status_code, never.json()["kind"]) == (404, "not-found")
    assert "to have revision 3, found that it has 2 so far" in never.json()["message"]
    before = await service.http.get("/v1/states/orders/default", params={"at": instant(events[0]["timeMs"] - 1)})
    assert (before.status_code, before.json()["kind"]) == (404, "not-found")


async def test_a_run_and_its_stimulus_can_be_looked_back_at_by_id_or_by_stream(service: Service) -> None:
    """Proves: PRJ-10."""
    await service.publish()
    identity = await service.started()
    await service.get(f"/v1/runs/{identity}", wait=WAIT_S)
    events = (await service.get(f"/v1/history/{identity}", wait=WAIT_S))["items"]
    begun = await service.get(f"/v1/states/{identity}", at=1)
    ended = await service.get(f"/v1/states/execution:{identity}", at=events[-1]["revision"])
    assert (begun["state"]["status"], ended["state"]["status"]) == ("running", "completed")
    assert ended["state"]["started"]["execution_id"] == identity
    stimulus = await service.get(f"/v1/states/stimulus:{ended['state']['started']['stimulus_id']}")
    assert stimulus["state"]["met"] == [identity]


@pytest.mark.parametrize("at", ["-1", "tomorrow", "1e3", "9" * 30, "2026-13-01"])
async def test_a_time_that_is_none_is_refused(service: Service, at: str) -> None:
    answer = await service.http.get("/v1/states/orders/default", params={"at": at})
    assert (answer.status_code, answer.json()["kind"]) == (400, "invalid")


async def test_what_no_aggregate_is_of_is_refused_and_what_is_not_there_not_found(service: Service) -> None:
    for path, status in (("order:1", 400), ("execution:nobody", 404), ("f" * 32, 404), ("nobody/default", 404)):
        assert (await service.http.get(f"/v1/states/{path}")).status_code == status, path


async def test_why_a_slot_selects_what_it_selects(service: Service) -> None:
    """Proves: PRJ-10 (the chain of events behind the authority)."""
    first = await service.publish(requestedBy="ada")
    second = await service.publish(document(calls="linger"), requestedBy="grace", commandId="c-2")
    await service.get(f"/v1/history/publication:{second['publicationId']}", wait=WAIT_S)
    why = await service.get("/v1/why/orders/default")
    assert (why["publicationId"], why["revision"], why["slotId"]) == (second["publicationId"], 2, second["slotId"])
    assert (why["requestedBy"], why["commandId"], why["policySource"]) == ("grace", "c-2", "host")
    assert (why["observedRevision"], why["artifactId"], why["version"]) == (1, second["artifactId"], second["version"])
    assert [each["view"] for each in why["prepared"]] == ["trigger-index"]
    assert why["requestedAtMs"] <= why["prepared"][0]["atMs"] <= why["selectedAtMs"] <= why["servedAtMs"]
    assert why["position"] == second["position"]
    replaced = why["replaced"]
    assert (replaced["publicationId"], replaced["requestedBy"], replaced["revision"]) == (
        first["publicationId"],
        "ada",
        1,
    )
    assert replaced["retiredAtMs"] == why["selectedAtMs"]
    types = [each["type"].partition(".")[2] for each in why["chain"]]
    assert types[0] == "PublicationActivated"
    assert [type_ for type_ in types if type_ in ("PublicationRequested", "SlotActivated", "PublicationServed")] == [
        "PublicationRequested",
        "SlotActivated",
        "PublicationServed",
    ]
    positions = [each["position"] for each in why["chain"]]
    assert positions == sorted(positions)


async def test_why_says_what_was_restored_and_whose_the_slot_came_to_be(service: Service) -> None:
    """Proves: PRJ-10, PUB-19, PUB-20."""
    first = await service.publish(owner="team:payments")
    await service.publish(document(calls="linger"), owner="team:payments")
    body = {"definition": "orders", "owner": "service:ci", "takeOver": True, "wait": WAIT_S}
    restored = await service.post("/v1/restore", body)
    why = await service.get("/v1/why/orders/default", at_least=restored["atLeast"])
    assert (why["publicationId"], why["restores"]) == (restored["publicationId"], first["publicationId"])
    assert (why["owner"], why["tookOver"]) == ({"kind": "service", "id": "ci"}, True)


async def test_why_a_slot_is_empty(service: Service) -> None:
    published = await service.publish()
    body = {"definition": "orders", "requestedBy": "grace", "wait": WAIT_S}
    await service.post("/v1/unpublish", body)
    found = await service.get("/v1/history/orders/default", wait=WAIT_S)
    assert len(found["items"]) == 2
    why = await service.get("/v1/why/orders/default")
    assert (why["publicationId"], why["revision"], why["requestedBy"]) == ("", 2, "grace")
    assert (why["replaced"]["publicationId"], why["observedRevision"]) == (published["publicationId"], 1)
    assert (why["restores"], why["owner"], why["tookOver"]) == ("", None, False)


async def test_why_of_a_slot_that_never_was_is_not_found(service: Service) -> None:
    assert (await service.http.get("/v1/why/orders/blue")).status_code == 404
    assert (await service.http.get("/v1/why/orders")).status_code == 404
