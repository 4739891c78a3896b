"""Events that come at any moment around the wait that they are for, on the real program: each run is resumed once, by
what may resume it, and by nothing else. On both logs."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

import pytest

from interlock.sdk.types import HistoryEntry, RunDetail, StimulusDetail, Wait
from tests.support.installation import BOTH_LOGS, Installation, id_of, install, stimulus, until

pytestmark = pytest.mark.acceptance

APP = "tests.support.errands"
SENT, SIGNED = "parcel.sent", "parcel.signed"
SKEW_MS = 400
"""By how much clocks may differ: what was committed so little after an event arrived counts as before it."""


@pytest.fixture(scope="module", params=BOTH_LOGS)
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A program in which parcels wait for being signed for."""
    folder = tmp_path_factory.mktemp("waits")
    made = install(request.param, request, folder, MAX_CLOCK_SKEW_MS=str(SKEW_MS))
    try:
        made.start(APP)
        made.publish(f"{APP}:parcels")
        made.publish(f"{APP}:echoes")
        yield made
    finally:
        made.close()


def sent(parcel: str, not_before_ms: int = 0, key: str = "") -> bytes:
    """A parcel is on its way; it waits from `not_before_ms` on."""
    return stimulus(SENT, {"parcel_id": parcel, "not_before_ms": not_before_ms}, key or f"sent-{parcel}", parcel)


def signed(parcel: str, name: str, key: str = "", **more: object) -> bytes:
    """Somebody signs for a parcel; without `ttl` among `more` only where it waits already."""
    return stimulus(SIGNED, {"by": name}, key or f"signed-{parcel}", parcel, **more)


def test_an_event_with_a_time_to_live_resumes_its_run_once_whenever_it_comes(installation: Installation) -> None:
    """Proves: STM-05, BKM-03, STM-04

    Events are written up to six writes before and after what starts their runs, by the topic and by HTTP, some twice.
    """
    chance = random.Random(3)
    parcels = [f"any-{number}" for number in range(52)]
    writes: list[tuple[float, str, bytes]] = []
    for slot, parcel in enumerate(parcels):
        # Half a write aside, so that no two are at one moment.
        distance = slot % 13 - 6 + 0.5
        writes.append((slot, parcel, sent(parcel)))
        writes.append((slot + distance, parcel, signed(parcel, parcel, ttl="1h")))
        if slot % 4 == 0:
            writes.append((slot + chance.uniform(-6, 6), parcel, signed(parcel, parcel, ttl="1h")))
    for number, (_, _, value) in enumerate(sorted(writes)):
        if number % 3 == 0:
            installation.client.emit_json(value)
        else:
            installation.outside.write(installation.topic("stimuli"), number % 2, [value])

    late = 0
    for parcel in parcels:
        run = installation.ended(SENT, f"sent-{parcel}", parcel)
        assert (run.run.status, run.run.output) == ("completed", {"by": parcel})
        event = installation.routed(SIGNED, f"signed-{parcel}", parcel)
        [resume] = event.resumes
        assert (resume.execution_id, resume.declined) == (run.run.execution_id, False)
        assert installation.types(f"execution:{run.run.execution_id}").count("executions.BookmarkConsumed") == 1
        late += resume.late
    assert late > 0, "expected some that came before their wait was registered"


def test_without_a_time_to_live_what_came_before_the_wait_does_not_resume_it_and_what_comes_after_does(
    installation: Installation,
) -> None:
    """Proves: STM-05. The event was routed before what starts the run was even written."""
    for parcel, by_http in (("late-topic", False), ("late-http", True)):
        before, after = (signed(parcel, word, f"{parcel}-{word}") for word in ("too early", "in time"))
        _emit(installation, before, by_http=by_http)
        early = installation.routed(SIGNED, f"{parcel}-too early", parcel)
        assert early.stimulus.outcome == "unmatched"
        not_before_ms = early.stimulus.arrived_at_ms + SKEW_MS + 1
        _emit(installation, sent(parcel, not_before_ms), by_http=by_http)
        run, wait = _waiting(installation, parcel)
        assert wait.since_ms >= not_before_ms
        # Registering is where they would have met.
        assert installation.types(_stream(run, wait)) == ["routing.WaitRegistered"]

        _emit(installation, after, by_http=by_http)
        assert installation.ended(SENT, f"sent-{parcel}", parcel).run.output == {"by": "in time"}
        met = [installation.routed(SIGNED, f"{parcel}-{word}", parcel) for word in ("too early", "in time")]
        assert [[(each.execution_id, each.late) for each in one.resumes] for one in met] == [
            [],
            [(run.run.execution_id, False)],
        ]
        assert [one.stimulus.outcome for one in met] == ["unmatched", "resumed"]
    unmatched = installation.client.stimuli(outcome="unmatched", name=SIGNED).items
    assert {each.idempotency_key for each in unmatched} >= {"late-topic-too early", "late-http-too early"}


