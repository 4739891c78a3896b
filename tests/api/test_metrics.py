"""`/metrics` tells what is so, and leaves out what isn't known."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from interlock.api.probe import create_probe
from interlock.log.faults import LANDS, Answer, SendOutcome
from interlock.log.port import Shard
from tests.api.reconciling import index, reconciler, settled
from tests.api.service import WAIT_S, Service, document, serving
from tests.support import tampering

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "operating.md").read_text()


Told = dict[str, dict[tuple[str, ...], float]]
VIEW = "trigger-index"


def of(text: str) -> Told:
    """Name of a sample → the values of its labels, in the order of their names → its value."""
    found: Told = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation, f"expected {family.name} to say what it means"
        for sample in family.samples:
            found.setdefault(sample.name, {})[(*sample.labels.values(),)] = sample.value
    return found


async def told(service: Service) -> Told:
    answer = await service.http.get("/metrics")
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, "text/plain")
    return of(answer.text)


async def once(service: Service, holds: Callable[[Told], bool]) -> Told:
    """What is told once this holds."""
    async with asyncio.timeout(WAIT_S):
        while True:
            found = await told(service)
            if holds(found):
                return found
            await asyncio.sleep(0.01)


async def test_rows_that_were_found_wrong_are_counted_by_how_they_differ(service: Service) -> None:
    """And what was repaired of them is told as the journals say.

    Proves: PRJ-05 (a metric counts the drift)."""
    lost = [(await service.publish(document(name)))["publicationId"] for name in ("one", "two", "three")]
    await settled(service)
    before = await told(service)
    assert set(before["interlock_drift_rows_total"].values()) == {0.0}
    changed = tampering.change(
        index(service.engine),
        *(f"DELETE FROM bindings WHERE publication_id = '{each}'" for each in lost),
        f"UPDATE candidates SET slot_id = 'another' WHERE publication_id = '{lost[0]}'",
    )
    assert changed == 4
    await reconciler(service).sweep()
    found = await told(service)
    assert found["interlock_drift_rows_total"] == {
        ("missing", VIEW): 3,
        ("foreign", VIEW): 0,
        ("flipped", VIEW): 0,
        ("changed", VIEW): 1,
    }
    passes = "interlock_reconciler_passes_total"
    assert found[passes][()] == before[passes][()] + 1
    assert before["interlock_recorded_repairs_total"] == before["interlock_repaired_rows_total"] == {(VIEW,): 0}
    recorded = await once(service, lambda found: found["interlock_recorded_repairs_total"] == {(VIEW,): 3})
    assert recorded["interlock_repaired_rows_total"] == {(VIEW,): 4}


async def test_shards_and_views_of_the_process_are_told_and_the_guide_knows_each_name(service: Service) -> None:
    """Proves: PRJ-08 (how far a view is behind)."""
    await service.publish()
    await service.started()
    found = await told(service)
    shards = {("publishing", "0"), *(("routing", str(each)) for each in range(2))}
    assert shards <= found["interlock_shard_open"].keys() == found["interlock_undelivered_intents"].keys()
    assert found["interlock_oldest_undelivered_intent_age_seconds"].keys() == found["interlock_shard_open"].keys()
    assert set(found["interlock_shard_open"].values()) == {1.0}
    assert set(found["interlock_shard_takeovers_total"].values()) == {1.0}
    views = {(view,) for view in service.engine.views}
    assert found["interlock_view_live"] == dict.fromkeys(views, 1.0)
    assert found["interlock_view_rebuilding"] == dict.fromkeys(views, 0.0)
    assert found["interlock_view_lag_records"].keys() == views
    assert (found["interlock_faults"][()], found["interlock_waiting"][()], found["interlock_unserved_runs"][()]) == (
        (0, 0, 0)
    )
    described = set(re.findall(r"^\| `(interlock_\w+)", GUIDE, re.MULTILINE))
    assert described == {name for name in found if name.startswith("interlock_")}


async def test_what_is_not_known_is_left_out_and_what_stands_still_is_counted(service: Service) -> None:
    service.log.away = True
    service.engine.replica.fault = "expected an event, found none"
    found = await told(service)
    assert "interlock_view_lag_records" not in found
    assert found["interlock_faults"][()] == 1
    assert found["process_resident_memory_bytes"][()] > 0


async def test_what_is_not_delivered_grows_old_until_it_is(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves: CHK-02 (the age of the oldest undelivered intent is a metric)."""
    await service.publish()
    topic = service.engine.topics.inbox("executions", 0).topic

    def refuses(shard: Shard, batch: object) -> SendOutcome:
        return SendOutcome(landings_s=(), answer=Answer.REFUSED) if shard.topic == topic else LANDS

    def age(found: Told) -> float:
        return sum(found["interlock_oldest_undelivered_intent_age_seconds"].values())

    assert age(await once(service, lambda found: not sum(found["interlock_undelivered_intents"].values()))) == 0
    with monkeypatch.context() as patched:
        patched.setattr(service.log, "on_send", refuses)
        await service.emit()
        first = await once(service, lambda found: age(found) > 0)
        later = await once(service, lambda found: age(found) > age(first))
        assert sum(later["interlock_undelivered_intents"].values()) == 1
    await once(service, lambda found: not sum(found["interlock_undelivered_intents"].values()) and age(found) == 0)


async def test_what_a_view_can_not_take_in_grows_old_until_it_does(service: Service) -> None:
    """Proves: PRJ-08."""
    await service.publish()

    def age(found: Told) -> float:
        return found["interlock_view_lag_seconds"]["stimuli",]

    await once(service, lambda found: age(found) == 0)
    with tampering.locked(service.engine.settings.data / "views" / "stimuli.sqlite"):
        await service.emit()
        first = await once(service, lambda found: age(found) > 0)
        await once(service, lambda found: age(found) > age(first))
    await once(service, lambda found: age(found) == 0)


async def test_a_view_that_can_not_be_read_takes_nothing_else_away(service: Service) -> None:
    await service.publish()
    for file in (service.engine.settings.data / "views").glob("slots.*"):
        file.unlink()
    service.app.state.context.queries.close()
    found = await told(service)
    assert "interlock_recorded_repairs_total" not in found
    assert found["interlock_faults"][()] == 1
    assert found["interlock_drift_rows_total"].keys() >= {("missing", VIEW)}


async def test_a_process_without_the_api_tells_of_itself_alone(tmp_path: Path) -> None:
    async with serving(tmp_path, roles=("executions", "reconciler")) as service:
        transport = httpx.ASGITransport(create_probe(service.engine))
        async with httpx.AsyncClient(transport=transport, base_url="http://probe") as probe:
            assert (await probe.get("/health/ready", params={"wait": WAIT_S})).status_code == 200
            found = of((await probe.get("/metrics")).text)
    assert {context for context, _ in found["interlock_shard_open"]} == {"executions"}
    assert "interlock_view_live" not in found
    assert found["interlock_drift_rows_total"][("missing", VIEW)] == 0
    assert "interlock_recorded_repairs_total" not in found
