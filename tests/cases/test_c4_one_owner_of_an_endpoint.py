"""C4: the second workflow that wants an endpoint fails, and the first one keeps it."""

import asyncio
from pathlib import Path

import pytest

from tests.api.service import WAIT_S, serving
from tests.cases.offers import definition, event, http, indexed, offers, published

pytestmark = pytest.mark.cases


async def test_a_second_claim_of_a_method_and_path_is_a_conflict_and_writes_nothing(tmp_path: Path) -> None:
    """Proves: TRG-04, PUB-12, PUB-13."""
    async with serving(tmp_path) as service:
        await service.get("/health/ready", wait=WAIT_S)
        first = await published(service, definition("orders", http("/orders")))
        second = {"document": definition("rival", http("/orders"), event("rival.asked")), "wait": WAIT_S}
        clash = await service.post("/v1/publish", second, 409)
        assert [(each["claim"], each["definitionId"]) for each in clash["conflicts"]] == [
            ("http:POST /orders", "orders")
        ]
        later = await published(service, definition("other", http("/others")))
        await indexed(service, later["position"])
        with offers(tmp_path) as index:
            owners = {row.template: row.publication_id for row in index.routes("default")}
            assert owners == {"/orders": first["publicationId"], "/others": later["publicationId"]}
            assert index.bindings(clash["details"]["publicationId"]) == ()


async def test_of_many_that_ask_at_once_one_gets_it(tmp_path: Path) -> None:
    """All have looked before any of them has it; the ledger decides in the commit.

    Proves: PUB-12.
    """
    async with serving(tmp_path) as service:
        await service.get("/health/ready", wait=WAIT_S)
        asked = [definition(f"workflow-{number}", http("/orders/:id")) for number in range(8)]
        looked = [(await service.post("/v1/preflight", {"document": each}))["action"] for each in asked]
        assert looked == ["fill"] * 8
        answers = await asyncio.gather(
            *(service.http.post("/v1/publish", json={"document": each, "wait": WAIT_S}) for each in asked)
        )
        assert sorted(each.status_code for each in answers) == [200] + [409] * 7
        [winner] = [each.json() for each in answers if each.status_code == 200]
        named = {each.json()["conflicts"][0]["publicationId"] for each in answers if each.status_code == 409}
        assert named == {winner["publicationId"]}
        await indexed(service, winner["position"])
        with offers(tmp_path) as index:
            assert [row.publication_id for row in index.routes("default")] == [winner["publicationId"]]
