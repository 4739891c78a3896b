"""Stimuli and dead letters by HTTP."""

from collections.abc import AsyncGenerator

import pytest

from tests.api.service import WAIT_S, Service, document, record


async def test_a_stimulus_is_taken_routed_and_shown_with_what_it_started(service: Service) -> None:
    """Proves: STM-01."""
    await service.publish()
    identity = await service.emit(data={"id": "o-1"}, correlation="o-1", idempotencyKey="k-1", ttl="PT1H")
    detail = await service.get(f"/v1/stimuli/{identity}", wait=WAIT_S)
    stimulus = detail["stimulus"]
    assert (stimulus["name"], stimulus["data"], stimulus["correlation"], stimulus["idempotencyKey"]) == (
        "order.placed",
        {"id": "o-1"},
        "o-1",
        "k-1",
    )
    assert (stimulus["outcome"], stimulus["origin"]["channel"]) == ("started", "http")
    assert stimulus["keptUntilMs"] == stimulus["arrivedAtMs"] + 3_600_000
    assert len(detail["starts"]) == 1


async def test_a_request_that_is_repeated_is_one_stimulus(service: Service) -> None:
    """Proves: STM-04."""
    await service.publish()
    body = {"type": "Event", "name": "order.placed", "data": {"id": "o-1"}}
    answers = [await service.http.post("/v1/stimuli", json=body, headers={"Idempotency-Key": "r-1"}) for _ in range(3)]
    assert len({answer.json()["stimulusId"] for answer in answers}) == 1
    detail = await service.get(f"/v1/stimuli/{answers[0].json()['stimulusId']}", wait=WAIT_S)
    await service.get(f"/v1/runs/{detail['starts'][0]['executionId']}", wait=WAIT_S)
    # The same shard takes what comes behind them, so whatever they start has started by then.
    run_id = await service.started(data={"id": "o-2"})
    await service.get(f"/v1/runs/{run_id}", wait=WAIT_S)
    assert (await service.get("/v1/counts"))["stimuli"] == {"started": 2}
    assert len((await service.get("/v1/runs"))["items"]) == 2


async def test_a_key_with_other_content_becomes_a_dead_letter_that_shows_none_of_the_first(service: Service) -> None:
    """Proves: STM-04."""
    await service.publish()
    await service.emit(data={"id": "o-1", "secret": "first"}, idempotencyKey="k-1")
    await service.emit(data={"id": "o-2"}, idempotencyKey="k-1")
    await service.get(f"/v1/stimuli/{await service.emit(name='behind')}", wait=WAIT_S)
    counts = await service.get("/v1/counts", wait=0)
    while not (letters := (await service.get("/v1/dead-letters", reason="conflict"))["items"]):
        counts = await service.get("/v1/counts", wait=WAIT_S, seen=counts["mark"])
    detail = await service.get(f"/v1/dead-letters/{letters[0]['deadLetterId']}")
    assert detail["reason"] == "conflict"
    assert "first" not in str(detail)


@pytest.mark.parametrize(
    ("body", "reason", "says"),
    [
        (b"", "unreadable", "empty"),
        (b"\xff\xfe{}", "unreadable", "UTF-8"),
        (b'{"type": "Event", "name": "a"', "unreadable", "line 1"),
        (b'{"type": "Event", "name": "\x00"}', "unreadable", "NUL"),
        (b'{"type": "Event", "name": "a", "data": 1' + b"0" * 5_000 + b"}", "unreadable", "64 bits"),
        (b'{"type": "Event", "name": "a", "data": NaN}', "unreadable", "finite"),
        (b'{"type": "Event", "name": "a", "name": "b"}', "unreadable", "twice"),
        (b"[" * 100_000, "unreadable", "nesting"),
        (b"[]", "invalid", "object"),
        (b'{"name": "a"}', "invalid", "type"),
        (b'{"type": "Event"}', "invalid", "name"),
        (b'{"type": "Webhook", "name": "a"}', "unknown-type", "Event"),
        (b'{"type": "Event", "name": "a", "idempotencykey": "k"}', "invalid", "idempotencyKey"),
        (b'{"type": "Event", "name": "a", "ttl": 3600}', "invalid", "ttl"),
        (b'{"type": "Event", "name": "a", "ttl": "1y"}', "invalid", "ttl"),
        (b'{"type": "Event", "name": "a", "correlation": ""}', "invalid", "correlation"),
    ],
)
async def test_what_is_no_stimulus_is_refused_with_its_reason(
    service: Service, body: bytes, reason: str, says: str
) -> None:
    """Proves: OPS-01."""
    answer = await service.http.post("/v1/stimuli", content=body)
    problem = answer.json()
    assert (answer.status_code, problem["kind"], problem["details"]) == (400, "invalid", {"reason": reason})
    assert says in problem["message"]


