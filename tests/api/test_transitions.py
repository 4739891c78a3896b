"""Unpublish and restore by HTTP, and what all changes of a slot share: owners and policies."""

import json
from pathlib import Path

from tests.api.service import WAIT_S, Service, document, serving


async def test_an_unpublish_empties_the_slot_and_is_answered_when_every_shard_decides_by_it(service: Service) -> None:
    """Proves: PUB-14, PUB-16."""
    published = await service.publish()
    done = await service.post("/v1/unpublish", {"definition": "orders", "wait": WAIT_S})
    assert (done["status"], done["slot"], done["revision"], done["publicationId"]) == (
        "unpublished",
        "default",
        2,
        published["publicationId"],
    )
    found = await service.get("/v1/slots/orders/default", position=done["position"])
    assert (found["authority"], found["slot"]["publicationId"], found["slot"]["revision"]) == (None, "", 2)
    assert found["slot"]["emptiedAtMs"] is not None
    detail = await service.get(f"/v1/publications/{published['publicationId']}", wait=WAIT_S)
    assert (detail["publication"]["status"], detail["publication"]["replacedBy"]) == ("retired", "")
    assert (detail["unpublish"]["unpublishId"], detail["pending"]) == (done["unpublishId"], False)
    stimulus = await service.get(f"/v1/stimuli/{await service.emit()}", wait=WAIT_S)
    assert (stimulus["stimulus"]["outcome"], stimulus["starts"]) == ("unmatched", [])
    history = await service.get(f"/v1/history/unpublish:{done['unpublishId']}", wait=WAIT_S)
    assert history["items"][0]["type"] == "publishing.Unpublished"


async def test_an_unpublish_of_an_empty_slot_has_nothing_to_do_and_says_so(service: Service) -> None:
    """Proves: PUB-14."""
    never = await service.post("/v1/unpublish", {"definition": "orders", "wait": WAIT_S})
    assert (never["status"], never["revision"]) == ("nothing", 0)
    await service.publish()
    body = {"definition": "orders", "commandId": "u-1", "wait": WAIT_S}
    first = await service.post("/v1/unpublish", body)
    assert await service.post("/v1/unpublish", body) == first
    twice = await service.post("/v1/unpublish", {"definition": "orders", "expectRevision": 1, "wait": WAIT_S})
    assert (twice["status"], twice["revision"]) == ("nothing", 2)
    assert "nothing to unpublish" in twice["message"]


async def test_an_unpublish_compares_the_revision_that_was_observed(service: Service) -> None:
    """Proves: PUB-11."""
    await service.publish()
    serving = await service.publish(document(wait="payment.received"))
    lost = await service.post("/v1/unpublish", {"definition": "orders", "expectRevision": 1, "wait": WAIT_S}, 409)
    assert (lost["kind"], lost["details"]["foundRevision"]) == ("superseded", "2")
    ahead = await service.post("/v1/unpublish", {"definition": "orders", "expectRevision": 3, "wait": WAIT_S}, 400)
    assert (ahead["kind"], ahead["details"]["foundRevision"]) == ("invalid", "2")
    slot = await service.get("/v1/slots/orders/default")
    assert (slot["slot"]["publicationId"], slot["slot"]["revision"]) == (serving["publicationId"], 2)
    recorded = await service.get(f"/v1/history/unpublish:{lost['details']['unpublishId']}", wait=WAIT_S)
    assert [each["type"] for each in recorded["items"]] == ["publishing.UnpublishSuperseded"]


async def test_an_unpublish_that_nobody_waits_for_is_pending_and_can_be_asked_again(service: Service) -> None:
    published = await service.publish()
    body = {"definition": "orders", "commandId": "u-1", "wait": 0}
    pending = await service.post("/v1/unpublish", body, 202)
    assert (pending["status"], bool(pending["missing"])) == ("pending", True)
    done = await service.post("/v1/unpublish", {**body, "wait": WAIT_S})
    assert (done["status"], done["publicationId"]) == ("unpublished", published["publicationId"])


