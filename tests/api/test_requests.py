"""Requests that are wrong: each is answered with a sentence, and nothing is done."""

from pathlib import Path

import pytest

from interlock.api.app import ENDPOINTS
from tests.api.service import Service, serving

POSTS = ["/v1/preflight", "/v1/publish", "/v1/runs/any/cancel", "/v1/projections/slots/rebuild"]
LISTS = ["/v1/publications", "/v1/stimuli", "/v1/dead-letters", "/v1/runs"]


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"\xff\xfe\x00", "UTF-8"),
        (b"{", "line 1"),
        (b'{"a": "\x00"}', "NUL"),
        (b'{"a": 1' + b"0" * 5_000 + b"}", "64 bits"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b"[1]", "object"),
        (b'"text"', "object"),
        (b'{"unknown": 1}', "unknown"),
    ],
)
async def test_a_body_that_is_no_request_is_invalid(service: Service, path: str, body: bytes, says: str) -> None:
    """Proves: OPS-01."""
    answer = await service.http.post(path, content=body)
    assert (answer.status_code, answer.json()["kind"]) == (400, "invalid")
    assert says in answer.json()["message"] or (says == "unknown" and "document" in answer.json()["message"])


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"document": 1},
        {"document": "{}", "expectRevision": -1},
        {"document": "{}", "expectRevision": "1"},
        {"document": "{}", "expectRevision": 2**60},
        {"document": "{}", "wait": -1},
        {"document": "{}", "wait": 1e9},
        {"document": "{}", "wait": "long"},
        {"document": "{}", "commandId": ""},
        {"document": "{}", "commandId": "a b"},
        {"document": "{}", "commandId": "x" * 201},
        {"document": "{}", "slot": 7},
        {"document": "{}", "shell": ""},
    ],
)
async def test_a_publish_with_a_field_that_is_wrong_is_invalid(service: Service, body: dict[str, object]) -> None:
    answer = await service.http.post("/v1/publish", json=body)
    assert (answer.status_code, answer.json()["kind"]) == (400, "invalid")


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=501",
        "limit=ten",
        "limit=1&limit=2",
        "limit=%D9%A3",
        "after=nonsense",
        "after=1-",
        "after=99999999999999999999-a",
        "limt=3",
    ],
)
async def test_a_list_with_a_parameter_that_is_wrong_is_invalid(service: Service, path: str, query: str) -> None:
    answer = await service.http.get(f"{path}?{query}")
    assert (answer.status_code, answer.json()["kind"]) == (400, "invalid")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/runs?status=done",
        "/v1/runs?unserved=yes",
        "/v1/stimuli?outcome=lost",
        "/v1/dead-letters?reason=bad",
        "/v1/runs/any?wait=nan",
        "/v1/runs/any?wait=61",
        "/v1/slots?position=-1",
        "/v1/history/any?after=x",
    ],
)
async def test_a_parameter_with_a_value_that_is_wrong_is_invalid(service: Service, path: str) -> None:
    answer = await service.http.get(path)
    assert (answer.status_code, answer.json()["kind"]) == (400, "invalid")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/slots/orders/default",
        "/v1/slots/orders",
        "/v1/slots/a/b/c",
        "/v1/publications/none",
        "/v1/stimuli/none",
        "/v1/dead-letters/none",
        "/v1/runs/none",
        "/v1/history/execution:none",
        "/v1/history/0123456789abcdef0123456789abcdef",
        "/v1/history/orders/default",
        "/v1/projections/none",
        "/v1/nothing",
        "/",
    ],
)
async def test_what_is_not_there_is_not_found(service: Service, path: str) -> None:
    answer = await service.http.get(path)
    assert (answer.status_code, answer.json()["kind"]) == (404, "not-found")
    assert answer.json()["message"].startswith("Expected")


async def test_another_method_is_refused_as_json(service: Service) -> None:
    answer = await service.http.delete("/v1/runs")
    assert (answer.status_code, answer.json()["kind"]) == (405, "invalid")


@pytest.mark.parametrize(
    "path", [each.path for each in ENDPOINTS if each.method == "GET" and each.path.startswith("/v1/")]
)
async def test_before_any_view_is_filled_the_answer_is_warming_up_and_never_not_found(
    tmp_path: Path, path: str
) -> None:
    """Proves: PRJ-09."""
    async with serving(tmp_path, roles=("api",)) as service:
        concrete = path.replace("{view}", "slots").replace("{aggregate}", "slot:none")
        answer = await service.http.get(concrete.replace("{", "").replace("}", ""))
        if "projections" in path:
            found = answer.json()
            assert [each["state"] for each in found.get("items", [found])] == ["absent"] * len(
                found.get("items", [found])
            )
        else:
            assert (answer.status_code, answer.json()["kind"]) == (503, "warming-up")
            assert answer.headers["retry-after"]


async def test_a_log_that_is_away_is_unavailable_and_comes_back(service: Service) -> None:
    """Proves: OPS-01."""
    service.log.away = True
    stimulus = {"type": "Event", "name": "order.placed"}
    emitted = await service.http.post("/v1/stimuli", json=stimulus)
    cancelled = await service.http.post("/v1/runs/any/cancel", json={"wait": 1})
    preflight = await service.http.post("/v1/preflight", json={"document": "{}"})
    for answer in (emitted, cancelled, preflight):
        assert (answer.status_code, answer.json()["kind"]) == (503, "unavailable")
        assert answer.headers["retry-after"]
    service.log.away = False
    assert (await service.http.post("/v1/stimuli", json=stimulus)).status_code == 202


async def test_the_path_of_an_empty_id_is_no_list(service: Service) -> None:
    assert (await service.http.get("/v1/runs/")).status_code == 404


@pytest.mark.parametrize(("query", "says"), [({"slot": "blue"}, "definition"), ({"status": "done"}, "superseded")])
async def test_publications_that_no_list_can_show_are_refused(
    service: Service, query: dict[str, str], says: str
) -> None:
    answer = await service.http.get("/v1/publications", params=query)
    assert answer.status_code == 400
    assert says in answer.json()["message"]
