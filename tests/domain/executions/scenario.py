"""Given these events, when this is asked, then these events, these answers, or nothing.

Every ending also holds the two standing properties of a command: folding its events gives the state that decisions go
on from, and asking the same again changes nothing, whether the run is known whole or by its summary.
"""

from dataclasses import dataclass
from typing import cast

from interlock.domain.decider import NOTHING, Decided, Decision, Intent, fold
from interlock.domain.definitions.executable import ActivityNode, Executable, Node, TimerNode, WaitNode
from interlock.domain.executions.execution import decide
from interlock.domain.executions.execution.commands import ActivityFinished, ActivityRaised
from interlock.domain.executions.execution.drain import STREAM_PREFIX
from interlock.domain.executions.execution.events import (
    ActivityCompleted,
    BookmarkConsumed,
    BookmarkCreated,
    CancelRequested,
    ExecutionEvent,
    ExecutionStarted,
    Step,
    TimerSet,
)
from interlock.domain.executions.execution.state import ExecutionState, evolve, summary
from interlock.domain.messages import CancelExecution, ResumeExecution, StartExecution
from interlock.domain.sharding import digest, stimulus_identity

RUN = "run-1"
ARTIFACT = "artifact-1"
STARTED_AT_MS = 1_000
NOW_MS = 5_000
PAID = stimulus_identity("Event", "payment.received")
ORDER = '{"order":{"id":"o-7","lines":[{"sku":"a"},{"sku":"b"}],"count":2,"gift":false,"total":1.5,"note":null}}'


@dataclass(frozen=True, slots=True)
class Due:
    """Looks for what is due."""


@dataclass(frozen=True, slots=True)
class Unserved:
    """No code for the activity is here."""


@dataclass(frozen=True, slots=True)
class Abandon:
    """The activity that was under way is gone."""


Asked = StartExecution | ResumeExecution | CancelExecution | ActivityFinished | Due | Unserved | Abandon


def decided(state: decide.Known | None, asked: Asked, executable: Executable, now_ms: int) -> Decided:
    """What the domain makes of it."""
    match asked:
        case StartExecution():
            return decide.start(state, asked, executable, now_ms)
        case ResumeExecution():
            return decide.resume(state, asked, executable, now_ms)
        case CancelExecution():
            return decide.cancel(state, asked, executable, now_ms)
        case ActivityFinished():
            return decide.complete_activity(state, asked, executable, now_ms)
        case Due():
            return decide.due(state, executable, now_ms)
        case Unserved():
            return decide.unserved(state, executable, now_ms)
        case Abandon():
            return decide.abandon(state, now_ms)


class Scenario:
    """A run with a history, and what it was asked."""

    def __init__(self, executable: Executable, history: tuple[ExecutionEvent, ...]) -> None:
        self.executable = executable
        self.state: ExecutionState | None = fold(evolve_known, None, history)
        self.result: Decided = NOTHING
        self._asked: Asked | None = None
        self._now_ms = NOW_MS

    def when(self, asked: Asked, now_ms: int = NOW_MS) -> "Scenario":
        """Asks it."""
        self._asked, self._now_ms = asked, now_ms
        self.result = decided(self.state, asked, self.executable, now_ms)
        return self

    def then(self, *events: ExecutionEvent, intents: tuple[Intent, ...] = ()) -> ExecutionState:
        """Exactly these events and intents; gives the state after them."""
        decision = self._decision()
        assert tuple(change.event for change in decision.changes) == events
        assert decision.intents == intents
        assert {change.stream for change in decision.changes} == {STREAM_PREFIX + RUN}
        after = fold(evolve_known, self.state, events)
        assert after is not None
        self._assert_repeating_changes_nothing(after)
        return after

    def then_only(self, *intents: Intent) -> None:
        """No event, but these intents."""
        decision = self._decision()
        assert decision.changes == ()
        assert decision.intents == intents
        if self.state is not None:
            self._assert_repeating_changes_nothing(self.state)

    def then_nothing(self) -> None:
        """Nothing at all."""
        assert self.result is NOTHING
        if self.state is not None:
            self._assert_repeating_changes_nothing(self.state)

    def _decision(self) -> Decision:
        assert isinstance(self.result, Decision), f"expected a decision, found {self.result}"
        return self.result

    def _assert_repeating_changes_nothing(self, after: ExecutionState) -> None:
        assert self._asked is not None
        again = decided(after, self._asked, self.executable, self._now_ms)
        assert again is NOTHING or (isinstance(again, Decision) and again.changes == ())
        ended = summary(after)
        if ended is not None:
            assert decided(ended, self._asked, self.executable, self._now_ms) == again


def evolve_known(state: ExecutionState | None, event: ExecutionEvent) -> ExecutionState | None:
    """`evolve`, for a fold that begins with nothing."""
    return evolve(state, event)


def events_of(result: Decided) -> tuple[Step, ...]:
    """The steps that were decided; none for nothing."""
    return tuple(cast("Step", change.event) for change in result.changes) if isinstance(result, Decision) else ()


def after(state: ExecutionState, result: Decided) -> ExecutionState:
    """The state when what was decided is committed."""
    return fold(evolve, state, events_of(result))


