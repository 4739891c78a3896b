"""Command ids by HTTP: a command is repeated under its id, and another one may not have it."""

from pathlib import Path

from interlock.log.memory import MemoryLog
from tests.api.service import WAIT_S, Service, document, ready


def orders(**more: object) -> dict[str, object]:
    return {"document": document(), "commandId": "d1", "wait": WAIT_S, **more}


async def test_another_command_under_a_used_id_is_a_conflict_and_the_first_one_keeps_its_answer(
    service: Service,
) -> None:
    first = await service.post("/v1/publish", orders(slot="d"))
    others = (
        ("/v1/publish", orders(document=document("others"), slot="d")),
        ("/v1/publish", orders()),
        ("/v1/unpublish", {"definition": "orders", "slot": "d", "commandId": "d1"}),
        ("/v1/restore", {"definition": "orders", "slot": "d", "commandId": "d1"}),
    )
    for path, body in others:
        for _ in ("asked", "asked again"):
            refused = await service.post(path, body, 409)
            assert refused["kind"] == "conflict"
            assert "publish 'orders' in slot 'd'" in refused["message"]
            assert refused["details"]["publicationId"] == first["publicationId"]
    assert await service.post("/v1/publish", orders(slot="d", requestedBy="somebody else")) == first
    (slot,) = (await service.get("/v1/slots", at_least=first["atLeast"]))["items"]
    assert (slot["publicationId"], slot["revision"]) == (first["publicationId"], 1)


async def test_an_id_is_another_command_in_another_shell(service: Service) -> None:
    first = await service.post("/v1/publish", orders())
    other = await service.post("/v1/publish", orders(document=document("others"), shell="other"))
    assert (first["definitionId"], other["definitionId"]) == ("orders", "others")
    assert await service.post("/v1/publish", orders()) == first


async def test_a_cancel_of_another_run_under_the_same_id_is_another_command(service: Service) -> None:
    await service.publish(document(calls="reserve", wait="paid"))
    runs = [await service.started(data={"id": str(number)}) for number in range(4)]
    for run in runs:
        body = {"commandId": "k", "requestedBy": "ada", "reason": "", "wait": WAIT_S}
        assert (await service.post(f"/v1/runs/{run}/cancel", body))["executionId"] == run


async def test_a_command_is_known_again_after_a_restart(tmp_path: Path) -> None:
    log = MemoryLog()
    async with ready(tmp_path, log) as service:
        first = await service.post("/v1/publish", orders())
    async with ready(tmp_path, MemoryLog(log.broker)) as service:
        assert await service.post("/v1/publish", orders()) == first
        await service.post("/v1/unpublish", {"definition": "orders", "commandId": "d1"}, 409)
