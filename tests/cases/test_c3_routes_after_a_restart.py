"""C3: an active route is there after a restart, and until then nobody is told that it isn't.

What stands here is the route table, its slot and the process's word that it is ready. That a request is answered 503
and not 404 meanwhile is shown where endpoints serve, which is not yet.
"""

import shutil
from pathlib import Path

import pytest

from interlock.log.memory import MemoryBroker, MemoryLog
from tests.api.service import WAIT_S, serving
from tests.cases.offers import definition, event, http, indexed, offers, published

pytestmark = pytest.mark.cases


async def test_a_restart_says_warming_up_or_the_route_and_never_that_there_is_none(tmp_path: Path) -> None:
    """Proves: PRJ-06, PRJ-09."""
    text = definition("orders", http("/orders"), event("order.placed"))
    broker = MemoryBroker()
    async with serving(tmp_path, log=MemoryLog(broker)) as service:
        await service.get("/health/ready", wait=WAIT_S)
        found = await published(service, text)
        with offers(tmp_path) as index:
            before = index.routes("default")
    assert [row.template for row in before] == ["/orders"]
    for forgotten in (False, True):  # with its views, and without them
        if forgotten:
            shutil.rmtree(tmp_path / "views")
        async with serving(tmp_path, log=MemoryLog(broker)) as service:
            said: list[int] = []
            while (ready := await service.http.get("/health/ready")).status_code != 200:
                assert ready.status_code == 503, ready.text
                answer = await service.http.get("/v1/slots/orders/default")
                said.append(answer.status_code)
                assert answer.status_code in (200, 503), answer.text
                assert (await service.http.get("/health/live")).status_code == 200
            shown = await service.get("/v1/slots/orders/default", position=found["position"])
            assert shown["authority"]["publication"]["publicationId"] == found["publicationId"]
            await indexed(service, found["position"])
            with offers(tmp_path) as index:
                assert index.routes("default") == before
            run = await service.started(name="order.placed")
            assert (await service.get(f"/v1/runs/{run}"))["run"]["publicationId"] == found["publicationId"]
