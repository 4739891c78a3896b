"""What an execution is: `INITIAL`, `evolve(state, event)`, and the `summary` that is left when it has ended.

Always: an execution goes through its executable's nodes in order, and each finished node leaves an output, so the
outputs are also its cursor. Whenever a decision is whole, a run that is "running" owes an invocation of an activity,
one that is "waiting" has a bookmark or a timer open, and one that is "cancelling" had an activity under way.

Surprising: the state is a named tuple and not a frozen dataclass. `evolve` makes one for every event of every run, live
and on replay; a frozen dataclass of this size takes 1.5 µs to make, a named tuple 0.4 µs. Facts that are needed again
are kept as the events that told them, so nothing is copied.
"""

from dataclasses import field
from typing import Final, Literal, NamedTuple, assert_never

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
    ExecutionStarted,
    ExecutionUnserved,
    TimerFired,
    TimerSet,
)
from interlock.domain.frozen import frozen

TerminalStatus = Literal["completed", "faulted", "cancelled"]
Status = Literal["running", "waiting", "cancelling", TerminalStatus]
"""running: it owes an activity · waiting: for a stimulus or a time · cancelling: for the activity that was under way
when it was asked to end · the rest: ended."""

NO_OUTPUT: Final = "null"
"""The output of a node that gives none, as JSON."""


class ExecutionState(NamedTuple):
    """An execution as its events tell it."""

    started: ExecutionStarted
    """What it is pinned to for life: artifact, publication, slot, and the stimulus that started it with its payload."""
    status: Status
    outputs: dict[str, str]
    """Node → output as JSON text, in the order in which the nodes finished; never changed in place."""
    attempt: int
    """The number, from 1, of the attempt that the node at the cursor is at."""
    wait: BookmarkCreated | None
    """The open bookmark."""
    timer: TimerSet | None
    """The open timer."""
    unserved: ExecutionUnserved | None
    """Since when no code for the activity that it owes has been here."""
    taken: tuple[BookmarkConsumed, ...]
    """The stimuli that resumed it, in order."""
    cancels: tuple[CancelRequested, ...]
    """Who asked it to end; each is answered when it has ended."""

    @property
    def cursor(self) -> int:
        """How many nodes are done, which is the index of the next one."""
        return len(self.outputs)

    def has_taken(self, bookmark_id: str, stimulus_id: str) -> bool:
        """Whether this very stimulus has resumed this bookmark."""
        return any(one.bookmark_id == bookmark_id and one.stimulus_id == stimulus_id for one in self.taken)

    def has_cancel(self, command_id: str) -> bool:
        """Whether this very command has asked it to end."""
        return any(one.command_id == command_id for one in self.cancels)


@frozen()
class Ended:
    """What is left of an execution that has ended: enough to recognise commands that come again."""

    status: TerminalStatus
    taken: tuple[tuple[str, str], ...] = field(default=())
    """Bookmark and stimulus of each resume."""
    cancels: tuple[str, ...] = field(default=())
    """The commands that asked it to end."""

    def has_taken(self, bookmark_id: str, stimulus_id: str) -> bool:
        """Whether this very stimulus has resumed this bookmark."""
        return (bookmark_id, stimulus_id) in self.taken

    def has_cancel(self, command_id: str) -> bool:
        """Whether this very command has asked it to end."""
        return command_id in self.cancels


INITIAL: Final = None
"""Nothing is known of an execution before its first event."""


class UnfoldableEvent(Exception):
    """The history of an execution doesn't begin with its start; the journal is damaged, and its shard must stop."""


def evolve(state: ExecutionState | None, event: ExecutionEvent) -> ExecutionState:
    """The state after an event. Raises `UnfoldableEvent` where a history begins with anything but its start."""
    if state is None:
        return _begin(event)
    started, status, outputs, attempt, wait, timer, unserved, taken, cancels = state
    match event:  # the frequent ones first
        case ActivityCompleted():
            outputs = {**outputs, event.node_id: event.output}
            return ExecutionState(started, status, outputs, 1, wait, timer, None, taken, cancels)
        case ExecutionCompleted():
            return ExecutionState(started, "completed", outputs, attempt, None, None, None, taken, cancels)
        case CheckpointsCoalesced():
            for step in event.steps:
                state = evolve(state, step)
            return state
        case BookmarkCreated():
            return ExecutionState(started, "waiting", outputs, attempt, event, timer, unserved, taken, cancels)
        case BookmarkConsumed():
            outputs = {**outputs, event.node_id: event.data}
            return ExecutionState(started, "running", outputs, 1, None, timer, unserved, (*taken, event), cancels)
        case TimerSet():
            return ExecutionState(started, "waiting", outputs, attempt, wait, event, unserved, taken, cancels)
        case TimerFired():
            outputs = {**outputs, event.node_id: NO_OUTPUT}
            return ExecutionState(started, "running", outputs, 1, wait, None, unserved, taken, cancels)
        case ActivityFaulted():
            return ExecutionState(started, status, outputs, event.attempt + 1, wait, timer, None, taken, cancels)
        case BookmarkExpired():
            return ExecutionState(started, "running", outputs, attempt, None, timer, unserved, taken, cancels)
        case ExecutionUnserved():
            return ExecutionState(started, status, outputs, attempt, wait, timer, event, taken, cancels)
        case CancelRequested():
            cancels = (*cancels, event)
            return ExecutionState(started, "cancelling", outputs, attempt, wait, timer, unserved, taken, cancels)
        case ExecutionFaulted():
            return ExecutionState(started, "faulted", outputs, attempt, None, None, None, taken, cancels)
        case ExecutionCancelled():
            return ExecutionState(started, "cancelled", outputs, attempt, None, None, None, taken, cancels)
        case ExecutionStarted():
            return _begin(event)
    assert_never(event)


def summary(state: ExecutionState) -> Ended | None:
    """What is kept of an execution that has ended; None while it hasn't. The common ones share one object."""
    status = state.status
    if status == "running" or status == "waiting" or status == "cancelling":
        return None
    if not state.taken and not state.cancels:
        return PLAIN_ENDS[status]
    taken = tuple((one.bookmark_id, one.stimulus_id) for one in state.taken)
    return Ended(status, taken, tuple(one.command_id for one in state.cancels))


PLAIN_ENDS: Final[dict[TerminalStatus, Ended]] = {
    "completed": Ended("completed"),
    "faulted": Ended("faulted"),
    "cancelled": Ended("cancelled"),
}
"""The summaries of executions that took no stimulus and were not asked to end."""


def _begin(event: ExecutionEvent) -> ExecutionState:
    if isinstance(event, ExecutionStarted):
        return ExecutionState(event, "running", {}, 1, None, None, None, (), ())
    if isinstance(event, CheckpointsCoalesced) and event.steps:
        state = _begin(event.steps[0])
        for step in event.steps[1:]:
            state = evolve(state, step)
        return state
    raise UnfoldableEvent(
        f"Expected the history of an execution to begin with ExecutionStarted, found {type(event).__name__}; "
        "the journal is damaged, or read from its middle without a snapshot."
    )
