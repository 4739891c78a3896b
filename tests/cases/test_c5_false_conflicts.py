"""C5: only what matches the same is a conflict: other prefixes are none, a workflow's own old version is none, and
other names for the same parameters don't hide one."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.service import WAIT_S, serving
from tests.cases.offers import definition, http

pytestmark = pytest.mark.cases


async def test_templates_are_compared_by_what_they_match(tmp_path: Path) -> None:
    """Proves: TRG-04, RTE-02."""
    async with serving(tmp_path) as service:

        async def publish(name: str, status: int, *triggers: dict[str, object]) -> Any:
            return await service.post("/v1/publish", {"document": definition(name, *triggers), "wait": WAIT_S}, status)

        await service.get("/health/ready", wait=WAIT_S)
        await publish("a", 200, http("/a/:x"))
        await publish("b", 200, http("/b/:x"))
        assert (await publish("a", 200, http("/a/:x")))["revision"] == 2
        assert (await publish("a", 200, http("/a/:other")))["revision"] == 3
        await publish("a-reader", 200, http("/a/:x", "GET"))
        await publish("a-below", 200, http("/a/:x/items"))
        clash = await publish("c", 409, http("/a/:y"))
        [conflict] = clash["conflicts"]
        assert (conflict["definitionId"], conflict["claim"]) == ("a", "http:POST /a/:")


async def test_a_workflow_that_asks_for_the_same_twice_is_told_both_nodes(tmp_path: Path) -> None:
    """Proves: TRG-07."""
    async with serving(tmp_path) as service:
        await service.get("/health/ready", wait=WAIT_S)
        twice = definition("twice", {**http("/a/:x"), "id": "one"}, {**http("/a/:y"), "id": "two"})
        refused = await service.post("/v1/preflight", {"document": twice}, 409)
        assert (refused["kind"], refused["faults"][0]["code"]) == ("conflict", "claim-twice")
        assert all(node in refused["message"] for node in ("one", "two")), refused
