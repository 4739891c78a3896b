"""E16: a release with other rules reads what an older one has decided as it was decided.

That logs of each release come to the same for ever is shown in tests/replay, and that records of every schema version
stay readable in tests/schemas.
"""

from pathlib import Path

import pytest

from interlock.domain.publishing import candidate, request
from interlock.domain.refusal import Refusal
from interlock.log.memory import MemoryBroker, MemoryLog
from tests.api.service import WAIT_S, Service, document, serving

pytestmark = pytest.mark.cases


def refuse(*_: object, **__: object) -> Refusal:
    """A rule that nothing of what was published fulfils."""
    return Refusal("invalid", "Expected what the new rule wants, found something else.")


async def shown(service: Service, run: str, position: int) -> list[object]:
    """What the views tell."""
    slot = await service.get("/v1/slots/orders/default", position=position)
    publications = await service.get("/v1/publications", position=position)
    detail = await service.get(f"/v1/runs/{run}", wait=WAIT_S, seen="nothing")
    return [slot["slot"], publications["items"], detail["run"]]


@pytest.mark.parametrize("views", ["kept", "dropped"])
async def test_a_stricter_rule_changes_no_state_that_an_older_rule_has_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, views: str
) -> None:
    """Proves: LOG-01 (replay decides nothing again), PRJ-06, PRJ-07."""
    broker = MemoryBroker()
    async with serving(tmp_path / "old", log=MemoryLog(broker)) as service:
        await service.get("/health/ready", wait=WAIT_S)
        await service.publish(document())
        published = await service.publish(document(wait="payment.received"))
        run = await service.started(data={"id": "o-1"})
        while (detail := await service.get(f"/v1/runs/{run}"))["run"]["status"] != "waiting":
            await service.get(f"/v1/runs/{run}", wait=WAIT_S, seen=detail["mark"])
        before = await shown(service, run, published["position"])

    monkeypatch.setattr(candidate, "compile_document", refuse)
    monkeypatch.setattr(request, "conflicts", refuse)
    data = tmp_path / ("old" if views == "kept" else "new")
    async with serving(data, log=MemoryLog(broker)) as service:
        await service.get("/health/ready", wait=WAIT_S)
        assert await shown(service, run, published["position"]) == before
        # The rule holds for what is asked now, and what runs by the old one goes on.
        await service.post("/v1/publish", {"document": document(), "wait": WAIT_S}, 400)
        await service.emit("payment.received", correlation="o-1")
        assert (await service.get(f"/v1/runs/{run}", wait=WAIT_S))["run"]["status"] == "completed"
        again = await service.started(data={"id": "o-2"})
        assert (await service.get(f"/v1/runs/{again}"))["run"]["publicationId"] == published["publicationId"]