def state_after(*history: ExecutionEvent) -> ExecutionState:
    """The run with this history."""
    state = fold(evolve_known, None, history)
    assert state is not None
    return state


def given(executable: Executable, *history: ExecutionEvent) -> Scenario:
    """A run with this history; none if it is unknown."""
    return Scenario(executable, history)


# ---- executables --------------------------------------------------------------------------------------------------


def workflow(*nodes: Node, artifact_id: str = ARTIFACT) -> Executable:
    """An executable of these nodes."""
    return Executable(artifact_id=artifact_id, definition_id="orders", version="v1", triggers=(), nodes=nodes)


def activity(node_id: str, **inputs: str) -> ActivityNode:
    """A node that calls the activity `do-<node_id>`."""
    return ActivityNode(id=node_id, activity=f"do-{node_id}", inputs=tuple(inputs.items()))


def wait(node_id: str, correlate: str | None = "input.order.id", timeout_ms: int | None = None) -> WaitNode:
    """A node that waits for payments."""
    return WaitNode(
        id=node_id, type="Event", name="payment.received", identity=PAID, correlate=correlate, timeout_ms=timeout_ms
    )


def timer(node_id: str, delay_ms: int) -> TimerNode:
    """A node that sleeps."""
    return TimerNode(id=node_id, delay_ms=delay_ms)


# ---- what is asked ------------------------------------------------------------------------------------------------


def start(data: str = ORDER, artifact_id: str = ARTIFACT) -> StartExecution:
    """Asks to begin the run."""
    return StartExecution(
        execution_id=RUN,
        shell="default",
        definition_id="orders",
        slot_id="slot-1",
        publication_id="publication-1",
        artifact_id=artifact_id,
        trigger_node="trigger",
        stimulus_id="stimulus-1",
        stimulus_name="order.placed",
        data=data,
    )


def resume(bookmark: str, stimulus_id: str = "stimulus-2", data: str = '{"paid":true}') -> ResumeExecution:
    """Gives the run a payment."""
    return ResumeExecution(
        execution_id=RUN,
        shell="default",
        bookmark_id=bookmark,
        stimulus_id=stimulus_id,
        identity=PAID,
        correlation="o-7",
        data=data,
    )


def cancel(command_id: str = "cancel-1") -> CancelExecution:
    """Asks the run to end."""
    return CancelExecution(command_id=command_id, execution_id=RUN, requested_by="ann", reason="no longer wanted")


def returned(node_id: str, output: str = "1", attempt: int = 1) -> ActivityFinished:
    """An activity gave its output."""
    return ActivityFinished(node_id=node_id, attempt=attempt, result=output)


def raised(node_id: str, attempt: int = 1, message: str = "no stock") -> ActivityFinished:
    """An activity raised."""
    error = ActivityRaised(error_type="OutOfStock", error_message=message)
    return ActivityFinished(node_id=node_id, attempt=attempt, result=error)


# ---- facts --------------------------------------------------------------------------------------------------------


def bookmark_id(node_id: str, visit: int = 1) -> str:
    """The id of a bookmark of the run."""
    return digest("bookmark", RUN, node_id, str(visit))


def started(data: str = ORDER, at_ms: int = STARTED_AT_MS) -> ExecutionStarted:
    """The run exists."""
    return ExecutionStarted(
        execution_id=RUN,
        shell="default",
        definition_id="orders",
        slot_id="slot-1",
        publication_id="publication-1",
        artifact_id=ARTIFACT,
        trigger_node="trigger",
        stimulus_id="stimulus-1",
        stimulus_name="order.placed",
        data=data,
        at_ms=at_ms,
    )


def completed(node_id: str, output: str = "1", at_ms: int = NOW_MS) -> ActivityCompleted:
    """An activity gave its output."""
    return ActivityCompleted(node_id=node_id, attempt=1, output=output, at_ms=at_ms)


def waiting(
    node_id: str, correlation: str = "o-7", expires_at_ms: int | None = None, at_ms: int = NOW_MS
) -> BookmarkCreated:
    """It waits for a payment."""
    return BookmarkCreated(
        bookmark_id=bookmark_id(node_id),
        node_id=node_id,
        identity=PAID,
        correlation=correlation,
        expires_at_ms=expires_at_ms,
        at_ms=at_ms,
    )


def consumed(node_id: str, stimulus_id: str = "stimulus-2", data: str = '{"paid":true}') -> BookmarkConsumed:
    """The payment came."""
    return BookmarkConsumed(
        bookmark_id=bookmark_id(node_id), node_id=node_id, stimulus_id=stimulus_id, data=data, at_ms=NOW_MS
    )


def sleeping(node_id: str, due_at_ms: int, at_ms: int = NOW_MS) -> TimerSet:
    """It sleeps."""
    return TimerSet(node_id=node_id, due_at_ms=due_at_ms, at_ms=at_ms)


def cancel_requested(command_id: str = "cancel-1", at_ms: int = NOW_MS) -> CancelRequested:
    """Somebody asked it to end."""
    return CancelRequested(command_id=command_id, requested_by="ann", reason="no longer wanted", at_ms=at_ms)
