"""How a run is asked to end, and what races with it."""

import json

import pytest

from interlock.domain import sharding
from interlock.domain.asked import asked_of
from interlock.domain.decider import NOTHING, Intent
from interlock.domain.executions.execution import decide
from interlock.domain.executions.execution.events import (
    ActivityFaulted,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFaulted,
    ExecutionUnserved,
)
from interlock.domain.messages import Reply, WithdrawWait
from tests.domain.executions.scenario import (
    NOW_MS,
    PAID,
    RUN,
    Abandon,
    Due,
    Unserved,
    activity,
    after,
    bookmark_id,
    cancel,
    cancel_requested,
    completed,
    decided,
    events_of,
    given,
    raised,
    resume,
    returned,
    sleeping,
    started,
    state_after,
    timer,
    wait,
    waiting,
    workflow,
)

pytestmark = pytest.mark.domain

END = ExecutionCancelled(at_ms=NOW_MS)
COMPLETED = ExecutionCompleted(output="1", at_ms=2)


def done(command_id: str = "cancel-1") -> Intent:
    body = json.dumps({"executionId": RUN, "status": "cancelled"}, separators=(",", ":"))
    reply = Reply(command_id=command_id, status="done", body=body, asked=asked_of(cancel(command_id)))
    return Intent("replies", command_id, reply)


def test_a_waiting_run_ends_at_once_and_its_wait_is_withdrawn() -> None:
    """Proves: HLD-02"""
    message = WithdrawWait(
        shell="default", identity=PAID, correlation="o-7", execution_id=RUN, bookmark_id=bookmark_id("paid")
    )
    withdrawn = Intent("routing", sharding.routing_key("default", PAID, "o-7"), message)
    scenario = given(workflow(wait("paid")), started(), waiting("paid")).when(cancel())
    state = scenario.then(cancel_requested(), END, intents=(withdrawn, done()))
    assert state.status == "cancelled"
    assert decide.due_at_ms(state) is None


def test_a_sleeping_run_ends_at_once() -> None:
    """Proves: HLD-02"""
    scenario = given(workflow(timer("nap", 9)), started(), sleeping("nap", NOW_MS)).when(cancel())
    state = scenario.then(cancel_requested(), END, intents=(done(),))
    assert decide.due(state, scenario.executable, NOW_MS) is NOTHING


def test_an_activity_that_is_under_way_is_let_finish() -> None:
    """Proves: HLD-02, I1"""
    executable = workflow(activity("a"), activity("b"))
    state = given(executable, started()).when(cancel()).then(cancel_requested())
    assert state.status == "cancelling"
    assert decide.invocation(state, executable) is None, "no activity begins in a run that is being cancelled"
    history = (started(), cancel_requested())
    given(executable, *history).when(returned("a")).then(completed("a"), END, intents=(done(),))


def test_the_last_activity_of_a_run_that_is_being_cancelled_does_not_complete_it() -> None:
    """Proves: I1"""
    history = (started(), cancel_requested())
    given(workflow(activity("a")), *history).when(returned("a")).then(completed("a"), END, intents=(done(),))


def test_an_activity_that_raises_in_a_run_that_is_being_cancelled_does_not_fault_it() -> None:
    """Proves: I1"""
    fault = ActivityFaulted(node_id="a", attempt=1, error_type="OutOfStock", error_message="no stock", at_ms=NOW_MS)
    history = (started(), cancel_requested())
    given(workflow(activity("a")), *history).when(raised("a")).then(fault, END, intents=(done(),))


def test_an_activity_that_nobody_serves_is_not_waited_for() -> None:
    """Proves: HLD-02"""
    executable = workflow(activity("a"))
    mark = ExecutionUnserved(node_id="a", activity="do-a", at_ms=2)
    given(executable, started(), mark).when(cancel()).then(cancel_requested(), END, intents=(done(),))
    given(executable, started(), cancel_requested()).when(Unserved()).then(END, intents=(done(),))


def test_an_activity_that_is_gone_with_its_process_leaves_no_run_that_nobody_can_end() -> None:
    """Proves: I1"""
    executable = workflow(activity("a"))
    given(executable, started(), cancel_requested()).when(Abandon()).then(END, intents=(done(),))
    given(executable, started()).when(Abandon()).then_nothing()
    given(workflow(wait("paid")), started(), waiting("paid")).when(Abandon()).then_nothing()
    given(executable, started(), cancel_requested(), END).when(returned("a")).then_nothing()


def test_everyone_who_asked_is_answered_when_it_has_ended() -> None:
    executable = workflow(activity("a"))
    history = (started(), cancel_requested())
    given(executable, *history).when(cancel("cancel-2")).then(cancel_requested("cancel-2"))
    given(executable, *history).when(cancel()).then_nothing()
    both = (*history, cancel_requested("cancel-2"))
    given(executable, *both).when(returned("a")).then(completed("a"), END, intents=(done("cancel-1"), done("cancel-2")))


def test_the_same_cancel_is_answered_alike_after_the_end() -> None:
    """Proves: EXE-02"""
    given(workflow(activity("a")), started(), cancel_requested(), END).when(cancel()).then_only(done())


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (COMPLETED, "completed"),
        (ExecutionFaulted(node_id="a", error_type="E", error_message="", at_ms=2), "faulted"),
        (END, "cancelled"),
    ],
)
def test_a_cancel_of_a_run_that_has_ended_is_refused(
    end: ExecutionCompleted | ExecutionFaulted | ExecutionCancelled, status: str
) -> None:
    """Proves: I1"""
    message = f"Expected run 'run-1' to be under way, found it {status}; a run that has ended stays as it is."
    body = {"kind": "state", "message": message, "details": {"executionId": RUN, "status": status}}
    refused = Reply(
        command_id="cancel-9",
        status="refused",
        body=json.dumps(body, sort_keys=True, separators=(",", ":")),
        asked=asked_of(cancel("cancel-9")),
    )
    given(workflow(activity("a")), started(), end).when(cancel("cancel-9")).then_only(
        Intent("replies", "cancel-9", refused)
    )


def test_a_cancel_of_an_unknown_run_is_refused() -> None:
    message = "Expected a run 'run-1', found none; `interlock runs list` shows those that there are."
    body = {"kind": "not-found", "message": message, "details": {"executionId": RUN}}
    refused = Reply(
        command_id="cancel-1",
        status="refused",
        body=json.dumps(body, sort_keys=True, separators=(",", ":")),
        asked=asked_of(cancel("cancel-1")),
    )
    given(workflow()).when(cancel()).then_only(Intent("replies", "cancel-1", refused))


def test_of_a_cancel_and_a_completion_the_first_one_decides() -> None:
    """Proves: I1"""
    executable = workflow(activity("a"))
    for order, status in (((returned("a"), cancel()), "completed"), ((cancel(), returned("a")), "cancelled")):
        state = state_after(started())
        for asked in order:
            result = decided(state, asked, executable, NOW_MS)
            assert result is not NOTHING
            state = after(state, result)
        assert state.status == status
        for asked in (*order, Due(), Unserved(), Abandon(), resume(bookmark_id("paid"))):
            again = decided(state, asked, executable, NOW_MS)
            assert events_of(again) == ()
