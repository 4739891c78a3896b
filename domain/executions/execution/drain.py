"""The drain: takes the steps that an execution takes by itself, within the decision that made them possible.

Always: when it returns the run owes an activity, waits, or has ended; so whatever was accepted is worked off in the
same commit, and nothing is left that only memory would know of.
"""

from typing import Final, assert_never

from interlock.domain import sharding
from interlock.domain.decider import Change, Decision, Intent
from interlock.domain.definitions.executable import Executable
from interlock.domain.executions.execution import answers
from interlock.domain.executions.execution.events import (
    BookmarkCreated,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFaulted,
    Step,
    TimerSet,
)
from interlock.domain.executions.execution.scheduler import (
    Complete,
    CreateBookmark,
    Fault,
    Idle,
    Invoke,
    SetTimer,
    next_step,
)
from interlock.domain.executions.execution.state import ExecutionState, evolve
from interlock.domain.messages import RegisterWait, ResumeDeclined, WithdrawWait

STREAM_PREFIX: Final = "execution:"
"""What the stream of an execution is named by, before its id."""

DRAIN_CYCLES_MAX: Final = 1_000
"""Steps that a run may take by itself in one decision; more would hold up its shard, and not fit one append."""

DRAIN_EXCEEDED: Final = "DrainExceeded"
"""The error of a run that would not come to rest within the bound (EXE-03)."""

ERROR_CHARS_MAX: Final = 4_096
"""How much of an activity's error message is recorded: the cause stands at its beginning, and an append has a limit."""


def stream_of(execution_id: str) -> str:
    """The stream of an execution."""
    return STREAM_PREFIX + execution_id


class Turn:
    """A decision while it is being made: the state after what it holds so far."""

    __slots__ = ("events", "intents", "state")

    def __init__(self, state: ExecutionState, events: tuple[Step, ...] = ()) -> None:
        self.state = state
        """The execution after `events`."""
        self.events: list[Step] = list(events)
        """What the decision holds so far, in order."""
        self.intents: list[Intent] = []
        """What it promises so far, in order."""

    def record(self, event: Step) -> None:
        """Adds a step."""
        self.events.append(event)
        self.state = evolve(self.state, event)

    def decision(self) -> Decision:
        """The whole of it."""
        stream = stream_of(self.state.started.execution_id)
        return Decision(tuple(Change(stream, event) for event in self.events), tuple(self.intents))


def advance(turn: Turn, executable: Executable, now_ms: int, cycles_max: int = DRAIN_CYCLES_MAX) -> None:
    """The drain: takes step after step until an activity must be invoked or the run is quiescent. A run that isn't so
    after `cycles_max` steps faults with `DrainExceeded`."""
    for _ in range(cycles_max):
        step = next_step(executable, turn.state)
        match step:
            case Invoke() | Idle():
                return
            case Complete():
                turn.record(ExecutionCompleted(output=step.output, at_ms=now_ms))
            case CreateBookmark():
                _open_wait(turn, step, now_ms)
            case SetTimer():
                due_ms = now_ms + step.node.delay_ms
                turn.record(TimerSet(node_id=step.node.id, due_at_ms=due_ms, at_ms=now_ms))
            case Fault():
                end_faulted(turn, step.node_id, step.error_type, step.error_message, now_ms)
            case _:
                assert_never(step)
    if not isinstance(next_step(executable, turn.state), Invoke | Idle):
        node_id = executable.nodes[turn.state.cursor].id if turn.state.cursor < len(executable.nodes) else ""
        message = f"Expected the run to come to rest within {cycles_max} steps, found it still going on."
        end_faulted(turn, node_id, DRAIN_EXCEEDED, message, now_ms)


def _open_wait(turn: Turn, step: CreateBookmark, now_ms: int) -> None:
    started = turn.state.started
    node = step.node
    # What happens outside never meets the wait of a test run, which would take it from the runs that it is for.
    is_test = bool(started.test_reference_id)
    identity = sharding.identity_for_run(started.execution_id, node.identity) if is_test else node.identity
    visit = 1 + sum(1 for one in turn.state.taken if one.node_id == node.id)
    event = BookmarkCreated(
        bookmark_id=sharding.digest("bookmark", started.execution_id, node.id, str(visit)),
        node_id=node.id,
        identity=identity,
        correlation=step.correlation,
        expires_at_ms=None if node.timeout_ms is None else now_ms + node.timeout_ms,
        at_ms=now_ms,
    )
    turn.record(event)
    register = RegisterWait(
        shell=started.shell,
        identity=event.identity,
        correlation=event.correlation,
        execution_id=started.execution_id,
        bookmark_id=event.bookmark_id,
        committed_at_ms=now_ms,
        started_by=started.stimulus_id,
    )
    turn.intents.append(routed(started.shell, event.identity, event.correlation, register))


def end_faulted(turn: Turn, node_id: str, error_type: str, error_message: str, now_ms: int) -> None:
    """Ends the run with an error."""
    turn.record(
        ExecutionFaulted(
            node_id=node_id,
            error_type=recordable(error_type),
            error_message=recordable(error_message),
            at_ms=now_ms,
        )
    )


def end_cancelled(turn: Turn, now_ms: int) -> None:
    """Ends by request: an open wait is withdrawn, and all who asked are answered."""
    state = turn.state
    if state.wait is not None:
        turn.intents.append(withdrawal(state, state.wait))
    turn.record(ExecutionCancelled(at_ms=now_ms))
    for asked in state.cancels:
        turn.intents.append(answers.cancelled(state.started.execution_id, asked.command_id))


def withdrawal(state: ExecutionState, wait: BookmarkCreated) -> Intent:
    """Tells the router that a wait is gone without a stimulus."""
    started = state.started
    withdraw = WithdrawWait(
        shell=started.shell,
        identity=wait.identity,
        correlation=wait.correlation,
        execution_id=started.execution_id,
        bookmark_id=wait.bookmark_id,
    )
    return routed(started.shell, wait.identity, wait.correlation, withdraw)


def routed(
    shell: str, identity: str, correlation: str, message: RegisterWait | WithdrawWait | ResumeDeclined
) -> Intent:
    """A message to the shard where the waits and stimuli of an identity and correlation meet."""
    return Intent("routing", sharding.routing_key(shell, identity, correlation), message)


def recordable(text: str) -> str:
    """A text of somebody else's code as it can be stored: within the limit, and without halves of surrogate pairs."""
    shown = text if len(text) <= ERROR_CHARS_MAX else text[:ERROR_CHARS_MAX] + "…"
    return shown if shown.isascii() else shown.encode("utf-8", "backslashreplace").decode("utf-8")
