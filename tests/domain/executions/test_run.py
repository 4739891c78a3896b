"""How a run begins, goes through its nodes, waits, sleeps and goes wrong."""

import pytest

from interlock.domain import sharding
from interlock.domain.decider import NOTHING, Decided, Decision, Intent
from interlock.domain.definitions.executable import Executable
from interlock.domain.executions.execution import decide
from interlock.domain.executions.execution.commands import ActivityFinished
from interlock.domain.executions.execution.drain import DRAIN_EXCEEDED, Turn, advance
from interlock.domain.executions.execution.events import (
    ActivityFaulted,
    BookmarkExpired,
    ExecutionCompleted,
    ExecutionFaulted,
    ExecutionUnserved,
    TimerFired,
)
from interlock.domain.messages import RegisterWait, ResumeDeclined, WithdrawWait
from tests.domain.executions.scenario import (
    NOW_MS,
    PAID,
    RUN,
    Due,
    Unserved,
    activity,
    after,
    bookmark_id,
    completed,
    consumed,
    decided,
    events_of,
    given,
    raised,
    resume,
    returned,
    sleeping,
    start,
    started,
    state_after,
    timer,
    wait,
    waiting,
    workflow,
)

pytestmark = pytest.mark.domain

TO_ROUTING = sharding.routing_key("default", PAID, "o-7")


def register(node_id: str, at_ms: int = NOW_MS) -> Intent:
    message = RegisterWait(
        shell="default",
        identity=PAID,
        correlation="o-7",
        execution_id=RUN,
        bookmark_id=bookmark_id(node_id),
        committed_at_ms=at_ms,
        started_by="stimulus-1",
    )
    return Intent("routing", TO_ROUTING, message)


def withdraw(node_id: str) -> Intent:
    message = WithdrawWait(
        shell="default", identity=PAID, correlation="o-7", execution_id=RUN, bookmark_id=bookmark_id(node_id)
    )
    return Intent("routing", TO_ROUTING, message)


def decline(bookmark: str, stimulus_id: str = "stimulus-2") -> Intent:
    message = ResumeDeclined(
        shell="default",
        identity=PAID,
        correlation="o-7",
        execution_id=RUN,
        bookmark_id=bookmark,
        stimulus_id=stimulus_id,
    )
    return Intent("routing", TO_ROUTING, message)


def test_a_start_pins_the_executable_and_owes_the_first_activity() -> None:
    """Proves: EXE-01"""
    executable = workflow(activity("reserve", order="input.order"), activity("ship"))
    state = given(executable).when(start()).then(started(at_ms=NOW_MS))
    assert state.started.artifact_id == executable.artifact_id
    owed = decide.invocation(state, executable)
    assert owed is not None
    assert (owed.node_id, owed.activity, owed.attempt) == ("reserve", "do-reserve", 1)
    assert owed.inputs["order"].startswith('{"id":"o-7"')


@pytest.mark.parametrize("given_one", [workflow(activity("reserve"), artifact_id="artifact-2"), None])
def test_another_executable_than_the_pinned_one_is_never_run(given_one: Executable | None) -> None:
    """Proves: EXE-01"""
    state = state_after(started())
    with pytest.raises(decide.WrongExecutable, match="Expected executable 'artifact-1' for run 'run-1', found"):
        decide.complete_activity(state, returned("reserve"), given_one, NOW_MS)
    with pytest.raises(decide.WrongExecutable, match="Expected executable 'artifact-2' for run 'run-1', found"):
        decide.start(None, start(artifact_id="artifact-2"), workflow(), NOW_MS)


def test_a_start_that_comes_again_starts_nothing() -> None:
    """Proves: EXE-02"""
    executable = workflow(activity("reserve"))
    given(executable, started()).when(start()).then_nothing()
    given(executable, started(), ExecutionCompleted(output="1", at_ms=2)).when(start()).then_nothing()


