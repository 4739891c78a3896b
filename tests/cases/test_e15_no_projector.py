"""E15: an installation without a process that can project says so, and is whole as soon as there is one.

What is left to do of this case: work that goes only where its code is comes with workers, and an age of what waits with
the metrics. That a projector which dies is noticed, and its views answer nothing wrong, is in
`tests/acceptance/test_dead_projector.py`.
"""

from pathlib import Path

import pytest

from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.runtime.roles import ROLES, Role
from tests.api.service import WAIT_S, document, serving

pytestmark = pytest.mark.cases

UNPROJECTED: tuple[Role, ...] = tuple(role for role in ROLES if role != "projector")


async def test_what_is_missing_is_named_and_comes_with_the_next_process(tmp_path: Path) -> None:
    """Proves: PRJ-08, PRJ-09."""
    broker = MemoryBroker()
    async with serving(tmp_path, log=MemoryLog(broker), roles=UNPROJECTED) as service:
        ready = await service.http.get("/health/ready")
        assert ready.status_code == 503
        assert any("role projector" in each for each in ready.json()["problems"])
        assert (await service.http.get("/health/live")).status_code == 200
        pending = await service.post("/v1/publish", {"document": document(), "wait": 0, "commandId": "c-1"}, 202)
        assert pending["missing"]
        for path in ("/v1/slots/orders/default", "/v1/runs/none", "/v1/stimuli/none", "/v1/slots"):
            answer = await service.http.get(path)
            assert answer.status_code == 503, f"{path}: {answer.text}"
        async with serving(tmp_path, log=MemoryLog(broker), roles=("projector",)):
            assert (await service.get("/health/ready", wait=WAIT_S))["ok"]
            body = {"document": document(), "wait": WAIT_S, "commandId": "c-1"}
            assert (await service.post("/v1/publish", body))["status"] == "active"
            run = await service.started()
            assert (await service.get(f"/v1/runs/{run}"))["run"]["executionId"] == run
