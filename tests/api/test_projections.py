"""How views are, and rebuilding them, in one process and between processes."""

import asyncio
import shutil
from pathlib import Path

import pytest

from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.runtime.rebuilds import RebuildFiles, RebuildReport
from tests.api.service import WAIT_S, Service, document, ready, serving
from tests.support import tampering


async def test_every_view_says_state_lag_and_positions(service: Service) -> None:
    """Proves: PRJ-08."""
    await service.publish()
    views = (await service.get("/v1/projections"))["items"]
    assert {each["view"] for each in views} == {"trigger-index", "slots", "stimuli", "executions", "history"}
    assert all((each["state"], each["heldHere"], each["error"]) == ("live", True, "") for each in views)
    slots = next(each for each in views if each["view"] == "slots")
    assert [shard["topic"] for shard in slots["shards"]] == ["interlock.publishing.journal"]
    assert {each["lag"] for each in views} <= set(range(100))


async def test_a_view_that_has_read_everything_has_no_lag_and_one_whose_log_is_away_an_unknown_one(
    service: Service,
) -> None:
    """Proves: PRJ-08."""
    await service.get("/v1/slots", position=(await service.publish())["position"])
    mark = ""
    while (slots := await service.get("/v1/projections/slots", wait=1, seen=mark))["lag"] != 0:
        mark = slots["mark"]
    service.log.away = True
    away = await service.get("/v1/projections/slots")
    assert (away["lag"], away["state"], away["shards"][0]["end"]) == (None, "live", None)


async def test_a_rebuild_gives_the_same_rows_and_is_reported(service: Service) -> None:
    """Proves: PRJ-06."""
    await service.publish()
    run_id = await service.started()
    await service.get(f"/v1/runs/{run_id}", wait=WAIT_S)
    asked = await service.post("/v1/projections/executions/rebuild", {"compare": True}, 202)
    status = await service.get("/v1/projections/executions", wait=WAIT_S)
    rebuild = status["rebuild"]
    assert (rebuild["rebuildId"], rebuild["state"], rebuild["message"]) == (asked["rebuildId"], "done", "")
    assert rebuild["replacedDigest"] == rebuild["rebuiltDigest"] != ""
    assert rebuild["appendsDone"] > 0
    assert (await service.get(f"/v1/runs/{run_id}"))["run"]["status"] == "completed"


async def test_a_rebuild_that_is_asked_for_twice_is_one(service: Service) -> None:
    first, second = await asyncio.gather(
        service.post("/v1/projections/slots/rebuild", {}, 202), service.post("/v1/projections/slots/rebuild", {}, 202)
    )
    assert first["rebuildId"] == second["rebuildId"]


async def test_a_rebuild_that_nobody_takes_up_is_told_so_and_done_by_the_next_holder(tmp_path: Path) -> None:
    """Proves: PRJ-06."""
    async with serving(tmp_path, roles=("api",)) as alone:
        asked = await alone.post("/v1/projections/slots/rebuild", {}, 202)
        status = await alone.get("/v1/projections/slots", wait=0.2)
        assert (status["rebuild"]["state"], status["heldHere"]) == ("requested", False)
    async with ready(tmp_path) as holder:
        rebuild = (await holder.get("/v1/projections/slots", wait=WAIT_S))["rebuild"]
        assert (rebuild["rebuildId"], rebuild["state"]) == (asked["rebuildId"], "done")


async def test_a_rebuild_whose_end_was_reported_before_a_crash_is_not_done_again(tmp_path: Path) -> None:
    request = RebuildReport(rebuild_id="r-1", requested_at_ms=1, compare=False)
    files = RebuildFiles(tmp_path / "views", "slots")
    files.ask(request)
    files.report(RebuildReport(rebuild_id="r-1", requested_at_ms=1, compare=False, state="failed", message="once"))
    async with ready(tmp_path) as service:
        mark = ""
        while files.request() is not None:
            mark = (await service.get("/v1/projections/slots", wait=0.1, seen=mark))["mark"]
        rebuild = (await service.get("/v1/projections/slots"))["rebuild"]
        assert (rebuild["state"], rebuild["message"]) == ("failed", "once")


async def test_a_rebuild_that_was_cut_short_goes_on_in_the_next_process(tmp_path: Path) -> None:
    """Proves: PRJ-06."""
    views, broker = tmp_path / "views", MemoryBroker()
    async with ready(tmp_path, MemoryLog(broker)) as service:
        await service.publish()
    # What a crash in the middle leaves: a second copy beside the one that serves, and the request.
    serving_copy = (views / "slots.sqlite").resolve()
    generation = int(serving_copy.name.split(".")[1])
    shutil.copy(serving_copy, views / f"slots.{generation + 1}.sqlite")
    asked = RebuildFiles(views, "slots").ask(RebuildReport(rebuild_id="r-1", requested_at_ms=1, compare=False))
    async with serving(tmp_path, log=MemoryLog(broker)) as service:
        rebuild = (await service.get("/v1/projections/slots", wait=WAIT_S))["rebuild"]
        assert (rebuild["rebuildId"], rebuild["message"], rebuild["state"]) == (asked.rebuild_id, "", "done")
        assert (views / "slots.sqlite").resolve().name > serving_copy.name


async def test_a_process_of_the_api_alone_answers_from_views_that_another_one_keeps(tmp_path: Path) -> None:
    async with ready(tmp_path) as whole:
        await whole.publish(document())
        async with serving(tmp_path, roles=("api",), log=None) as reader:
            slot = await reader.get("/v1/slots/orders/default")
            assert slot["slot"]["revision"] == 1
            status = await reader.get("/v1/projections/slots")
            assert (status["state"], status["heldHere"]) == ("live", False)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"rebuild_id": "r"}', '{"unknown": 1}'])
def test_a_request_that_cannot_be_read_is_removed(tmp_path: Path, content: str) -> None:
    path = tmp_path / "slots.rebuild.request.json"
    path.write_text(content)
    assert RebuildFiles(tmp_path, "slots").request() is None
    assert not path.exists()


async def test_a_view_is_verified_on_request_and_says_what_differs(service: Service) -> None:
    published = await service.publish()
    await service.get("/v1/slots", at_least=published["atLeast"])
    asked = await service.post("/v1/projections/slots/verify", {}, 202)
    assert (asked["view"], asked["state"]) == ("slots", "requested")
    done = (await service.get("/v1/projections/slots", wait=WAIT_S))["verification"]
    assert (done["verifyId"], done["state"], done["missing"]) == (asked["verifyId"], "done", 0)
    assert done["rows"] > 0
    assert done["appendsDone"] == done["appendsTotal"] > 0

    tampering.change(service.engine.settings.data / "views" / "slots.sqlite", "DELETE FROM slots")
    asked = await service.post("/v1/projections/slots/verify", {}, 202)
    done = (await service.get("/v1/projections/slots", wait=WAIT_S))["verification"]
    assert (done["verifyId"], done["state"], done["missing"]) == (asked["verifyId"], "done", 1)
    assert done["samples"] == [{"table": "slots", "kind": "missing", "key": published["slotId"]}]
    # Nothing was changed by it: what mends the view is a rebuild.
    assert (await service.get("/v1/slots"))["items"] == []
    await service.post("/v1/projections/slots/rebuild", {}, 202)
    await service.get("/v1/projections/slots", wait=WAIT_S)
    assert len((await service.get("/v1/slots"))["items"]) == 1