def test_a_run_of_three_activities_costs_five_events() -> None:
    """Proves: EXE-03"""
    executable = workflow(activity("a"), activity("b", it="a"), activity("c", it="b.x", all="input"))
    first = given(executable).when(start()).then(started(at_ms=NOW_MS))
    given(executable, started()).when(returned("a", '{"x":1}')).then(completed("a", '{"x":1}'))
    second = given(executable, started(), completed("a")).when(returned("b", '{"x":[2]}'))
    second.then(completed("b", '{"x":[2]}'))
    last = given(executable, started(), completed("a"), completed("b", '{"x":[2]}'))
    owed = decide.invocation(last.state, executable)
    assert owed is not None
    assert owed.inputs["it"] == "[2]"
    assert owed.inputs["all"] == first.started.data
    end = last.when(returned("c", "3")).then(completed("c", "3"), ExecutionCompleted(output="3", at_ms=NOW_MS))
    assert end.status == "completed"
    assert decide.invocation(end, executable) is None


def test_a_run_without_nodes_completes_at_once() -> None:
    end = ExecutionCompleted(output="null", at_ms=NOW_MS)
    given(workflow()).when(start()).then(started(at_ms=NOW_MS), end)


def test_the_same_invocation_has_the_same_idempotency_key_and_others_have_another() -> None:
    executable = workflow(activity("a"), activity("b"))
    state = state_after(started())
    once, again = decide.invocation(state, executable), decide.invocation(state, executable)
    later = decide.invocation(state_after(started(), completed("a")), executable)
    assert once is not None
    assert later is not None
    assert once == again
    assert once.idempotency_key != later.idempotency_key


@pytest.mark.parametrize("late", [returned("b"), returned("a", attempt=2), returned("c"), raised("b")])
def test_a_result_that_nobody_waits_for_changes_nothing(late: ActivityFinished) -> None:
    """Proves: EXE-02"""
    given(workflow(activity("a"), activity("b")), started()).when(late).then_nothing()
    given(workflow(wait("paid")), started(), waiting("paid")).when(returned("paid")).then_nothing()
    given(workflow(activity("a"))).when(late).then_nothing()
    given(workflow(activity("b")), started(), ExecutionCompleted(output="1", at_ms=2)).when(late).then_nothing()


def test_an_activity_that_raises_faults_the_run() -> None:
    """Proves: INC-01"""
    fault = ActivityFaulted(node_id="a", attempt=1, error_type="OutOfStock", error_message="no stock", at_ms=NOW_MS)
    end = ExecutionFaulted(node_id="a", error_type="OutOfStock", error_message="no stock", at_ms=NOW_MS)
    given(workflow(activity("a"), activity("b")), started()).when(raised("a")).then(fault, end)


def test_an_error_message_is_recorded_within_a_limit_and_so_that_it_can_be_stored() -> None:
    result = given(workflow(activity("a")), started()).when(raised("a", message="\ud800" + "x" * 100_000)).result
    assert isinstance(result, Decision)
    event = result.changes[0].event
    assert isinstance(event, ActivityFaulted)
    assert event.error_message.startswith("\\ud800xxx")
    assert len(event.error_message.encode("utf-8")) < 5_000


def test_a_wait_registers_in_the_commit_that_creates_its_bookmark() -> None:
    """Proves: CHK-01"""
    executable = workflow(wait("paid", timeout_ms=500), activity("ship"))
    bookmark = waiting("paid", expires_at_ms=NOW_MS + 500)
    state = given(executable).when(start()).then(started(at_ms=NOW_MS), bookmark, intents=(register("paid"),))
    assert state.status == "waiting"
    assert decide.due_at_ms(state) == NOW_MS + 500
    assert decide.invocation(state, executable) is None


def test_consumption_and_the_progress_that_it_causes_are_one_commit() -> None:
    """Proves: BKM-03, D2"""
    executable = workflow(wait("paid"), wait("shipped"))
    scenario = given(executable, started(), waiting("paid")).when(resume(bookmark_id("paid")))
    state = scenario.then(consumed("paid"), waiting("shipped"), intents=(register("shipped"),))
    assert state.outputs == {"paid": '{"paid":true}'}
    end = ExecutionCompleted(output='{"paid":true}', at_ms=NOW_MS)
    given(workflow(wait("paid")), started(), waiting("paid")).when(resume(bookmark_id("paid"))).then(
        consumed("paid"), end
    )


