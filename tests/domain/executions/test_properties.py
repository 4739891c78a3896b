"""Whatever happens to a run in whatever order, and twice, it stays one story and comes to one end."""

from collections import Counter
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.domain.decider import NOTHING, Change, Decided, Decision, Intent, fold
from interlock.domain.definitions.executable import Executable, Node
from interlock.domain.executions.coalesce import COALESCED_STEPS_MAX, coalesce
from interlock.domain.executions.execution import decide
from interlock.domain.executions.execution.commands import ActivityFinished
from interlock.domain.executions.execution.events import BookmarkConsumed, BookmarkCreated, ExecutionEvent, Step
from interlock.domain.executions.execution.scheduler import IDLE, Invoke, next_step
from interlock.domain.executions.execution.state import Ended, ExecutionState, summary
from interlock.domain.executions.shard import ExecutionsShard, KeptExecutions
from interlock.domain.messages import (
    CancelExecution,
    RegisterWait,
    Reply,
    ResumeDeclined,
    ResumeExecution,
    WithdrawWait,
)
from interlock.schemas.states import StateFormat
from tests.domain.executions.scenario import (
    RUN,
    Abandon,
    Asked,
    Due,
    Unserved,
    activity,
    bookmark_id,
    cancel,
    decided,
    events_of,
    evolve_known,
    raised,
    resume,
    returned,
    start,
    timer,
    wait,
    workflow,
)
from tests.support.snapshots import through_text

pytestmark = pytest.mark.domain

STREAM = f"execution:{RUN}"
FORM = StateFormat(KeptExecutions)
SOURCES = ("input", "input.order.id", "input.order.lines.1.sku", "n0", "n1", "n0.x", "input.nowhere")
OUTPUTS = ('{"x":"o-7"}', "null", "3", '"text"', "[1,2]")
CORRELATES = (None, "input.order.id", "input.order.count", "n0.x", "input.order")


@st.composite
def executables(draw: st.DrawFn) -> Executable:
    """Activities, waits and timers in any order; some with sources that lead nowhere."""
    nodes: list[Node] = []
    for number in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(("activity", "activity", "wait", "timer")))
        if kind == "activity":
            inputs = draw(st.dictionaries(st.sampled_from(("a", "b")), st.sampled_from(SOURCES), max_size=2))
            nodes.append(activity(f"n{number}", **inputs))
        elif kind == "wait":
            timeout_ms = draw(st.none() | st.integers(1, 50))
            nodes.append(wait(f"n{number}", draw(st.sampled_from(CORRELATES)), timeout_ms))
        else:
            nodes.append(timer(f"n{number}", draw(st.integers(1, 50))))
    return workflow(*nodes)


def asked(node_ids: st.SearchStrategy[str]) -> st.SearchStrategy[Asked]:
    """Anything that may come, whether it fits or not."""
    attempts = st.integers(1, 2)
    bookmarks = node_ids.map(bookmark_id)
    stimuli = st.sampled_from(("stimulus-1", "stimulus-2", "stimulus-3"))
    return st.one_of(
        st.just(start()),
        st.builds(returned, node_ids, st.sampled_from(OUTPUTS), attempts),
        st.builds(raised, node_ids, attempts),
        st.builds(resume, bookmarks, stimuli),
        st.builds(cancel, st.sampled_from(("cancel-1", "cancel-2"))),
        st.just(Due()),
        st.just(Unserved()),
        st.just(Abandon()),
    )


def wanted(state: ExecutionState, executable: Executable) -> Asked:
    """What brings a run that goes on further."""
    if state.status == "cancelling":
        return Abandon()
    if state.wait is not None and state.wait.expires_at_ms is None:
        return resume(state.wait.bookmark_id, f"stimulus-of-{state.wait.node_id}")
    if state.status == "waiting":
        return Due()
    owed = decide.invocation(state, executable)
    assert owed is not None, "a run that is running owes an invocation"
    return returned(owed.node_id, OUTPUTS[0], owed.attempt)


