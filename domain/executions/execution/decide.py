"""What an execution does: each command is accepted and worked off in one decision.

Every function gives the events and intents of one commit, or `NOTHING`. After what was asked, the drain asks the
scheduler for the next step and takes it, until an activity must be invoked or the run is quiescent. So the outcome of a
race is one serial decision: what comes first wins, and what comes after an end changes nothing.

Handlers may see everything twice: a start finds its run, a resume finds that it was taken, a cancel is answered again
from how the run ended, a result finds another node at the cursor, a due time finds nothing open.

`executable` is always the one that the run is pinned to (EXE-01); another one is a `WrongExecutable`, which means that
the program is wrong. A run that is unknown is None; one that has ended may be given whole or as its summary.
"""

from typing import Final

from interlock.domain import sharding
from interlock.domain.decider import NOTHING, Decided, Decision, Intent
from interlock.domain.definitions.executable import Executable
from interlock.domain.executions.execution import answers
from interlock.domain.executions.execution.commands import ActivityFinished, ActivityRaised
from interlock.domain.executions.execution.drain import (
    Turn,
    advance,
    end_cancelled,
    end_faulted,
    recordable,
    routed,
    withdrawal,
)
from interlock.domain.executions.execution.events import (
    ActivityCompleted,
    ActivityFaulted,
    BookmarkConsumed,
    BookmarkExpired,
    CancelRequested,
    ExecutionStarted,
    ExecutionUnserved,
    TimerFired,
)
from interlock.domain.executions.execution.scheduler import (
    Invoke,
    activity_at,
    next_step,
)
from interlock.domain.executions.execution.state import Ended, ExecutionState, evolve, summary
from interlock.domain.frozen import frozen
from interlock.domain.messages import (
    CancelExecution,
    ResumeDeclined,
    ResumeExecution,
    StartExecution,
)

WAIT_TIMED_OUT: Final = "WaitTimedOut"
"""The error of a run whose stimulus didn't come in time."""

Known = ExecutionState | Ended
"""An execution that there is, or was."""


class WrongExecutable(Exception):
    """A run was given an executable that it is not pinned to."""


@frozen()
class Invocation:
    """An activity that a run owes; asked for again after a crash, it is the same."""

    execution_id: str
    node_id: str
    activity: str
    """The name under which a process presents its code."""
    attempt: int
    """From 1."""
    inputs: dict[str, str]
    """Parameter → JSON text."""
    idempotency_key: str
    """The same for every invocation of this attempt, for whatever the activity calls."""


def start(state: Known | None, command: StartExecution, executable: Executable, now_ms: int) -> Decided:
    """Begins a run; one that there is, or was, is not begun again (STM-04)."""
    if state is not None:
        return NOTHING
    if command.artifact_id != executable.artifact_id:
        raise _wrong(command.execution_id, command.artifact_id, executable)
    event = ExecutionStarted(
        execution_id=command.execution_id,
        shell=command.shell,
        definition_id=command.definition_id,
        slot_id=command.slot_id,
        publication_id=command.publication_id,
        artifact_id=command.artifact_id,
        trigger_node=command.trigger_node,
        stimulus_id=command.stimulus_id,
        stimulus_name=command.stimulus_name,
        data=command.data,
        at_ms=now_ms,
        test_reference_id=command.test_reference_id,
    )
    turn = Turn(evolve(None, event), (event,))
    advance(turn, executable, now_ms)
    return turn.decision()


def resume(state: Known | None, command: ResumeExecution, executable: Executable | None, now_ms: int) -> Decided:
    """Gives the open bookmark its stimulus. Where it isn't open the stimulus is declined, so that others get it, except
    where it was taken by this very bookmark before. `executable` may be None where the run is unknown or has ended."""
    if isinstance(state, ExecutionState) and state.wait is not None and state.wait.bookmark_id == command.bookmark_id:
        event = BookmarkConsumed(
            bookmark_id=command.bookmark_id,
            node_id=state.wait.node_id,
            stimulus_id=command.stimulus_id,
            data=command.data,
            at_ms=now_ms,
        )
        turn = Turn(state)
        turn.record(event)
        advance(turn, _pinned(state, executable), now_ms)
        return turn.decision()
    if state is not None and state.has_taken(command.bookmark_id, command.stimulus_id):
        return NOTHING
    declined = ResumeDeclined(
        shell=command.shell,
        identity=command.identity,
        correlation=command.correlation,
        execution_id=command.execution_id,
        bookmark_id=command.bookmark_id,
        stimulus_id=command.stimulus_id,
    )
    return Decision((), (routed(command.shell, command.identity, command.correlation, declined),))


def cancel(state: Known | None, command: CancelExecution, executable: Executable | None, now_ms: int) -> Decided:
    """Asks a run to end (HLD-02). With an activity under way it ends when that has, else at once; whoever asked is
    answered when it has ended, or that there is nothing to end. `executable` may be None as for `resume`.

    An activity that nobody serves is not under way. Should code for it have come since, its result changes nothing.
    """
    if state is None:
        return Decision((), (answers.not_found(command),))
    ended = state if isinstance(state, Ended) else summary(state)
    if ended is not None:
        return Decision((), (_answer_ended(ended, command),))
    if isinstance(state, Ended) or state.has_cancel(command.command_id):
        return NOTHING
    turn = Turn(state)
    under_way = activity_at(_pinned(state, executable), state) is not None and state.unserved is None
    turn.record(
        CancelRequested(
            command_id=command.command_id, requested_by=command.requested_by, reason=command.reason, at_ms=now_ms
        )
    )
    if not under_way:
        end_cancelled(turn, now_ms)
    return turn.decision()


