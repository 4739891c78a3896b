"""E4: the trigger index is rebuilt while publishing and stimuli go on; whoever asks meets the old rows or the new ones,
and never none."""

import asyncio
from pathlib import Path

import pytest

from interlock.domain.sharding import stimulus_identity
from tests.api.service import WAIT_S, document, serving
from tests.cases.offers import offers, published

pytestmark = pytest.mark.cases

PLACED = stimulus_identity("Event", "order.placed")
REBUILDS = 3


async def test_every_probe_during_a_rebuild_meets_exactly_one_authority(tmp_path: Path) -> None:
    """Proves: PRJ-04, PRJ-06."""
    async with serving(tmp_path) as service:
        await service.get("/health/ready", wait=WAIT_S)
        first = await published(service, document())
        going, active, stimuli = True, [str(first["publicationId"])], list[str]()

        async def republish() -> None:
            while going:
                wait = f"payment.{len(active)}"
                active.append((await published(service, document(wait=wait)))["publicationId"])

        async def emit() -> None:
            while going:
                stimuli.append(await service.emit())

        async def probe() -> list[tuple[str, ...]]:
            seen: list[tuple[str, ...]] = []
            with offers(tmp_path) as index:
                while going:
                    seen.append(tuple(row.publication_id for row in index.authoritative("default", PLACED)))
                    await asyncio.sleep(0)
            return seen

        load = [asyncio.create_task(republish()), asyncio.create_task(emit())]
        probing = asyncio.create_task(probe())
        for _ in range(REBUILDS):
            await service.post("/v1/projections/trigger-index/rebuild", {"compare": True}, 202)
            done = (await service.get("/v1/projections/trigger-index", wait=WAIT_S))["rebuild"]
            assert done["state"] == "done", done
            assert done["replacedDigest"] == done["rebuiltDigest"] != ""
        going = False
        await asyncio.gather(*load)
        seen = await probing
        assert {len(each) for each in seen} == {1}
        # Never back to an older one.
        numbers = [active.index(each[0]) for each in seen]
        assert numbers == sorted(numbers)
        assert len(active) > REBUILDS
        for identity in stimuli:
            starts = (await service.get(f"/v1/stimuli/{identity}", wait=WAIT_S))["starts"]
            assert [each["publicationId"] in active for each in starts] == [True]
