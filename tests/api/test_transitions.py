"""Unpublish by HTTP."""

from tests.api.service import WAIT_S, Service, document


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