def test_a_stimulus_that_took_a_bookmark_is_not_declined_when_it_comes_again() -> None:
    """Proves: BKM-03"""
    executable = workflow(wait("paid"), activity("ship"))
    given(executable, started(), waiting("paid"), consumed("paid")).when(resume(bookmark_id("paid"))).then_nothing()
    ended = (started(), waiting("paid"), consumed("paid"), completed("ship"), ExecutionCompleted(output="1", at_ms=2))
    given(executable, *ended).when(resume(bookmark_id("paid"))).then_nothing()


def test_a_second_stimulus_for_a_consumed_bookmark_goes_to_others() -> None:
    """Proves: BKM-03"""
    again = resume(bookmark_id("paid"), "stimulus-3")
    history = (started(), waiting("paid"), consumed("paid"))
    given(workflow(wait("paid"), activity("ship")), *history).when(again).then_only(
        decline(bookmark_id("paid"), "stimulus-3")
    )


def test_a_stimulus_for_what_is_not_open_goes_to_others() -> None:
    elsewhere = bookmark_id("elsewhere")
    given(workflow(wait("paid")), started(), waiting("paid")).when(resume(elsewhere)).then_only(decline(elsewhere))
    given(workflow(activity("ship")), started()).when(resume(elsewhere)).then_only(decline(elsewhere))


def test_a_stimulus_for_an_unknown_run_goes_to_others() -> None:
    """Proves: D11"""
    given(workflow()).when(resume(bookmark_id("paid"))).then_only(decline(bookmark_id("paid")))


def test_each_visit_of_a_wait_has_a_bookmark_of_its_own() -> None:
    visited = Turn(state_after(started(), waiting("paid"), consumed("paid")))
    advance(visited, workflow(activity("before"), wait("paid")), NOW_MS)
    assert [getattr(event, "bookmark_id", None) for event in visited.events] == [bookmark_id("paid", visit=2)]


def test_a_wait_that_times_out_faults_the_run_and_is_withdrawn() -> None:
    """Proves: INC-01"""
    history = (started(), waiting("paid", expires_at_ms=NOW_MS, at_ms=NOW_MS - 300))
    scenario = given(workflow(wait("paid", timeout_ms=300)), *history).when(Due())
    message = "Expected a stimulus for node 'paid' with correlation 'o-7' within 300 ms, found none."
    scenario.then(
        BookmarkExpired(bookmark_id=bookmark_id("paid"), node_id="paid", at_ms=NOW_MS),
        ExecutionFaulted(node_id="paid", error_type="WaitTimedOut", error_message=message, at_ms=NOW_MS),
        intents=(withdraw("paid"),),
    )


def test_nothing_is_due_before_its_time_or_without_a_time() -> None:
    history = (started(), waiting("paid", expires_at_ms=NOW_MS))
    given(workflow(wait("paid", timeout_ms=1)), *history).when(Due(), NOW_MS - 1).then_nothing()
    given(workflow(wait("paid")), started(), waiting("paid")).when(Due()).then_nothing()
    given(workflow(activity("a")), started()).when(Due()).then_nothing()


def test_what_is_due_of_a_run_that_is_gone_is_dropped() -> None:
    """Proves: TMR-01, D11"""
    given(workflow(timer("nap", 10))).when(Due()).then_nothing()
    ended = ExecutionFaulted(node_id="nap", error_type="E", error_message="", at_ms=2)
    given(workflow(timer("nap", 10)), started(), sleeping("nap", 3), ended).when(Due()).then_nothing()


def test_a_timer_is_due_at_an_absolute_instant_however_often_it_is_read_back() -> None:
    """Proves: TMR-01, D10"""
    executable = workflow(timer("nap", 250), activity("a"))
    state = given(executable).when(start()).then(started(at_ms=NOW_MS), sleeping("nap", NOW_MS + 250))
    assert state.status == "waiting"
    for owner in range(5):
        replayed = state_after(started(at_ms=NOW_MS), sleeping("nap", NOW_MS + 250))
        assert decide.due_at_ms(replayed) == NOW_MS + 250, f"owner {owner}"