def test_around_the_boundary_the_log_s_times_alone_decide(installation: Installation) -> None:
    """Proves: STM-05

    Parcels that wait from around the last instant on at which the event before them may still meet them.
    """
    parcels = {f"edge-{number}": 10 * number - 100 for number in range(20)}
    for parcel, later_ms in parcels.items():
        installation.client.emit_json(signed(parcel, parcel))
        arrived_ms = installation.routed(SIGNED, f"signed-{parcel}", parcel).stimulus.arrived_at_ms
        value = sent(parcel, arrived_ms + SKEW_MS + later_ms)
        installation.outside.write(installation.topic("stimuli"), 0, [value])
    met: Counter[bool] = Counter()
    for parcel in parcels:
        event = installation.routed(SIGNED, f"signed-{parcel}", parcel)
        [start] = installation.routed(SENT, f"sent-{parcel}", parcel).starts
        registered, *rest = _wait_events(installation, start.execution_id)
        committed_ms = cast("dict[str, Any]", registered.data)["committed_at_ms"]
        expected = committed_ms <= event.stimulus.arrived_at_ms + SKEW_MS
        assert [each.type for each in rest] == ["routing.WaitTaken"] * expected, (parcel, committed_ms, event)
        met[expected] += 1
    assert met[False] > 0, "expected some that came too late"


def test_an_event_for_one_ends_at_the_first_wait_and_one_for_all_meets_each(installation: Installation) -> None:
    """Proves: STM-05"""
    parcel = "shared"
    keys = [f"{parcel}-{number}" for number in range(3)]
    for key in keys:
        installation.client.emit_json(sent(parcel, key=key))
        # In turn: an event for one goes to the wait that was registered first.
        _waiting(installation, parcel, key)
    _emit(installation, signed(parcel, "first", "for-one", ttl="1h", deliver="one"), by_http=False)
    assert installation.ended(SENT, keys[0], parcel).run.output == {"by": "first"}
    assert len(installation.routed(SIGNED, "for-one", parcel).resumes) == 1
    _emit(installation, signed(parcel, "all", "for-all"), by_http=True)
    for key in keys[1:]:
        assert installation.ended(SENT, key, parcel).run.output == {"by": "all"}
    for_all = installation.routed(SIGNED, "for-all", parcel)
    assert len(for_all.resumes) == 2
    # The one for one has ended: another wait does not get it, though its hour is not over.
    installation.client.emit_json(sent(parcel, for_all.stimulus.arrived_at_ms + SKEW_MS + 1, key="behind"))
    run, wait = _waiting(installation, parcel, "behind")
    assert installation.types(_stream(run, wait)) == ["routing.WaitRegistered"]


def test_an_event_never_resumes_the_run_that_it_starts(installation: Installation) -> None:
    """Proves: STM-02. A call starts a run that waits for a call of that very name, and lives for an hour: the run that
    the first one starts waits until the second one comes, and the second one's is resumed by the first."""
    calls = [stimulus("echo.called", {"parcel_id": "echo", "key": key}, key, "echo", ttl="1h") for key in ("a", "b")]
    _emit(installation, calls[0], by_http=False)
    [start] = installation.routed("echo.called", "a", "echo").starts
    run = installation.becomes(start.execution_id, "waiting")
    assert run.wait is not None
    stream = _stream(run, run.wait)
    until(lambda: installation.types(stream), "the registration of the wait")
    assert installation.types(stream) == ["routing.WaitRegistered"]

    _emit(installation, calls[1], by_http=True)
    first, second = (installation.ended("echo.called", key, "echo").run for key in ("a", "b"))
    assert (first.output, second.output) == ({"parcel_id": "echo", "key": "b"}, {"parcel_id": "echo", "key": "a"})
    resumed = [installation.routed("echo.called", key, "echo").resumes for key in ("a", "b")]
    assert [[each.execution_id for each in one] for one in resumed] == [[second.execution_id], [first.execution_id]]


