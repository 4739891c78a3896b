"""What is told of a run at each of its steps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.domain.executions.execution.events import (
    ActivityCompleted,
    ActivityFaulted,
    BookmarkConsumed,
    BookmarkCreated,
    BookmarkExpired,
    CancelRequested,
    CheckpointsCoalesced,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionEvent,
    ExecutionFaulted,
    ExecutionUnserved,
    Step,
    TimerFired,
    TimerSet,
)
from interlock.projections.executions.fold import VIEW, fold
from interlock.projections.executions.query import SqliteExecutions, cursor_of
from interlock.projections.executions.store import CANCELS, EXECUTIONS, STEPS, WAITS, ExecutionRow
from interlock.projections.reader import ViewReader
from interlock.projections.rows import MemoryRows
from interlock.testing.virtual_time import run_virtual
from tests.projections.journals import Journals, recorded
from tests.projections.stories import SHELL, of_run, started, whole_run

COMPLETED = ActivityCompleted(node_id="reserve", attempt=1, output='"seat"', at_ms=1_001)
BOOKMARK = BookmarkCreated(
    bookmark_id="b", node_id="payment", identity="i", correlation="order-1", expires_at_ms=9_000, at_ms=1_002
)
CONSUMED = BookmarkConsumed(bookmark_id="b", node_id="payment", stimulus_id="s2", data='{"paid": 1}', at_ms=1_003)
EXPIRED = BookmarkExpired(bookmark_id="b", node_id="payment", at_ms=9_000)
UNSERVED = ExecutionUnserved(node_id="ship", activity="ship", at_ms=1_004)
CANCEL = CancelRequested(command_id="c", requested_by="somebody", reason="mistake", at_ms=1_005)
TIMED_OUT = ExecutionFaulted(node_id="payment", error_type="WaitTimedOut", error_message="too late", at_ms=9_000)


def folded(*events: ExecutionEvent) -> MemoryRows:
    rows = MemoryRows()
    for each in recorded(*of_run("one", *events)):
        fold(each, rows)
    return rows


def run_of(rows: MemoryRows) -> ExecutionRow:
    (row,) = rows.all(EXECUTIONS)
    return row


def test_a_run_is_pinned_to_what_started_it() -> None:
    row = run_of(folded(started("one")))
    assert (row.status, row.artifact_id, row.publication_id, row.stimulus_id, row.ended_at_ms) == (
        "running",
        "artifact-p1",
        "p1",
        "s-one",
        None,
    )


def test_a_run_that_waits_says_for_what_and_until_when() -> None:
    rows = folded(started("one"), COMPLETED, BOOKMARK)
    (wait,) = rows.all(WAITS)
    assert (wait.kind, wait.identity, wait.correlation, wait.until_ms, wait.bookmark_id) == (
        "wait",
        "i",
        "order-1",
        9_000,
        "b",
    )
    assert (run_of(rows).status, run_of(rows).node_id) == ("waiting", "payment")


def test_a_run_that_sleeps_says_until_when() -> None:
    rows = folded(started("one"), TimerSet(node_id="pause", due_at_ms=5_000, at_ms=1_001))
    (wait,) = rows.all(WAITS)
    assert (wait.kind, wait.node_id, wait.until_ms) == ("timer", "pause", 5_000)
    awake = folded(
        started("one"),
        TimerSet(node_id="pause", due_at_ms=5_000, at_ms=1_001),
        TimerFired(node_id="pause", at_ms=5_000),
    )
    assert (run_of(awake).status, run_of(awake).node_id, awake.all(WAITS)) == ("running", "", [])


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ((BOOKMARK, CONSUMED), "running"),
        ((BOOKMARK, EXPIRED), "running"),
        ((BOOKMARK, EXPIRED, TIMED_OUT), "faulted"),
        ((BOOKMARK, CANCEL, ExecutionCancelled(at_ms=1_006)), "cancelled"),
        ((BOOKMARK, ExecutionCancelled(at_ms=1_006)), "cancelled"),
        ((BOOKMARK, CONSUMED, ExecutionCompleted(output="1", at_ms=1_006)), "completed"),
    ],
)
def test_a_wait_that_is_over_is_waited_for_no_more(events: tuple[ExecutionEvent, ...], status: str) -> None:
    rows = folded(started("one"), *events)
    assert (run_of(rows).status, rows.all(WAITS)) == (status, [])


def test_each_attempt_of_an_activity_is_a_step_in_order() -> None:
    faulted = ActivityFaulted(node_id="reserve", attempt=1, error_type="Full", error_message="no seat", at_ms=1_001)
    again = ActivityCompleted(node_id="reserve", attempt=2, output='"seat"', at_ms=1_002)
    rows = folded(started("one"), faulted, again)
    first, second = sorted(rows.all(STEPS), key=lambda step: step.revision)
    assert (first.attempt, first.status, first.error_type, first.error_message) == (1, "faulted", "Full", "no seat")
    assert (second.attempt, second.status, second.output) == (2, "completed", '"seat"')


def test_a_run_that_nobody_can_serve_says_since_when_until_somebody_does() -> None:
    row = run_of(folded(started("one"), UNSERVED))
    assert (row.node_id, row.unserved_activity, row.unserved_since_ms) == ("ship", "ship", 1_004)
    shipped = ActivityCompleted(node_id="ship", attempt=1, output="1", at_ms=1_005)
    for later in ((shipped,), (CANCEL, ExecutionCancelled(at_ms=1_006))):
        row = run_of(folded(started("one"), UNSERVED, *later))
        assert (row.node_id, row.unserved_activity, row.unserved_since_ms) == ("", "", None)


def test_a_fault_says_where_and_what() -> None:
    row = run_of(folded(started("one"), TIMED_OUT))
    assert (row.status, row.node_id, row.error_type, row.error_message, row.ended_at_ms) == (
        "faulted",
        "payment",
        "WaitTimedOut",
        "too late",
        9_000,
    )


def test_who_asked_a_run_to_end_is_kept() -> None:
    rows = folded(started("one"), CANCEL)
    (cancel,) = rows.all(CANCELS)
    assert (cancel.command_id, cancel.requested_by, cancel.reason) == ("c", "somebody", "mistake")
    assert run_of(rows).status == "cancelling"


def test_coalesced_checkpoints_give_the_rows_of_single_ones() -> None:
    steps: tuple[Step, ...] = (
        started("one"),
        COMPLETED,
        BOOKMARK,
        CONSUMED,
        UNSERVED,
        CANCEL,
        ExecutionCompleted(output="1", at_ms=1_006),
    )
    single, together = folded(*steps), folded(CheckpointsCoalesced(steps=steps))
    assert single.all(EXECUTIONS) == together.all(EXECUTIONS)
    assert single.all(CANCELS) == together.all(CANCELS)
    assert [step._replace(revision=0, place=0) for step in single.all(STEPS)] == [
        step._replace(revision=0, place=0) for step in together.all(STEPS)
    ]
    assert [step.place for step in sorted(together.all(STEPS), key=lambda step: step.place)] == [1, 3]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[ViewReader]:
    found = ViewReader(tmp_path, VIEW)
    yield found
    found.close()


def test_runs_are_listed_newest_first_in_pages_and_by_what_they_are(tmp_path: Path, reader: ViewReader) -> None:
    async def main() -> None:
        journals = Journals()
        for number in range(7):
            run = whole_run(f"run-{number}", publication_id=f"p{number % 2}", at_ms=1_000 + number // 2)
            await journals.commit("executions", *run)
        await journals.commit("executions", *of_run("open", started("open", at_ms=500), UNSERVED))
        host = journals.host(VIEW, tmp_path)
        await host.start()
        while not host.caught_up:
            await host.changed(1.0)
        runs = SqliteExecutions(reader)
        page = runs.executions(SHELL, limit=3)
        found = list(page)
        while page:
            page = runs.executions(SHELL, after=cursor_of(page[-1]), limit=3)
            found += page
        assert [row.execution_id for row in found] == [*(f"run-{number}" for number in reversed(range(7))), "open"]
        assert [row.execution_id for row in runs.executions(SHELL, status="running")] == ["open"]
        assert len(runs.executions(SHELL, definition_id="orders", publication_id="p0")) == 4
        assert runs.executions("another shell") == ()
        assert runs.count(SHELL) == {"completed": 7, "running": 1}
        assert [row.execution_id for row in runs.unserved(SHELL)] == ["open"]
        await host.close()

    run_virtual(main())


def test_a_run_is_shown_with_its_steps_and_where_it_is(tmp_path: Path, reader: ViewReader) -> None:
    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *of_run("one", started("one")))
        await journals.commit("executions", *of_run("two", started("two"), COMPLETED))
        await journals.commit("executions", *of_run("three", started("three"), COMPLETED, BOOKMARK, CANCEL))
        host = journals.host(VIEW, tmp_path)
        await host.start()
        while not host.caught_up:
            await host.changed(1.0)
        runs = SqliteExecutions(reader)
        found = [runs.execution(name) for name in ("one", "two", "three")]
        assert [view and view.current_node for view in found] == ["placed", "reserve", "payment"]
        three = found[2]
        assert three is not None
        assert [step.node_id for step in three.steps] == ["reserve"]
        assert three.wait is not None
        assert three.wait.correlation == "order-1"
        assert [cancel.command_id for cancel in three.cancels] == ["c"]
        assert runs.execution("nobody") is None
        await host.close()

    run_virtual(main())