def test_a_timer_that_is_due_fires_and_the_run_goes_on() -> None:
    executable = workflow(timer("nap", 250), timer("rest", 50))
    history = (started(), sleeping("nap", NOW_MS - 3))
    given(executable, *history).when(Due()).then(TimerFired(node_id="nap", at_ms=NOW_MS), sleeping("rest", NOW_MS + 50))


def test_a_timer_leaves_an_output_that_says_nothing() -> None:
    executable = workflow(timer("nap", 250), activity("a", from_nap="nap"))
    fired = (started(), sleeping("nap", 2), TimerFired(node_id="nap", at_ms=3))
    owed = decide.invocation(given(executable, *fired).state, executable)
    assert owed is not None
    assert owed.inputs == {"from_nap": "null"}


def test_an_activity_that_nobody_serves_is_recorded_once_and_goes_on_when_served() -> None:
    executable = workflow(activity("a"), activity("b"))
    mark = ExecutionUnserved(node_id="a", activity="do-a", at_ms=NOW_MS)
    state = given(executable, started()).when(Unserved()).then(mark)
    assert state.unserved == mark
    assert decide.invocation(state, executable) is not None
    after = given(executable, started(), mark).when(returned("a")).then(completed("a"))
    assert after.unserved is None


def test_only_an_activity_can_be_unserved() -> None:
    given(workflow(wait("paid")), started(), waiting("paid")).when(Unserved()).then_nothing()
    given(workflow(activity("a"))).when(Unserved()).then_nothing()


def test_a_source_that_leads_nowhere_faults_the_run_and_says_what_is_there() -> None:
    """Proves: INC-01"""
    message = (
        "Expected a value for node 'a' at source 'input.order.price', found no 'price' in 'input.order', "
        "which is an object with id, lines, count, gift, total, note."
    )
    end = ExecutionFaulted(node_id="a", error_type="UnresolvedSource", error_message=message, at_ms=NOW_MS)
    scenario = given(workflow(activity("a", price="input.order.price"))).when(start())
    scenario.then(started(at_ms=NOW_MS), end)


def test_a_correlation_that_is_no_text_faults_the_run() -> None:
    message = (
        "Expected a text of 1 to 1024 characters without blanks at its ends, an integer or a boolean as correlation "
        "of node 'paid' at source 'input.order.lines', found an array of 2."
    )
    end = ExecutionFaulted(node_id="paid", error_type="InvalidCorrelation", error_message=message, at_ms=NOW_MS)
    given(workflow(wait("paid", "input.order.lines"))).when(start()).then(started(at_ms=NOW_MS), end)


def test_a_run_that_does_not_come_to_rest_within_the_bound_faults_by_name() -> None:
    """Proves: EXE-03"""
    turn = Turn(state_after(started()))
    advance(turn, workflow(wait("paid")), NOW_MS, cycles_max=1)
    assert turn.state.status == "waiting", "coming to rest with the last step is within the bound"
    turn = Turn(state_after(started()))
    advance(turn, workflow(wait("paid")), NOW_MS, cycles_max=0)
    message = "Expected the run to come to rest within 0 steps, found it still going on."
    end = ExecutionFaulted(node_id="paid", error_type=DRAIN_EXCEEDED, error_message=message, at_ms=NOW_MS)
    assert turn.events == [end]


def test_of_many_stimuli_at_once_one_consumes_a_bookmark() -> None:
    """Proves: BKM-03, D2"""
    executable = workflow(wait("paid"), activity("ship"))
    state = state_after(started(), waiting("paid"))
    results: list[Decided] = []
    for number in range(200):
        asked = resume(bookmark_id("paid"), f"stimulus-{number % 100}")
        results.append(decided(state, asked, executable, NOW_MS))
        state = after(state, results[-1])
    assert [len(events_of(result)) for result in results] == [1] + [0] * 199
    assert [number for number, result in enumerate(results) if result is NOTHING] == [100]
    assert state.wait is None