def complete_activity(
    state: Known | None, finished: ActivityFinished, executable: Executable | None, now_ms: int
) -> Decided:
    """Records how an activity ended and goes on; a run that is being cancelled ends. What comes late or twice (another
    attempt, another node, a run that has ended) changes nothing. `executable` may be None as for `resume`."""
    if not isinstance(state, ExecutionState) or summary(state) is not None:
        return NOTHING
    node = activity_at(_pinned(state, executable), state)
    if node is None or node.id != finished.node_id or state.attempt != finished.attempt:
        return NOTHING
    turn = Turn(state)
    result = finished.result
    if isinstance(result, ActivityRaised):
        _record_raised(turn, finished, result, now_ms)
    else:
        turn.record(ActivityCompleted(node_id=finished.node_id, attempt=finished.attempt, output=result, at_ms=now_ms))
    if state.status == "cancelling":
        end_cancelled(turn, now_ms)
    elif isinstance(result, ActivityRaised):
        end_faulted(turn, finished.node_id, result.error_type, result.error_message, now_ms)
    else:
        advance(turn, _pinned(state, executable), now_ms)
    return turn.decision()


def unserved(state: Known | None, executable: Executable, now_ms: int) -> Decided:
    """Records, once for an activity, that no code for it is here; a run that is being cancelled ends."""
    if not isinstance(state, ExecutionState) or state.unserved is not None:
        return NOTHING
    node = activity_at(_pinned(state, executable), state)
    if node is None:
        return NOTHING
    if state.status == "cancelling":
        return abandon(state, now_ms)
    turn = Turn(state)
    turn.record(ExecutionUnserved(node_id=node.id, activity=node.activity, at_ms=now_ms))
    return turn.decision()


def abandon(state: Known | None, now_ms: int) -> Decided:
    """Ends a run that is being cancelled and whose activity is known to be gone, as after a crash: `invocation` gives
    no new one to a run that is being cancelled, so nothing else would ever end it. Any other run stays as it is."""
    if not isinstance(state, ExecutionState) or state.status != "cancelling":
        return NOTHING
    turn = Turn(state)
    end_cancelled(turn, now_ms)
    return turn.decision()


def due(state: Known | None, executable: Executable | None, now_ms: int) -> Decided:
    """What is due by now: a wait that ran out of time faults the run, a timer lets it go on. `executable` may be None
    as for `resume`; what is due of a run that is gone is dropped (TMR-01)."""
    due_ms = due_at_ms(state)
    if not isinstance(state, ExecutionState) or due_ms is None or now_ms < due_ms:
        return NOTHING
    turn = Turn(state)
    if state.timer is not None:
        turn.record(TimerFired(node_id=state.timer.node_id, at_ms=now_ms))
        advance(turn, _pinned(state, executable), now_ms)
    elif state.wait is not None:
        wait = state.wait
        turn.record(BookmarkExpired(bookmark_id=wait.bookmark_id, node_id=wait.node_id, at_ms=now_ms))
        turn.intents.append(withdrawal(state, wait))
        message = (
            f"Expected a stimulus for node {wait.node_id!r} with correlation {wait.correlation!r} within "
            f"{due_ms - wait.at_ms} ms, found none."
        )
        end_faulted(turn, wait.node_id, WAIT_TIMED_OUT, message, now_ms)
    return turn.decision()


def invocation(state: Known | None, executable: Executable) -> Invocation | None:
    """The activity that a run owes now; None if it owes none, or is being cancelled."""
    if not isinstance(state, ExecutionState):
        return None
    step = next_step(_pinned(state, executable), state)
    if not isinstance(step, Invoke):
        return None
    execution_id = state.started.execution_id
    key = sharding.digest("activity", execution_id, step.node.id, str(state.attempt))
    return Invocation(execution_id, step.node.id, step.node.activity, state.attempt, step.inputs, key)


def due_at_ms(state: Known | None) -> int | None:
    """The absolute instant at which `due` has something to do, in milliseconds since 1970; None if there is none."""
    if not isinstance(state, ExecutionState):
        return None
    if state.timer is not None:
        return state.timer.due_at_ms
    return None if state.wait is None else state.wait.expires_at_ms


def _record_raised(turn: Turn, finished: ActivityFinished, raised: ActivityRaised, now_ms: int) -> None:
    turn.record(
        ActivityFaulted(
            node_id=finished.node_id,
            attempt=finished.attempt,
            error_type=recordable(raised.error_type),
            error_message=recordable(raised.error_message),
            at_ms=now_ms,
        )
    )


def _answer_ended(ended: Ended, command: CancelExecution) -> Intent:
    """The answer to a cancel of a run that has ended: by this very command, or before it."""
    if ended.has_cancel(command.command_id):
        return answers.cancelled(command.execution_id, command.command_id)
    return answers.ended_before(command, ended.status)


def _pinned(state: ExecutionState, executable: Executable | None) -> Executable:
    """The executable, if it is the one that the run is pinned to."""
    if executable is None or executable.artifact_id != state.started.artifact_id:
        raise _wrong(state.started.execution_id, state.started.artifact_id, executable)
    return executable


def _wrong(execution_id: str, artifact_id: str, found: Executable | None) -> WrongExecutable:
    given = "none" if found is None else repr(found.artifact_id)
    return WrongExecutable(f"Expected executable {artifact_id!r} for run {execution_id!r}, found {given}.")
