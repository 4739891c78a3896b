"""B13: a conflict names who has the claim, as data, and a claim that was given up blocks nobody."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.service import WAIT_S, document, serving
from tests.support.publishing import WITH_GATES

pytestmark = pytest.mark.cases


def keeping(name: str) -> str:
    """A definition that needs the gate for itself."""
    gate = {"type": "gate", "name": "north", "id": f"{name}-gate"}
    return json.dumps({**json.loads(document(name)), "triggers": [gate]})


async def test_a_clash_names_claim_definition_slot_publication_and_node_and_ends_with_the_claimant(
    tmp_path: Path,
) -> None:
    """Proves: PUB-09, PUB-12, PUB-13, TRG-04"""
    async with serving(tmp_path, providers=WITH_GATES) as service:
        await service.get("/health/ready", wait=WAIT_S)
        keeper = await service.publish(keeping("keeper"), slot="blue")
        expected: dict[str, Any] = {
            "claim": "gate:north",
            "nodeId": "rival-gate",
            "definitionId": "keeper",
            "slotId": keeper["slotId"],
            "slotName": "blue",
            "publicationId": keeper["publicationId"],
            "claimantNodeId": "keeper-gate",
            "cardinality": "exclusive",
        }
        looked = await service.post("/v1/preflight", {"document": keeping("rival")})
        assert (looked["action"], looked["conflicts"]) == ("conflict", [expected])

        clash = await service.post("/v1/publish", {"document": keeping("rival"), "wait": WAIT_S}, 409)
        assert (clash["kind"], clash["conflicts"]) == ("conflict", [expected])
        shown = await service.get(f"/v1/publications/{clash['details']['publicationId']}", wait=WAIT_S)
        assert (shown["publication"]["status"], shown["publication"]["conflicts"]) == ("failed", [expected])

        await service.post("/v1/unpublish", {"definition": "keeper", "slot": "blue", "wait": WAIT_S})
        rival = await service.publish(keeping("rival"))
        assert rival["status"] == "active"
        back = await service.post("/v1/restore", {"definition": "keeper", "slot": "blue", "wait": WAIT_S}, 409)
        assert [each["publicationId"] for each in back["conflicts"]] == [rival["publicationId"]]
