"""E3: a rebuild in the same process can be asked for again and again, and gives the same rows each time."""

from pathlib import Path

import pytest

from tests.api.service import WAIT_S, document, serving

pytestmark = pytest.mark.cases

VIEWS = ("slots", "trigger-index", "stimuli", "executions", "history")


async def test_three_rebuilds_of_each_view_give_the_rows_that_were_there(tmp_path: Path) -> None:
    """Proves: PRJ-06."""
    async with serving(tmp_path) as service:
        await service.get("/health/ready", wait=WAIT_S)
        for number in range(5):
            await service.publish(document(event=f"order.placed.{number % 2}"))
            await service.started(name=f"order.placed.{number % 2}")
        # So far apart in the log that a reader who expects neighbours would lose its place.
        for _ in range(50):
            await service.emit("order.forgotten")
        last = await service.emit("order.forgotten")
        await service.get(f"/v1/stimuli/{last}", wait=WAIT_S)
        for view in VIEWS:
            digests: set[str] = set()
            identities: set[str] = set()
            for _ in range(3):
                asked = await service.post(f"/v1/projections/{view}/rebuild", {"compare": True}, 202)
                done = (await service.get(f"/v1/projections/{view}", wait=WAIT_S))["rebuild"]
                assert (done["state"], done["rebuildId"]) == ("done", asked["rebuildId"]), done
                assert done["appendsDone"] > 0
                identities.add(asked["rebuildId"])
                digests |= {done["replacedDigest"], done["rebuiltDigest"]}
            assert (len(identities), len(digests)) == (3, 1), view
