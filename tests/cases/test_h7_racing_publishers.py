"""H7: of those who publish from one observed revision one wins, and the lists show who."""

import asyncio
from pathlib import Path

import pytest

from tests.api.service import WAIT_S, document, serving

pytestmark = pytest.mark.cases

PUBLISHERS = 20
ROUNDS = 3


async def test_twenty_publishers_have_one_winner_a_revision(tmp_path: Path) -> None:
    """Proves: PUB-05, PUB-11."""
    async with serving(tmp_path) as service:
        await service.get("/health/ready", wait=WAIT_S)
        won: list[str] = []
        position = 0
        for revision in range(ROUNDS):

            def body(publisher: int, observed: int = revision) -> dict[str, object]:
                text = document(event=f"order.placed.{observed}.{publisher}")
                return {"document": text, "expectRevision": observed, "wait": WAIT_S}

            answers = await asyncio.gather(
                *(service.http.post("/v1/publish", json=body(publisher)) for publisher in range(PUBLISHERS))
            )
            [winner] = [each.json() for each in answers if each.status_code == 200]
            lost = [each.json() for each in answers if each.status_code == 409]
            assert (len(lost), {each["kind"] for each in lost}) == (PUBLISHERS - 1, {"superseded"})
            won.append(winner["publicationId"])
            assert winner["revision"] == revision + 1
            position = winner["position"]
            shown = await service.get("/v1/slots/orders/default", position=position)
            assert (shown["slot"]["publicationId"], shown["slot"]["revision"]) == (won[-1], revision + 1)

        counts: dict[str, set[str]] = {}
        for status in ("active", "retired", "superseded"):
            page = await service.get("/v1/publications", status=status, limit=500, position=position)
            counts[status] = {each["publicationId"] for each in page["items"]}
        assert (counts["active"], counts["retired"]) == ({won[-1]}, {*won[:-1]})
        assert len(counts["superseded"]) == ROUNDS * (PUBLISHERS - 1)