async def test_a_restore_makes_a_new_publication_of_the_earlier_executable(service: Service) -> None:
    """Proves: PUB-04, PUB-14, PUB-17, PUB-20."""
    first = await service.publish()
    second = await service.publish(document(event="order.changed"))
    restored = await service.post("/v1/restore", {"definition": "orders", "requestedBy": "ada", "wait": WAIT_S})
    assert (restored["status"], restored["revision"], restored["restores"]) == ("active", 3, first["publicationId"])
    assert restored["artifactId"] == first["artifactId"]
    assert restored["publicationId"] not in (first["publicationId"], second["publicationId"])
    shown = await service.get(f"/v1/publications/{restored['publicationId']}", wait=WAIT_S)
    found, reference = shown["publication"], shown["sourceReference"]
    assert (found["restores"], found["requestedBy"]) == (first["publicationId"], "ada")
    assert (reference["live"], reference["artifactId"], reference["kind"]) == (True, first["artifactId"], "published")
    replaced = (await service.get(f"/v1/publications/{second['publicationId']}"))["sourceReference"]
    assert (replaced["live"], replaced["retiredAtMs"] is not None) == (False, True)
    run = await service.get(f"/v1/runs/{await service.started()}")
    assert run["run"]["publicationId"] == restored["publicationId"]
    again = await service.post(
        "/v1/restore", {"definition": "orders", "publication": restored["publicationId"], "wait": WAIT_S}
    )
    assert (again["status"], again["publicationId"]) == ("nothing", restored["publicationId"])
    assert "nothing to restore" in again["message"]


async def test_a_restore_of_what_never_had_authority_is_refused_with_the_reason(service: Service) -> None:
    """Proves: PUB-14."""
    await service.publish()
    none = await service.post("/v1/restore", {"definition": "orders", "wait": WAIT_S}, 404)
    assert none["kind"] == "not-found"
    failed = await service.post("/v1/publish", {"document": '{"name": "orders"}', "wait": WAIT_S}, 400)
    identity = failed["details"]["publicationId"]
    body = {"definition": "orders", "publication": identity, "wait": WAIT_S}
    refused = await service.post("/v1/restore", body, 409)
    assert (refused["kind"], refused["details"]["status"]) == ("state", "failed")
    assert failed["message"].rstrip(".") in refused["message"]
    unknown = await service.post("/v1/restore", {**body, "publication": "f" * 32}, 404)
    assert "interlock publications list" in unknown["message"]


async def test_a_preflight_says_what_a_restore_or_an_unpublish_would_do_and_does_nothing(service: Service) -> None:
    """Proves: PUB-09, PUB-14."""
    first = await service.publish()
    second = await service.publish(document(event="order.changed"))
    look, body = "/v1/preflight/restore", {"definition": "orders"}
    found = await service.post(look, body)
    assert (found["action"], found["restores"], found["replaces"], found["artifactId"]) == (
        "replace",
        first["publicationId"],
        second["publicationId"],
        first["artifactId"],
    )
    assert ([each["claim"] for each in found["added"]], [each["claim"] for each in found["removed"]]) == (
        ["event:order.placed"],
        ["event:order.changed"],
    )
    assert (await service.post(look, {**body, "expectRevision": 1}))["action"] == "lose"
    assert (await service.post(look, {**body, "publication": second["publicationId"]}))["action"] == "nothing"
    assert (await service.post(look, {**body, "publication": "nobody"}, 404))["kind"] == "not-found"
    emptied = await service.post("/v1/preflight/unpublish", body)
    assert (emptied["action"], emptied["replaces"], emptied["artifactId"]) == ("empty", second["publicationId"], "")
    assert (await service.post("/v1/preflight/unpublish", {"definition": "nobody"}))["action"] == "nothing"
    slot = (await service.get("/v1/slots/orders/default"))["slot"]
    assert (slot["publicationId"], slot["revision"]) == (second["publicationId"], 2)
    assert len((await service.get("/v1/publications"))["items"]) == 2