class World:
    """A run, its journal, and everything that was asked of it so far."""

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self.shard = ExecutionsShard()
        self.state: ExecutionState | None = None
        """The run whole, also when it has ended."""
        self.events: list[ExecutionEvent] = []
        self.intents: list[Intent] = []
        self.asked: list[Asked] = []
        self.now_ms = 1_000

    def handle(self, one: Asked) -> Decided:
        """Decides, commits, and holds what always holds."""
        known = self.shard.find(RUN)
        if not self._is_early(one):
            self.asked.append(one)
        result = decided(known, one, self.executable, self.now_ms)
        if isinstance(known, Ended):
            assert events_of(result) == (), "after an end nothing changes"
            assert result == decided(self.state, one, self.executable, self.now_ms), "a summary decides as the whole"
        for event in events_of(result):
            assert getattr(event, "attempt", 1) == 1, "without retries only a first attempt is owed"
            self.shard.apply(STREAM, event)
            self.state = evolve_known(self.state, event)
            self.events.append(event)
        if isinstance(result, Decision):
            self.intents += result.intents
        self._assert_what_holds_between_decisions()
        self._go_on_from_a_snapshot()
        return result

    def _go_on_from_a_snapshot(self) -> None:
        (kept,) = through_text(FORM, self.shard.keep())
        assert isinstance(kept, KeptExecutions)
        restored = ExecutionsShard()
        restored.restore(kept)
        assert restored.keep() == self.shard.keep()
        assert facts(restored) == facts(self.shard)
        self.shard = restored

    def _is_early(self, one: Asked) -> bool:
        """Whether it tells of what has not begun, which nobody can know; coming again later it would be the first."""
        if isinstance(one, ResumeExecution):
            created = (event.bookmark_id for event in self.events if isinstance(event, BookmarkCreated))
            return one.bookmark_id not in created
        if isinstance(one, ActivityFinished) and self.state is not None:
            ahead = self.executable.nodes[self.state.cursor + 1 :]
            return one.node_id in [node.id for node in ahead]
        return False

    def _assert_what_holds_between_decisions(self) -> None:
        assert fold(evolve_known, None, self.events) == self.state, "replay equals live"
        rebuilt = ExecutionsShard()
        for event in self.events:
            rebuilt.apply(STREAM, event)
        assert facts(rebuilt) == facts(self.shard), "a rebuilt shard equals the live one"
        state = self.state
        if state is None:
            return
        assert (state.status == "waiting") == (state.wait is not None or state.timer is not None)
        assert state.wait is None or state.timer is None
        step = next_step(self.executable, state)
        assert isinstance(step, Invoke) if state.status == "running" else step is IDLE, "a decision is worked off"
        owes = state.status == "running"
        assert (RUN in self.shard.owed) == (owes and state.unserved is None)
        assert (RUN in self.shard.unserved) == (owes and state.unserved is not None)
        assert self.shard.next_due_ms() == decide.due_at_ms(state)

    def assert_repeating_changes_nothing(self) -> None:
        """Every command again: nothing, or what was answered before."""
        consumed = {(one.bookmark_id, one.stimulus_id) for one in self.events if isinstance(one, BookmarkConsumed)}
        answered = {intent.message.command_id: intent for intent in self.intents if isinstance(intent.message, Reply)}
        for one in list(self.asked):
            if isinstance(one, Due | Unserved | Abandon):
                continue  # these ask what is so now, and after a while something else is
            result = decided(self.shard.find(RUN), one, self.executable, self.now_ms)
            assert events_of(result) == ()
            for intent in result.intents if isinstance(result, Decision) else ():
                message = intent.message
                assert isinstance(message, Reply | ResumeDeclined)
                if isinstance(message, Reply):
                    assert answered[message.command_id] == intent, "the same command has the same answer"
                else:
                    assert (message.bookmark_id, message.stimulus_id) not in consumed, (
                        "what was taken is not given away"
                    )

    def assert_accounts_are_settled(self) -> None:
        """Each wait was met or withdrawn, and each cancel answered."""
        messages = [intent.message for intent in self.intents]
        registered = Counter(one.bookmark_id for one in messages if isinstance(one, RegisterWait))
        withdrawn = [one.bookmark_id for one in messages if isinstance(one, WithdrawWait)]
        consumed = [one.bookmark_id for one in self.events if isinstance(one, BookmarkConsumed)]
        created = [one.bookmark_id for one in self.events if isinstance(one, BookmarkCreated)]
        assert registered == Counter(created) == Counter([*withdrawn, *consumed])
        assert all(count == 1 for count in registered.values()), "a bookmark is registered once, and once gone"
        commands = {one.command_id for one in self.asked if isinstance(one, CancelExecution)}
        assert {one.command_id for one in messages if isinstance(one, Reply)} == commands


