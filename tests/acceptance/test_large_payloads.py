"""Payloads that are larger than the log takes, as users have them: by HTTP, by the command line, out of activities, in
history, through restarts and rebuilds. On both logs, whose batches are 1 MiB."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.sdk import ApiError, Unreachable
from interlock.sdk.types import HistoryEntry
from tests.support.installation import BOTH_LOGS, Installation, install, stimulus, until

pytestmark = pytest.mark.acceptance

APP = "tests.support.errands"
BYTES_MAX = 8 << 20
"""`stimulus_bytes_max` and `output_bytes_max`, unless they are set."""
RECORD_BYTES_MAX = 1 << 20


@pytest.fixture(scope="module", params=BOTH_LOGS)
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A program with errands, which answer what they are asked, and parcels, which wait to be signed."""
    made = install(request.param, request, tmp_path_factory.mktemp("large"))
    try:
        made.start(APP)
        made.publish(f"{APP}:errands")
        made.publish(f"{APP}:parcels")
        made.publish(f"{APP}:hurries")
        yield made
    finally:
        made.close()


def text(size: int) -> str:
    """No two are alike, so that none is another's blob."""
    return os.urandom(size // 2).hex()


def events(installation: Installation, execution_id: str) -> list[HistoryEntry]:
    """The history of a run, page by page."""
    found: list[HistoryEntry] = []
    after: str | None = None
    while True:
        page = installation.client.history(execution_id, after=after)
        found += page.items
        if page.next is None:
            return found
        after = page.next


def test_a_stimulus_of_five_mebibytes_starts_a_run_that_returns_as_much_through_a_crash_and_a_rebuild(
    installation: Installation, tmp_path: Path
) -> None:
    """Proves: LOG-05, PRJ-03. By the command line, and shown by it."""
    data = {"text": text(5 << 20)}
    file = tmp_path / "data.json"
    file.write_text(json.dumps(data))
    code, said = installation.run("emit", "Event", "errand.asked", "--data", f"@{file}", "--idempotency-key", "five")
    assert code == 0, said
    run = installation.ended("errand.asked", "five").run
    assert run.output == data

    installation.kill()
    installation.start(APP)
    assert installation.told("runs", "show", run.execution_id)["run"]["output"] == data
    code, said = installation.run("history", run.execution_id, "--json")
    assert code == 0
    assert said.count(data["text"]) >= 3  # how it was started, what its activity gave, how it ended

    code, said = installation.run("projections", "rebuild", "--compare")
    assert code == 0, said
    assert installation.client.run(run.execution_id).run.output == data
    assert [each.type for each in events(installation, run.execution_id)][-1] == "executions.ExecutionCompleted"


def test_a_large_event_resumes_a_run_that_waited_through_a_crash(installation: Installation) -> None:
    """Proves: LOG-05, STM-05"""
    client = installation.client
    client.emit("Event", "parcel.sent", data={"parcel_id": "p-1"}, idempotency_key="p-1", correlation="p-1")
    [start] = installation.routed("parcel.sent", "p-1", "p-1").starts
    installation.becomes(start.execution_id, "waiting")
    installation.kill()
    installation.start(APP)
    signature = text(3 << 20)
    client.emit("Event", "parcel.signed", data={"signature": signature}, idempotency_key="s-1", correlation="p-1")
    run = client.run(start.execution_id, wait_s=30).run
    assert run.output == {"signature": signature}


def test_steps_that_are_told_by_one_event_may_each_give_a_large_output(installation: Installation) -> None:
    """Proves: LOG-05, CHK-03. Several runs side by side, whose steps share appends."""
    data = {f"hurry-{index}": text(size) for index, size in enumerate((10, 3 << 20, 200_000, 5 << 20, 250_000))}
    for key, each in data.items():
        installation.client.emit("Event", "hurry.asked", data=each, idempotency_key=key, correlation="c")
    for key, each in data.items():
        assert installation.ended("hurry.asked", key, "c").run.output == each


def test_what_any_client_may_write_to_the_topic_passes_with_what_is_added_to_it(installation: Installation) -> None:
    """Proves: LOG-05, STM-01. Up to what a broker takes by default, several at once."""
    data = [text(size) for size in (1_000_000, 300_000, 200_000, 1_040_000, 10)]
    values = [stimulus("errand.asked", each, f"topic-{index}", "c") for index, each in enumerate(data)]
    assert max(map(len, values)) < RECORD_BYTES_MAX
    installation.outside.write(installation.topic("stimuli"), 1, values, key=b"any")
    for index, each in enumerate(data):
        assert installation.ended("errand.asked", f"topic-{index}", "c").run.output == each


def test_what_is_over_the_maximum_is_refused_and_what_comes_behind_it_goes_on(installation: Installation) -> None:
    """Proves: LOG-05, STM-07"""
    with pytest.raises(ApiError) as refused:
        installation.client.emit("Event", "errand.asked", data="x" * BYTES_MAX, idempotency_key="over", correlation="c")
    assert (refused.value.status, refused.value.kind) == (413, "too-large")
    installation.client.emit("Event", "errand.asked", data=1, idempotency_key="behind", correlation="c")
    assert installation.ended("errand.asked", "behind", "c").run.output == 1


def test_no_record_of_the_log_is_larger_than_a_broker_takes(installation: Installation) -> None:
    """Proves: LOG-05. And a plain client sees by a header which values stand elsewhere."""
    installation.client.emit("Event", "errand.asked", data=text(2 << 20), idempotency_key="plain", correlation="c")
    run = installation.ended("errand.asked", "plain", "c").run
    records = [
        record
        for partition in range(2)
        for record in installation.outside.read(installation.topic("executions.journal"), partition)
        if record.key == f"execution:{run.execution_id}".encode()
    ]
    headers = [dict(record.headers).get("blob", b"").decode() for record in records]
    assert max(len(record.value or b"") for record in records) < 1_000
    for each in headers:
        sha256, _, size = each.removeprefix("sha256:").partition(";size=")
        assert (installation.blobs / sha256[:2] / sha256).stat().st_size == int(size) > 2 << 20


def test_a_blob_that_is_missing_stops_its_shard_loudly_until_it_is_put_back(installation: Installation) -> None:
    """Proves: LOG-05. What is missing and where is said by the health check and by the doctor."""
    client = installation.client
    client.emit("Event", "errand.asked", data=text(1 << 20), idempotency_key="lost", correlation="c")
    run = installation.ended("errand.asked", "lost", "c").run
    installation.stop()
    moved = [each for each in installation.blobs.glob("??/*") if each.is_file()]
    for each in moved:
        each.rename(each.with_suffix(".away"))
    installation.start(APP, serving=False)
    problems = until(lambda: _problems(installation), "a process that isn't live")
    assert any("expected" in each and "SHA-256" in each and str(installation.blobs) in each for each in problems)
    code, said = installation.run("doctor")
    assert code == 1
    assert "SHA-256" in said
    installation.kill()
    for each in moved:
        each.with_suffix(".away").rename(each)
    installation.start(APP)
    assert client.live().ok
    client.emit("Event", "errand.asked", data="again", idempotency_key="found", correlation="c")
    assert installation.ended("errand.asked", "found", "c").run.output == "again"
    assert client.run(run.execution_id).run.status == "completed"


def _problems(installation: Installation) -> tuple[str, ...]:
    """What stands still; () while nothing does, or nobody answers yet."""
    try:
        return installation.client.live().problems
    except Unreachable:
        return ()


def test_a_blob_store_that_is_away_is_waited_for_and_gives_nothing_up(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Proves: LOG-05. A directory that somebody chose is a mount, perhaps, and comes and goes."""
    store, elsewhere = tmp_path / "mount", tmp_path / "elsewhere"
    store.mkdir()
    made = install("embedded", request, tmp_path, BLOBS=str(store))
    try:
        made.start(APP)
        for workflow in ("errands", "parcels"):
            made.publish(f"{APP}:{workflow}")
        large = text(2 << 20)
        store.rename(elsewhere)
        with pytest.raises(ApiError) as refused:
            made.client.emit("Event", "errand.asked", data=large, idempotency_key="large", correlation="c")
        assert (refused.value.status, refused.value.kind) == (503, "unavailable")
        # From the topic it is taken all the same, and waits.
        values = [stimulus("errand.asked", large[:900_000], "waits", "c"), stimulus("errand.asked", 1, "behind", "c")]
        made.outside.write(made.topic("stimuli"), 0, values)
        made.client.emit("Event", "errand.asked", data="small", idempotency_key="small", correlation="d")
        assert made.ended("errand.asked", "small", "d").run.output == "small"
        assert made.client.live().ok
        elsewhere.rename(store)
        made.client.emit("Event", "errand.asked", data=large, idempotency_key="large", correlation="c")
        for key, output in (("waits", large[:900_000]), ("behind", 1), ("large", large)):
            assert made.ended("errand.asked", key, "c").run.output == output
        assert made.dead_letters() == []
    finally:
        made.close()
