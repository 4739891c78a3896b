"""What the owner of a shard holds in memory, and that no event costs a scan."""

from dataclasses import replace

import pytest

from interlock.domain.executions import shard as module
from interlock.domain.executions.execution.events import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionEvent,
    ExecutionUnserved,
    TimerFired,
)
from interlock.domain.executions.execution.state import Ended, ExecutionState
from interlock.domain.executions.shard import ExecutionsShard, KeptExecutions
from interlock.schemas.states import StateFormat
from tests.domain.executions.scenario import (
    bookmark_id,
    cancel_requested,
    completed,
    consumed,
    sleeping,
    started,
    waiting,
)
from tests.support.snapshots import through_text

pytestmark = pytest.mark.domain

COMPLETED = ExecutionCompleted(output="1", at_ms=9)


def apply(shard: ExecutionsShard, run: str, *events: ExecutionEvent) -> ExecutionsShard:
    for event in events:
        shard.apply(f"execution:{run}", event)
    return shard


def begin(shard: ExecutionsShard, run: str, *events: ExecutionEvent) -> ExecutionsShard:
    return apply(shard, run, replace(started(), execution_id=run), *events)


def test_a_run_that_has_ended_leaves_only_what_recognises_commands() -> None:
    shard = begin(ExecutionsShard(), "a", waiting("paid"), consumed("paid"))
    assert isinstance(shard.find("a"), ExecutionState)
    apply(shard, "a", cancel_requested(), completed("ship"), ExecutionCancelled(at_ms=9))
    assert shard.find("a") == Ended("cancelled", ((bookmark_id("paid"), "stimulus-2"),), ("cancel-1",))
    assert shard.find("b") is None
    assert set(shard.live) == set()
    assert set(shard.terminal) == {"a"}


def test_plain_runs_that_have_ended_share_one_summary() -> None:
    shard = begin(ExecutionsShard(), "a", completed("x"), COMPLETED)
    begin(shard, "b", completed("x"), COMPLETED)
    assert shard.find("a") is shard.find("b")


def test_a_run_owes_an_invocation_exactly_while_it_is_running() -> None:
    shard = begin(begin(ExecutionsShard(), "b"), "a")
    assert list(shard.owed) == ["b", "a"], "in the order in which they came to owe it"
    apply(shard, "b", completed("x"), waiting("paid"))
    assert list(shard.owed) == ["a"]
    apply(shard, "b", consumed("paid"))
    assert list(shard.owed) == ["a", "b"]
    apply(shard, "a", cancel_requested())
    assert (list(shard.owed), list(shard.cancelling)) == (["b"], ["a"])
    apply(shard, "a", completed("x"), ExecutionCancelled(at_ms=9))
    apply(shard, "b", completed("y"), COMPLETED)
    assert (list(shard.owed), list(shard.cancelling)) == ([], [])


def test_a_run_that_nobody_serves_is_among_the_unserved_until_its_activity_is_done() -> None:
    shard = begin(ExecutionsShard(), "a", ExecutionUnserved(node_id="x", activity="do-x", at_ms=5))
    assert (list(shard.owed), list(shard.unserved)) == ([], ["a"])
    apply(shard, "a", completed("x"))
    assert (list(shard.owed), list(shard.unserved)) == (["a"], [])


def test_what_is_due_comes_in_the_order_of_time_and_id_and_once() -> None:
    """Proves: TMR-01"""
    shard = ExecutionsShard()
    for run, due_ms in (("c", 30), ("b", 20), ("a", 20), ("d", 40)):
        begin(shard, run, sleeping("nap", due_ms))
    assert shard.next_due_ms() == 20
    assert shard.take_due(19, 10) == ()
    assert shard.take_due(30, 2) == ("a", "b")
    assert shard.take_due(30, 2) == ("c",)
    assert shard.take_due(30, 2) == ()
    assert shard.next_due_ms() == 40


def test_what_is_no_longer_due_is_passed_over() -> None:
    """Proves: TMR-01, D11"""
    shard = begin(ExecutionsShard(), "met", waiting("paid", expires_at_ms=20), consumed("paid"))
    begin(shard, "gone", waiting("paid", expires_at_ms=20), cancel_requested(), ExecutionCancelled(at_ms=9))
    begin(shard, "again", sleeping("nap", 20), TimerFired(node_id="nap", at_ms=21), sleeping("rest", 35))
    begin(shard, "for-ever", waiting("paid"))
    assert shard.next_due_ms() == 35
    assert shard.take_due(100, 10) == ("again",)
    assert shard.next_due_ms() is None


def test_two_timers_of_one_run_at_one_instant_are_due_once_each() -> None:
    shard = begin(
        ExecutionsShard(), "a", sleeping("nap", 20), TimerFired(node_id="nap", at_ms=20), sleeping("rest", 20)
    )
    assert shard.take_due(20, 10) == ("a",)
    assert shard.take_due(20, 10) == ()


def test_waits_that_are_met_at_once_do_not_pile_up_in_the_due_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves: TMR-01"""
    monkeypatch.setattr(module, "STALE_ENTRIES_MIN", 8)
    shard = begin(ExecutionsShard(), "sleeper", sleeping("nap", 77))
    for number in range(1_000):
        run = f"run-{number}"
        begin(shard, run, waiting("paid", expires_at_ms=1_000_000), consumed("paid"), completed("x"), COMPLETED)
    assert shard.due_entries <= 10
    assert shard.take_due(10_000_000, 10) == ("sleeper",)


def test_what_is_kept_knows_of_what_is_due_also_where_it_was_taken_and_nothing_was_decided() -> None:
    """Proves: TMR-01"""
    shard = begin(
        begin(begin(ExecutionsShard(), "b", sleeping("nap", 5)), "a", sleeping("nap", 5)), "c", completed("x")
    )
    due_ms = shard.next_due_ms()
    assert due_ms is not None
    assert shard.take_due(due_ms, 1) == ("a",)
    restored = ExecutionsShard()
    restored.restore(shard.keep())
    assert restored.take_due(due_ms, 9) == ("a", "b")
    assert list(restored.owed) == ["c"]


def test_plain_runs_that_have_ended_share_one_summary_also_after_a_snapshot() -> None:
    shard = begin(begin(ExecutionsShard(), "a", completed("x"), COMPLETED), "b", completed("x"), COMPLETED)
    (kept,) = through_text(StateFormat(KeptExecutions), shard.keep())
    assert isinstance(kept, KeptExecutions)
    restored = ExecutionsShard()
    restored.restore(kept)
    assert restored.find("a") is shard.find("b")
