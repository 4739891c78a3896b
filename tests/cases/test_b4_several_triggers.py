"""B4: all triggers of one workflow are there side by side.

The event is shown to start a run. That a request and an occurrence start one is shown where endpoints serve and
schedules fire, which is not yet; here they have their bindings, their claims, a route and a schedule.
"""

from pathlib import Path

import pytest

from tests.api.service import WAIT_S, serving
from tests.cases.offers import cron, definition, event, http, offers, published

pytestmark = pytest.mark.cases


async def test_endpoint_cron_and_event_of_one_workflow_have_a_binding_each(tmp_path: Path) -> None:
    """Proves: TRG-01, TRG-05."""
    text = definition("orders", http("/orders"), cron("0 6 * * *"), event("order.placed"))
    async with serving(tmp_path) as service:
        await service.get("/health/ready", wait=WAIT_S)
        looked = await service.post("/v1/preflight", {"document": text})
        assert {each["claim"]: each["cardinality"] for each in looked["added"]} == {
            "http:POST /orders": "exclusive",
            "cron:0 6 * * * UTC": "fan-out",
            "event:order.placed": "fan-out",
        }
        found = await published(service, text)
        with offers(tmp_path) as index:
            bindings = index.bindings(found["publicationId"])
            assert {each.type for each in bindings} == {"HttpEndpoint", "Cron", "Event"}
            assert {each.state for each in bindings} == {"active"}
            [route], [schedule] = index.routes("default"), index.schedules("default")
        assert (route.method, route.template, schedule.expression) == ("POST", "/orders", "0 6 * * *")
        assert {route.publication_id, schedule.publication_id} == {found["publicationId"]}
        run = await service.started(name="order.placed")
        shown = await service.get(f"/v1/runs/{run}")
        assert shown["run"]["publicationId"] == found["publicationId"]
