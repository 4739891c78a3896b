"""E15: an installation without a process that can project says so, and is whole as soon as there is one; and a process
whose work waits for too long says that it isn't ready.

What is left to do of this case: work that goes only where its code is comes with workers. That a projector which dies
is noticed, and its views answer nothing wrong, is in `tests/acceptance/test_dead_projector.py`.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.runtime.roles import ROLES, Role
from tests.api.service import WAIT_S, Service, document, serving
from tests.support import tampering
from tests.support.held_up import HeldUp

pytestmark = pytest.mark.cases

UNPROJECTED: tuple[Role, ...] = tuple(role for role in ROLES if role != "projector")
BACKLOG_S = 0.2


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


async def unready(service: Service, holds: Callable[[str], bool]) -> None:
    """Returns once `/health/ready` is 503 for a problem of which this holds."""
    while True:
        answer = await service.http.get("/health/ready")
        if any(holds(each) for each in answer.json()["problems"]):
            assert answer.status_code == 503
            return


async def test_a_process_whose_view_stands_for_too_long_is_not_ready_until_it_goes_on(tmp_path: Path) -> None:
    """Proves: PRJ-08."""
    async with serving(tmp_path, backlog_max_s=BACKLOG_S) as service:
        await service.get("/health/ready", wait=WAIT_S)
        await service.publish(document())
        run = await service.started()
        with tampering.locked(tmp_path / "views" / "stimuli.sqlite"):
            await service.emit(data={"id": "o-2"})
            await unready(service, lambda each: "view stimuli has not taken in a record of" in each)
            assert (await service.get("/v1/projections/stimuli"))["lagMs"] > BACKLOG_S * 1000
            # It is alive, and what other views answer is up to date.
            assert (await service.http.get("/health/live")).status_code == 200
            assert (await service.get(f"/v1/runs/{run}", wait=WAIT_S))["run"]["executionId"] == run
        assert (await service.get("/health/ready", wait=WAIT_S))["ok"]


async def test_a_process_whose_intents_are_not_delivered_for_too_long_is_not_ready_until_they_are(
    tmp_path: Path,
) -> None:
    """Proves: PRJ-08."""
    held = HeldUp()
    async with serving(tmp_path, log=MemoryLog(faults=held), backlog_max_s=BACKLOG_S) as service:
        await service.get("/health/ready", wait=WAIT_S)
        await service.publish(document())
        held.topics = "executions.inbox"
        stimulus = await service.emit()
        await unready(service, lambda each: each.startswith("routing/") and "has not delivered an intent of" in each)
        held.topics = "none"
        assert (await service.get("/health/ready", wait=WAIT_S))["ok"]
        [start] = (await service.get(f"/v1/stimuli/{stimulus}", wait=WAIT_S))["starts"]
        await service.get(f"/v1/runs/{start['executionId']}", wait=WAIT_S, seen="nothing")
