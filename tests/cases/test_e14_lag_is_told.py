"""E14: how far a view is behind is told, also while nobody projects it.

What is left to do of this case: journals that are never trimmed below what the slowest registered reader has read.
Nothing trims a journal yet. An alarm at a bound is the operator's, over the lag in `/metrics`.
"""

from pathlib import Path
from typing import Any

import pytest

from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.runtime.roles import ROLES, Role
from tests.api.service import WAIT_S, Service, document, serving

pytestmark = pytest.mark.cases

UNPROJECTED: tuple[Role, ...] = tuple(role for role in ROLES if role != "projector")


async def lags(service: Service) -> dict[str, int]:
    items: list[dict[str, Any]] = (await service.get("/v1/projections"))["items"]
    return {each["view"]: each["lag"] for each in items}


async def test_a_view_that_nobody_projects_is_told_with_a_lag_that_grows(tmp_path: Path) -> None:
    """Proves: PRJ-08."""
    broker = MemoryBroker()
    async with serving(tmp_path, log=MemoryLog(broker)) as service:
        await service.get("/health/ready", wait=WAIT_S)
        await service.publish(document())
        await service.started()
    async with serving(tmp_path, log=MemoryLog(broker), roles=UNPROJECTED) as service:
        seen = [await lags(service)]
        for number in range(2):
            await service.emit(data={"id": f"o-{number}"})
            while (now := await lags(service))["stimuli"] <= seen[-1]["stimuli"]:
                pass
            seen.append(now)
        ready = await service.http.get("/health/ready")
        assert ready.status_code == 503
        assert any("no process projects the view stimuli" in each for each in ready.json()["problems"])
    async with serving(tmp_path, log=MemoryLog(broker)) as service:
        await service.get("/health/ready", wait=WAIT_S)
        while set((await lags(service)).values()) != {0}:
            pass
