"""Health: it says what is so."""

from pathlib import Path

from tests.api.service import WAIT_S, Service, serving


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
            "roles": ["publishing", "routing", "executions", "projector", "api"],
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