async def test_an_owner_is_respected_unless_somebody_takes_over(service: Service) -> None:
    """Proves: PUB-19."""
    published = await service.publish(owner="team:payments")
    slot = await service.get("/v1/slots/orders/default", position=published["position"])
    assert slot["slot"]["owner"] == {"kind": "team", "id": "payments"}
    other = document(event="order.changed")
    for path, body in (
        ("/v1/publish", {"document": other}),
        ("/v1/publish", {"document": other, "owner": "service:ci"}),
        ("/v1/restore", {"definition": "orders"}),
        ("/v1/unpublish", {"definition": "orders"}),
    ):
        refused = await service.post(path, {**body, "wait": WAIT_S}, 409)
        assert (refused["kind"], refused["details"]["ownerKind"], refused["details"]["ownerId"]) == (
            "conflict",
            "team",
            "payments",
        )
    looked = await service.post("/v1/preflight", {"document": other, "owner": "service:ci", "takeOver": True})
    assert (looked["owner"]["id"], looked["foundOwner"]["id"], looked["action"]) == ("ci", "payments", "replace")
    taken = await service.publish(other, owner="service:ci", takeOver=True)
    shown = await service.get(f"/v1/publications/{taken['publicationId']}", wait=WAIT_S)
    assert (shown["publication"]["owner"], shown["publication"]["tookOver"]) == ({"kind": "service", "id": "ci"}, True)
    bad = await service.post("/v1/unpublish", {"definition": "orders", "owner": "nobody", "wait": WAIT_S}, 400)
    assert bad["kind"] == "invalid"


async def test_a_document_says_where_an_ordinary_publish_goes_or_that_there_is_none(service: Service) -> None:
    """Proves: PUB-08, PUB-09."""
    sent = json.dumps({**json.loads(document()), "publish": {"slot": "blue"}})
    looked = await service.post("/v1/preflight", {"document": sent})
    assert (looked["slotName"], looked["policySource"]) == ("blue", "workflow")
    assert (await service.publish(sent))["slot"] == "blue"
    beside = await service.post("/v1/preflight", {"document": sent, "slot": "green"})
    assert (beside["policySource"], beside["beside"]) == ("request", ["blue"])
    demanding = json.dumps({**json.loads(document()), "publish": {"explicit": True}})
    for path in ("/v1/preflight", "/v1/publish"):
        refused = await service.post(path, {"document": demanding}, 400)
        assert (refused["kind"], refused["details"]["policySource"]) == ("invalid", "workflow")
        assert "--slot" in refused["message"]
    published = await service.publish(demanding, slot="green")
    assert (published["slot"], published["beside"]) == ("green", ["blue"])
    await service.publish(demanding, slot="green", commandId="again")
    assert (await service.publish(sent, commandId="again-blue"))["beside"] == ["green"]


async def test_the_setting_of_the_host_refuses_what_names_no_slot_unless_the_document_does(tmp_path: Path) -> None:
    """Proves: PUB-08, PUB-14."""
    async with serving(tmp_path, slot_policy="explicit") as service:
        await service.get("/health/ready", wait=WAIT_S)
        assert (await service.publish(slot="default"))["revision"] == 1
        for path, body in (
            ("/v1/preflight", {"document": document()}),
            ("/v1/publish", {"document": document(), "wait": WAIT_S}),
            ("/v1/preflight/restore", {"definition": "orders"}),
            ("/v1/preflight/unpublish", {"definition": "orders"}),
            ("/v1/unpublish", {"definition": "orders", "wait": WAIT_S}),
        ):
            refused = await service.post(path, body, 400)
            assert (refused["kind"], refused["details"]["policySource"]) == ("invalid", "host"), path
            assert "--slot" in refused["message"]
        sent = json.dumps({**json.loads(document()), "publish": {"slot": "blue"}})
        assert (await service.publish(sent))["slot"] == "blue"