def facts(shard: ExecutionsShard) -> tuple[object, ...]:
    """What a shard answers."""
    return (
        shard.find(RUN),
        set(shard.live),
        dict(shard.terminal),
        list(shard.owed),
        list(shard.unserved),
        list(shard.cancelling),
        shard.next_due_ms(),
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(executable=executables(), data=st.data())
def test_whatever_comes_in_whatever_order_a_run_is_one_story_with_one_end(
    executable: Executable, data: st.DataObject
) -> None:
    """Proves: EXE-02, EXE-03, CHK-01, BKM-03, TMR-01, HLD-02, I1"""
    world = World(executable)
    world.handle(start())
    anything = asked(st.sampled_from([node.id for node in executable.nodes] or ["n0"]))
    for _ in range(data.draw(st.integers(0, 25), label="how often something else comes")):
        world.now_ms += data.draw(st.integers(0, 40), label="milliseconds later")
        state = world.state
        assert state is not None
        if summary(state) is None and data.draw(st.booleans(), label="whether it fits"):
            world.handle(wanted(state, executable))
        else:
            world.handle(data.draw(anything))
        world.assert_repeating_changes_nothing()
    for _ in range(len(executable.nodes) + 1):
        if (state := world.state) is not None and summary(state) is None:
            world.now_ms = max(world.now_ms, decide.due_at_ms(state) or 0)
            world.handle(wanted(state, executable))
    assert world.state is not None
    assert world.shard.find(RUN) == summary(world.state), "as many steps as it has nodes bring a run to its end"
    world.assert_repeating_changes_nothing()
    world.assert_accounts_are_settled()


@settings(max_examples=100, deadline=None)
@given(executable=executables(), data=st.data())
def test_coalesced_steps_fold_as_single_ones(executable: Executable, data: st.DataObject) -> None:
    """Proves: CHK-03"""
    world = World(executable)
    world.handle(start())
    while (state := world.state) is not None and summary(state) is None:
        world.now_ms = max(world.now_ms, decide.due_at_ms(state) or 0)
        world.handle(wanted(state, executable))
    steps = [cast("Step", event) for event in world.events]
    shard, state, begin = ExecutionsShard(), None, 0
    while begin < len(steps):
        end = begin + data.draw(st.integers(1, COALESCED_STEPS_MAX))
        change = coalesce([Change(STREAM, step) for step in steps[begin:end]])
        event = cast("ExecutionEvent", change.event)
        shard.apply(change.stream, event)
        state = evolve_known(state, event)
        begin = end
    assert state == world.state
    assert facts(shard) == facts(world.shard)


@settings(max_examples=100, deadline=None)
@given(executable=executables(), command=st.integers(0, 12))
def test_a_cancel_at_any_boundary_leaves_no_run_that_nobody_can_end(executable: Executable, command: int) -> None:
    """Proves: I1, HLD-02"""
    world = World(executable)
    world.handle(start())
    for boundary in range(len(executable.nodes) + 2):
        if boundary == command:
            world.handle(cancel())
            assert world.state is not None
            if world.state.status == "cancelling":
                node = executable.nodes[world.state.cursor]
                world.handle(returned(node.id))
            assert summary(world.state) is not None
        if (state := world.state) is not None and summary(state) is None:
            world.now_ms = max(world.now_ms, decide.due_at_ms(state) or 0)
            world.handle(wanted(state, executable))
    assert summary(world.state) is not None if world.state else False
    world.assert_accounts_are_settled()


def test_nothing_is_the_answer_to_what_nobody_knows() -> None:
    for one in (returned("n0"), raised("n0"), Due(), Unserved(), Abandon()):
        assert decided(None, one, workflow(), 1) is NOTHING