def test_a_time_to_live_that_is_over_is_recorded_and_meets_nothing_later(installation: Installation) -> None:
    """Proves: STM-05"""
    parcel = "expired"
    _emit(installation, signed(parcel, "gone", ttl="50ms"), by_http=False)
    gone = _once(installation, "expired", parcel)
    kept_until_ms = gone.stimulus.arrived_at_ms + 50
    assert gone.stimulus.kept_until_ms == kept_until_ms
    assert gone.stimulus.expired_at_ms is not None
    assert gone.stimulus.expired_at_ms >= kept_until_ms
    expired = installation.told("stimuli", "list", "--outcome", "expired")["items"]
    assert id_of(SIGNED, f"signed-{parcel}", parcel) in {each["stimulusId"] for each in expired}
    installation.client.emit_json(sent(parcel, gone.stimulus.arrived_at_ms + SKEW_MS + 1))
    run, wait = _waiting(installation, parcel)
    assert installation.types(_stream(run, wait)) == ["routing.WaitRegistered"]


def test_a_wait_outlives_a_kill_and_what_came_meanwhile_resumes_it(installation: Installation) -> None:
    """Proves: STM-05, BKM-03, CHK-02 (what a crash stranded is delivered)."""
    parcels = [f"killed-{number}" for number in range(20)]
    for number, parcel in enumerate(parcels):
        installation.outside.write(installation.topic("stimuli"), number % 2, [sent(parcel)])
    # Some wait, some have not been heard of.
    installation.kill()
    for number, parcel in enumerate(parcels):
        installation.outside.write(installation.topic("stimuli"), number % 2, [signed(parcel, parcel, ttl="1h")] * 2)
    installation.start(APP)
    for parcel in parcels:
        run = installation.ended(SENT, f"sent-{parcel}", parcel)
        assert run.run.output == {"by": parcel}
        types = Counter(installation.types(f"execution:{run.run.execution_id}"))
        assert types["executions.BookmarkConsumed"] == types["executions.ExecutionCompleted"] == 1
        assert len(installation.routed(SIGNED, f"signed-{parcel}", parcel).resumes) == 1


# ---- looking ---------------------------------------------------------------------------------------------------------


def _emit(installation: Installation, value: bytes, *, by_http: bool) -> None:
    if by_http:
        installation.client.emit_json(value)
    else:
        installation.outside.write(installation.topic("stimuli"), 1, [value])


def _waiting(installation: Installation, parcel: str, key: str = "") -> tuple[RunDetail, Wait]:
    """The run of a parcel, once its wait is registered."""
    [start] = installation.routed(SENT, key or f"sent-{parcel}", parcel).starts
    run = installation.becomes(start.execution_id, "waiting")
    assert run.wait is not None
    stream = _stream(run, run.wait)
    until(lambda: installation.types(stream), f"the wait of {parcel}")
    return run, run.wait


def _wait_events(installation: Installation, execution_id: str) -> tuple[HistoryEntry, ...]:
    """What happened to the only wait of a run, once it is registered."""
    run = f"execution:{execution_id}"
    until(lambda: "executions.BookmarkCreated" in installation.types(run), f"a wait of {run}")
    events = installation.client.history(run).items
    [created] = [each for each in events if each.type == "executions.BookmarkCreated"]
    stream = f"wait:{execution_id}:{cast('dict[str, Any]', created.data)['bookmark_id']}"
    until(lambda: installation.types(stream), f"the registration of {stream}")
    return installation.client.history(stream).items


def _stream(run: RunDetail, wait: Wait) -> str:
    return f"wait:{run.run.execution_id}:{wait.bookmark_id}"


def _once(installation: Installation, outcome: str, parcel: str) -> StimulusDetail:
    """The event that signs for a parcel, once it has come to this."""
    found = installation.routed(SIGNED, f"signed-{parcel}", parcel)
    while found.stimulus.outcome != outcome:
        found = installation.client.stimulus(found.stimulus.stimulus_id, wait_s=30, seen=found.mark)
    return found
