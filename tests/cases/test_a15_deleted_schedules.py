"""A15: schedules that somebody deleted behind the engine's back are there again after one pass, and the drift is told.

What is shown is the table that occurrences are to come from; nothing fires yet.
"""

from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.api.reconciling import index, reconciler, settled
from tests.api.service import WAIT_S, serving
from tests.cases.offers import cron, definition, offers, published
from tests.support import tampering

pytestmark = pytest.mark.cases


async def test_three_of_five_schedules_that_were_deleted_are_back_after_one_pass_and_counted(tmp_path: Path) -> None:
    """Proves: PRJ-05."""
    async with serving(tmp_path) as service:
        await service.get("/health/ready", wait=WAIT_S)
        for number in range(5):
            await published(service, definition(f"report-{number}", cron(f"{number} * * * *")))
        await settled(service)
        with offers(tmp_path) as offered:
            before = offered.schedules("default")
            gone = "DELETE FROM schedules WHERE expression < '3'"
            assert (len(before), tampering.change(index(service.engine), gone)) == (5, 3)
            assert len(offered.schedules("default")) == 2
            await reconciler(service).sweep()
            await settled(service)
            assert offered.schedules("default") == before
        assert await _drift(service.http) == 3


async def _drift(http: httpx.AsyncClient) -> float:
    """The sum over all ways to differ."""
    families = text_string_to_metric_families((await http.get("/metrics")).text)
    return sum(each.value for one in families for each in one.samples if each.name == "interlock_drift_rows_total")
