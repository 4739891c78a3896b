"""B2: a republish replaces the schedule of a trigger that changed, and leaves alone one that did not.

What is shown here is claims and the schedules that are offered. That an occurrence comes at its old time after an
identical republish is shown where occurrences fire, which is not yet: its name there is (slot, claim, instant), and of
these slot and claim are shown here to stay as they were.
"""

from pathlib import Path

import pytest

from tests.api.service import WAIT_S, serving
from tests.cases.offers import cron, definition, event, offers, published

pytestmark = pytest.mark.cases


async def test_only_the_new_cron_is_left_after_a_cron_was_changed(tmp_path: Path) -> None:
    """Proves: PUB-03, TRG-05."""
    async with serving(tmp_path) as service:
        await service.get("/health/ready", wait=WAIT_S)
        await published(service, definition("report", cron("0 * * * *")))
        looked = await service.post("/v1/preflight", {"document": definition("report", cron("0 */3 * * *"))})
        assert [each["claim"] for each in looked["removed"]] == ["cron:0 * * * * UTC"]
        second = await published(service, definition("report", cron("0 */3 * * *")))
        with offers(tmp_path) as index:
            [schedule] = index.schedules("default")
            assert (schedule.publication_id, schedule.expression) == (second["publicationId"], "0 */3 * * *")
        emptied = await service.post("/v1/unpublish", {"definition": "report", "wait": WAIT_S})
        third = await published(service, definition("report", event("report.asked")))
        assert third["revision"] == emptied["revision"] + 1
        with offers(tmp_path) as index:
            assert index.schedules("default") == ()


async def test_an_identical_republish_retains_the_claim_that_names_its_occurrences(tmp_path: Path) -> None:
    """Proves: PUB-09, TRG-05."""
    text = definition("report", cron("*/5 * * * *"), {"type": "timer", "every": "10m"})
    async with serving(tmp_path) as service:
        await service.get("/health/ready", wait=WAIT_S)
        first = await published(service, text)
        with offers(tmp_path) as index:
            before = {(each.slot_id, each.claim) for each in index.schedules("default")}
        looked = await service.post("/v1/preflight", {"document": text})
        assert (looked["added"], looked["removed"], len(looked["retained"])) == ([], [], 2)
        second = await published(service, text)
        assert second["artifactId"] == first["artifactId"]
        with offers(tmp_path) as index:
            after = index.schedules("default")
            assert {(each.slot_id, each.claim) for each in after} == before
            assert {each.publication_id for each in after} == {second["publicationId"]}
