"""E6: the file of a view can't be written for some seconds in the middle of work; afterwards its rows are those of
everything, once."""

import asyncio
from pathlib import Path

import pytest

from tests.api.service import WAIT_S, document, serving
from tests.support import tampering

pytestmark = pytest.mark.cases

AWAY_S = 3.0


async def longest_standstill_s(during_s: float) -> float:
    """How long the process did nothing else at a stretch, in so many seconds."""
    loop = asyncio.get_running_loop()
    began = last = loop.time()
    longest = 0.0
    while last < began + during_s:
        await asyncio.sleep(0.02)
        longest, last = max(longest, loop.time() - last), loop.time()
    return longest


async def test_what_comes_while_a_view_can_not_be_written_is_applied_once_it_can(tmp_path: Path) -> None:
    """Somebody's tool has the file locked, as a copy or a vacuum does.

    Proves: PRJ-07.
    """
    async with serving(tmp_path) as service:
        await service.get("/health/ready", wait=WAIT_S)
        await service.publish(document())
        await service.started()
        with tampering.locked(tmp_path / "views" / "executions.sqlite"):
            pulse = asyncio.create_task(longest_standstill_s(AWAY_S))
            stimuli = [await service.emit(data={"id": f"o-{number}"}) for number in range(20)]
            # Other views, and everybody else in the process, go on meanwhile.
            for each in stimuli:
                assert len((await service.get(f"/v1/stimuli/{each}", wait=WAIT_S))["starts"]) == 1
            standstill_s = await pulse
            held = await service.get("/v1/projections/executions")
            assert held["lag"] > 0
            assert "locked" in held["waitingFor"]
            assert (await service.http.get("/health/live")).status_code == 200
            assert standstill_s < 1.0, "a view that can't be written holds up its process"
        for each in stimuli:
            [start] = (await service.get(f"/v1/stimuli/{each}"))["starts"]
            run = await service.get(f"/v1/runs/{start['executionId']}", wait=WAIT_S)
            assert [(step["nodeId"], step["status"]) for step in run["steps"]] == [("first", "completed")]
        await service.post("/v1/projections/executions/verify", {}, 202)
        verified = (await service.get("/v1/projections/executions", wait=WAIT_S))["verification"]
        assert (verified["state"], verified["missing"], verified["foreign"], verified["changed"]) == ("done", 0, 0, 0)
        assert verified["rows"] > 20