@pytest.mark.parametrize("size", [8_388_609, 20_000_000])
async def test_a_stimulus_that_is_too_large_is_refused(service: Service, size: int) -> None:
    body = b'{"type": "Event", "name": "a", "data": "' + b"x" * size + b'"}'
    answer = await service.http.post("/v1/stimuli", content=body)
    assert (answer.status_code, answer.json()["kind"]) == (413, "too-large")


async def test_a_body_without_end_is_not_read_to_its_end(service: Service) -> None:
    sent = 0

    async def chunks() -> AsyncGenerator[bytes, None]:
        nonlocal sent
        for _ in range(1_000):
            sent += 1
            yield b"x" * 65_536

    answer = await service.http.post("/v1/stimuli", content=chunks())
    assert answer.status_code == 413
    assert sent < 200


async def test_a_record_of_the_topic_that_cannot_be_read_is_listed_with_its_origin(service: Service) -> None:
    """Proves: STM-07."""
    log, topics = service.engine.parts.backend.log, service.engine.topics
    counts = await service.get("/v1/counts")
    await log.send(topics.user("stimuli"), [record(b"no json"), record(b'{"type": "Event", "name": "heard"}')])
    while not (await service.get("/v1/stimuli", name="heard"))["items"]:
        counts = await service.get("/v1/counts", wait=WAIT_S, seen=counts["mark"])
    while not (letters := (await service.get("/v1/dead-letters"))["items"]):
        counts = await service.get("/v1/counts", wait=1, seen=counts["mark"])
    origin = letters[0]["origin"]
    assert (letters[0]["reason"], letters[0]["excerpt"]) == ("unreadable", "no json")
    assert (origin["channel"], origin["topic"].partition("@")[0], origin["offset"]) == ("kafka", "interlock.stimuli", 0)


async def test_lists_come_in_pages_that_miss_nothing_and_repeat_nothing(service: Service) -> None:
    for number in range(7):
        await service.get(f"/v1/stimuli/{await service.emit(name=f'n{number}')}", wait=WAIT_S)
    names: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = await service.get("/v1/stimuli", limit=3, **after)
        names += [each["name"] for each in page["items"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert sorted(names) == [f"n{number}" for number in range(7)]


async def test_a_stimulus_that_matches_nothing_is_unmatched_and_listed(service: Service) -> None:
    """Proves: STM-05."""
    identity = await service.emit(name="nobody.asks")
    await service.get(f"/v1/stimuli/{identity}", wait=WAIT_S)
    listed = await service.get("/v1/stimuli", outcome="unmatched")
    assert [each["stimulusId"] for each in listed["items"]] == [identity]


async def test_a_stimulus_that_resumes_says_which_run(service: Service) -> None:
    await service.publish(document(wait="payment.received"))
    run_id = await service.started(data={"id": "o-1"})
    waiting = await service.get(f"/v1/runs/{run_id}")
    while waiting["wait"] is None:
        waiting = await service.get(f"/v1/runs/{run_id}", wait=WAIT_S, seen=waiting["mark"])
    paid = await service.emit(name="payment.received", data={"paid": 1}, correlation="o-1", ttl="1h")
    done = await service.get(f"/v1/runs/{run_id}", wait=WAIT_S)
    assert done["run"]["status"] == "completed"
    resumes = (await service.get(f"/v1/stimuli/{paid}", wait=WAIT_S))["resumes"]
    assert [each["executionId"] for each in resumes] == [run_id]
