"""A projector that died leaves views behind the journals; nobody is told "not found" from them."""

from pathlib import Path

import httpx
import pytest

from tests.support.fleet import Fleet

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(120)]


async def test_not_found_is_said_only_by_a_view_that_has_read_everything(tmp_path: Path) -> None:
    """Proves: PRJ-08, PRJ-09. E15."""
    fleet = Fleet(f"sqlite:///{tmp_path / 'log.sqlite'}", tmp_path, app="tests.support.chores")
    code, output = await fleet.run("topics", "create")
    assert code == 0, output
    fleet.add("routing")
    projector = fleet.add("projector")
    fleet.add("api")
    await fleet.start()
    async with httpx.AsyncClient(base_url=fleet.api, timeout=60.0) as client:
        await projector.kill()
        stimulus = {"type": "Event", "name": "chore.asked", "data": 1, "idempotencyKey": "k"}
        emitted = await client.post("/v1/stimuli", json=stimulus)
        assert emitted.status_code == 202, emitted.text
        path = f"/v1/stimuli/{emitted.json()['stimulusId']}"
        answer = await _until_routed(client, path)
        assert answer.status_code == 503, answer.text
        assert "projector" in answer.json()["message"]
        await projector.start()
        found = await client.get(path, params={"wait": "30"})
        assert found.status_code == 200, found.text
        unknown = await client.get("/v1/stimuli/none")
        assert unknown.status_code == 404, unknown.text
    assert await fleet.close() == [0, 0, 0]


async def _until_routed(client: httpx.AsyncClient, path: str) -> httpx.Response:
    """As long as the stimulus is not routed it is rightly unknown; the answer after that."""
    while True:
        answer = await client.get(path)
        if answer.status_code != 404:
            return answer
