"""Health: it says what is so."""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from interlock.log.faults import LANDS, SEEN, Answer, AskOutcome, SendOutcome
from interlock.log.memory import MemoryLog
from interlock.log.port import Shard
from interlock.processors.reconciler import Reconciler
from interlock.projections.store import Store, StoreAway
from tests.api.service import WAIT_S, Absence, Service, document, ready, serving


async def test_a_process_is_ready_once_all_is_there_and_says_what_is_missing_before(tmp_path: Path) -> None:
    """Proves: PRJ-09."""
    async with serving(tmp_path) as service:
        first = await service.http.get("/health/ready")
        assert first.status_code == 503
        assert first.json()["ok"] is False
        assert first.json()["problems"]
        assert await service.get("/health/ready", wait=WAIT_S) == {
            "ok": True,
            "problems": [],
            "roles": ["publishing", "routing", "executions", "projector", "reconciler", "api"],
        }


async def test_a_process_of_the_api_alone_is_not_ready_without_views(tmp_path: Path) -> None:
    async with serving(tmp_path, roles=("api",)) as service:
        answer = await service.http.get("/health/ready", params={"wait": 0.2})
        assert answer.status_code == 503
        assert any("view slots" in problem for problem in answer.json()["problems"])
        assert (await service.http.get("/health/live")).status_code == 200


async def test_a_log_that_is_away_makes_a_process_unready_and_not_dead(service: Service) -> None:
    service.log.away = True
    ready = await service.http.get("/health/ready")
    assert ready.status_code == 503
    assert any("log" in problem for problem in ready.json()["problems"])
    assert (await service.http.get("/health/live")).status_code == 200
    service.log.away = False
    assert (await service.http.get("/health/ready", params={"wait": WAIT_S})).status_code == 200


async def test_what_stands_still_until_somebody_acts_makes_a_process_dead(service: Service) -> None:
    service.engine.replica.fault = "expected an event, found none"
    answer = await service.http.get("/health/live")
    assert answer.status_code == 503
    assert answer.json()["problems"] == ["replica of publishing: expected an event, found none"]


async def test_a_part_that_is_cancelled_or_returns_although_the_process_goes_on_makes_it_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def returns(*_: object) -> None:
        """Ends as nothing may."""

    monkeypatch.setattr(Reconciler, "run", returns)
    async with ready(tmp_path) as service:
        (cancelled,) = (each for each in asyncio.all_tasks() if each.get_name() == "preparation of triggers")
        cancelled.cancel()
        await asyncio.wait([cancelled])
        answer = await service.http.get("/health/live")
        assert answer.status_code == 503
        ends = ["reconciler: it has returned", "preparation of triggers: it was cancelled"]
        assert [each.partition(",")[0] for each in answer.json()["problems"]] == ends
        assert "reconciler has ended" in caplog.text
        assert "preparation of triggers has ended" in caplog.text


async def test_a_view_that_can_not_be_written_makes_a_process_unready_and_not_dead(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers, and falls behind meanwhile."""

    def full(self: Store, *_: object, **__: object) -> None:
        raise StoreAway("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "transact", full)
        await service.post("/v1/publish", {"document": document(), "wait": 0}, 202)
        while (answer := await service.http.get("/health/ready")).status_code == 200:
            await service.engine.views["slots"].changed(1.0)
        assert any("waits: database or disk is full" in problem for problem in answer.json()["problems"])
        assert (await service.http.get("/health/live")).status_code == 200
    assert (await service.http.get("/health/ready", params={"wait": WAIT_S})).status_code == 200


async def test_views_that_are_deleted_under_a_process_make_it_dead_and_a_start_makes_them_anew(tmp_path: Path) -> None:
    """Proves: PRJ-06."""
    async with ready(tmp_path) as service:
        shutil.rmtree(tmp_path / "views")
        answer = await service.http.get("/health/live")
        assert answer.status_code == 503
        assert all("start the process again, which makes it anew" in problem for problem in answer.json()["problems"])
        assert len(answer.json()["problems"]) == len(service.engine.views)
        # What answers candidates reads such a file too; it must not end for it, and not answer.
        pending = await service.post("/v1/publish", {"document": document(), "wait": 1}, 202)
        assert pending["status"] == "pending"
        assert len((await service.http.get("/health/live")).json()["problems"]) == len(service.engine.views)
    async with ready(tmp_path) as service:
        assert (await service.http.get("/health/live")).status_code == 200


class FullForTurns(Absence):
    """A log where an opening lands, for it is small, and what a turn of routing appends doesn't."""

    def on_send(self, shard: Shard, batch: object) -> SendOutcome:
        """Refuses the turns of routing for the time being, or lands."""
        assert isinstance(batch, Sequence)
        turn = "journal" in shard.topic and "routing" in shard.topic and len(cast("Sequence[object]", batch)) > 1
        return SendOutcome(landings_s=(), answer=Answer.REFUSED) if self.away and turn else LANDS

    def on_ask(self, shard: Shard) -> AskOutcome:
        """Reads go on."""
        return SEEN


async def test_a_shard_that_can_not_write_is_told_also_while_it_opens_again_and_again(tmp_path: Path) -> None:
    log = FullForTurns()
    async with ready(tmp_path, MemoryLog(faults=log)) as service, asyncio.timeout(WAIT_S):
        log.away = True
        await service.emit()
        while (answer := await service.http.get("/health/ready")).status_code == 200:
            pass
        for _ in range(50):
            answer = await service.http.get("/health/ready")
            assert answer.status_code == 503
            assert any("shard routing/" in each and "can't write" in each for each in answer.json()["problems"])
        log.away = False
        assert (await service.http.get("/health/ready", params={"wait": WAIT_S})).status_code == 200
