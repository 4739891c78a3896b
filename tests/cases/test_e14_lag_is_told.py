"""E14: how far a view is behind is told, in records and in time, also while nobody projects it, and is an alarm.

What is left to do of this case: that a journal is never trimmed below the slowest registered reader, and is once that
one is deregistered. Nothing trims a journal yet: its retention is without end, and a process refuses to start on one
whose isn't (LOG-07).
"""

from pathlib import Path
from typing import Any

import pytest

from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.runtime.roles import ROLES, Role
from tests.api.service import WAIT_S, Service, document, serving

pytestmark = pytest.mark.cases

UNPROJECTED: tuple[Role, ...] = tuple(role for role in ROLES if role != "projector")


async def lags(service: Service) -> dict[str, tuple[int, int]]:
    """View → how far it is behind, in records and in milliseconds."""
    items: list[dict[str, Any]] = (await service.get("/v1/projections"))["items"]
    return {each["view"]: (each["lag"], each["lagMs"]) for each in items}


async def test_a_view_that_nobody_projects_is_told_with_a_lag_that_grows(tmp_path: Path) -> None:
    """Proves: PRJ-08."""
    broker = MemoryBroker()
    async with serving(tmp_path, log=MemoryLog(broker)) as service:
        await service.get("/health/ready", wait=WAIT_S)
        await service.publish(document())
        await service.started()
    async with serving(tmp_path, log=MemoryLog(broker), roles=UNPROJECTED) as service:
        before, _ = (await lags(service))["stimuli"]
        for number in range(2):
            await service.emit(data={"id": f"o-{number}"})
            while (now := (await lags(service))["stimuli"])[0] <= before:
                pass
            before, since_ms = now
            # The oldest stays the oldest, so its age grows as long as nobody takes it in.
            while (await lags(service))["stimuli"][1] < since_ms + 50:
                pass
        ready = await service.http.get("/health/ready")
        assert ready.status_code == 503
        assert any("no process projects the view stimuli" in each for each in ready.json()["problems"])
    async with serving(tmp_path, log=MemoryLog(broker)) as service:
        await service.get("/health/ready", wait=WAIT_S)
        while set((await lags(service)).values()) != {(0, 0)}:
            pass
