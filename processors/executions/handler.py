"""Executions: the mailbox of each run in the loop of its shard.

Runs of one shard go side by side; one run never does, because at most one of its activities is under way and every
decision of it is made here. With immediate checkpoints an activity is called once the checkpoint before it counts. With
coalesced ones the run goes on at once; its steps gather (`coalescing.py`) and one event tells them all.
"""

from typing import ClassVar, cast

from interlock.domain.decider import NOTHING, Decided, Decision, Intent
from interlock.domain.definitions.executable import Cadence, Executable
from interlock.domain.executions.execution import decide
from interlock.domain.executions.execution.commands import ActivityFinished, ActivityRaised
from interlock.domain.executions.execution.decide import due_at_ms
from interlock.domain.executions.execution.events import ExecutionEvent
from interlock.domain.executions.execution.state import ExecutionState
from interlock.domain.executions.shard import ExecutionsShard, KeptExecutions
from interlock.domain.frozen import frozen
from interlock.domain.messages import CancelExecution, Origin, RejectStimulus, ResumeExecution, StartExecution
from interlock.domain.publishing.authority import Authority
from interlock.domain.refusal import Refusal
from interlock.domain.routing.dead_letter.letter import excerpt
from interlock.domain.sharding import digest
from interlock.processors.counted import KeptBook
from interlock.processors.executions.coalescing import Coalescing
from interlock.processors.executions.invoker import Activities, Invoker
from interlock.processors.mail import Cause, Received
from interlock.processors.mailbox import Mailbox
from interlock.processors.unit import Unit
from interlock.schemas.states import StateFormat


@frozen(kw_only=True)
class ExecutionsOptions:
    """What executions take from the settings."""

    checkpoints: Cadence
    """The host's cadence, for workflows that don't name one."""
    coalesce_wait_ms: int
    """How long a coalesced checkpoint waits for activities that are under way."""
    output_bytes_max: int
    """The largest output of an activity, in bytes."""


@frozen()
class Finished:
    """An activity of an execution has ended."""

    execution_id: str
    finished: ActivityFinished


@frozen()
class Unserved:
    """No code for the activity that an execution owes is in this process."""

    execution_id: str


@frozen()
class Abandoned:
    """A run was asked to end while an activity was under way in an ownership that is over."""

    execution_id: str


class ExecutionsHandler:
    """One shard of executions."""

    form: ClassVar[StateFormat] = StateFormat(KeptBook, KeptExecutions)

    def __init__(self, authority: Authority, invoker: Invoker, options: ExecutionsOptions) -> None:
        self.shard = ExecutionsShard()
        self.folded_with = ""
        self._authority = authority
        self._invoker = invoker
        self._options = options
        self._activities = Activities(invoker, self._report, output_bytes_max=options.output_bytes_max)
        self._coalescing = Coalescing(wait_s=options.coalesce_wait_ms / 1000)
        self._reported: dict[str, tuple[str, int]] = {}
        """Run → node and attempt whose report is in the mailbox; until it is decided the state still owes the call."""
        self._touched: dict[str, None] | None = None
        """Runs that may owe an activity since the last append; None before the first, when any may."""
        self._mailbox: Mailbox | None = None
        self._due: str | None = None
        self._ending = False

    def apply(self, stream: str, event: object) -> None:
        """Folds an event."""
        # The journal of executions holds nothing else; `evolve` refuses what it doesn't know.
        self.shard.apply(stream, cast("ExecutionEvent", event))

    def keep(self) -> object:
        """What is kept of the shard."""
        return self.shard.keep()

    def restore(self, kept: object) -> None:
        """Goes on with what was kept."""
        assert isinstance(kept, KeptExecutions), "expected what `keep` gave"
        self.shard.restore(kept)

    def handle(self, received: Received, unit: Unit) -> Decided:
        """Decides a start, a resume or a cancel."""
        message = received.message
        now_ms = unit.now_ms
        match message:
            case StartExecution():
                executable = self._authority.executable(message.artifact_id)
                if executable is None:
                    return _unknown_artifact(message, received, now_ms)
                decided = decide.start(self.shard.find(message.execution_id), message, executable, now_ms)
            case ResumeExecution():
                state = self.shard.find(message.execution_id)
                decided = decide.resume(state, message, self._executable(message.execution_id), now_ms)
            case CancelExecution():
                state = self.shard.find(message.execution_id)
                decided = decide.cancel(state, message, self._executable(message.execution_id), now_ms)
            case _:
                raise TypeError(f"expected a message to executions, found {type(message).__name__}")
        decided = self._gather(message.execution_id, decided, received.cause, unit)
        if isinstance(message, CancelExecution):
            self._cancel_activity(message.execution_id)
        return decided

    def local(self, item: object, unit: Unit) -> Decided:
        """Decides how an activity ended, or that none is here."""
        match item:
            case Finished():
                decided = self._finished(item, unit)
            case Unserved():
                state = self._running(item.execution_id)
                if state is None or state.unserved is not None:
                    return NOTHING
                decided = decide.unserved(state, self._pinned(state), unit.now_ms)
            case Abandoned():
                state = self._running(item.execution_id)
                if state is None or self._activities.under_way(item.execution_id):
                    return NOTHING
                decided = decide.abandon(state, unit.now_ms)
            case _:
                raise TypeError(f"expected a report of an activity, found {item!r}")
        return self._gather(item.execution_id, decided, self.cause(item), unit)

    def cause(self, item: object | None) -> Cause:
        """The run itself; what it does belongs to the story of the stimulus that started it."""
        match item:
            case Finished(execution_id=execution_id):
                return self._cause(f"activity:{item.finished.node_id}:{item.finished.attempt}", execution_id)
            case Unserved(execution_id=execution_id) | Abandoned(execution_id=execution_id):
                return self._cause("host", execution_id)
            case _:
                return self._cause("due", self._due)

    def due(self, unit: Unit) -> Decided:
        """Decides the first run whose timer or wait is over."""
        state = self._next_due(unit.now_ms)
        if state is None:
            return NOTHING
        execution_id = state.started.execution_id
        decided = decide.due(state, self._pinned(state), unit.now_ms)
        gathered = self._gather(execution_id, decided, self.cause(None), unit)
        # The loop asks until there is NOTHING; what coalescing keeps is as good as decided, so that it asks again.
        return Decision() if gathered is NOTHING and decided is not NOTHING else gathered

    def next_due_ms(self) -> int | None:
        """When the next timer or wait is over."""
        held = self._held_due()
        return self.shard.next_due_ms() if held is None else due_at_ms(held)

    def _next_due(self, now_ms: int) -> ExecutionState | None:
        """The shard gives each due run once; one whose decision didn't fit into its unit is held for the next."""
        while self._held_due() is None:
            taken = self.shard.take_due(now_ms, 1)
            if not taken:
                return None
            self._due = taken[0]
        return self._held_due()

    def _held_due(self) -> ExecutionState | None:
        state = None if self._due is None else self._running(self._due)
        if state is None or due_at_ms(state) is None:
            self._due = None
            return None
        return state

    def cannot(self, message: object, why: str, unit: Unit) -> Decided:
        """Faults the run whose step can't be written, refuses a command, and lets a start become a dead letter."""
        match message:
            case Finished():
                raised = ActivityRaised(error_type="OutputTooLarge", error_message=why)
                finished = message.finished
                again = ActivityFinished(node_id=finished.node_id, attempt=finished.attempt, result=raised)
                return self._finished(Finished(message.execution_id, again), unit)
            case CancelExecution():
                return Refusal("too-large", why)
            case StartExecution():
                return _dead_letter(message, "too-large", why, unit.now_ms)
            case _:
                return NOTHING

    async def settle(self, unit: Unit) -> None:
        """Lets coalesced runs go on for a while, then puts their steps into the unit."""
        if self._coalescing.empty:
            return
        while True:
            for execution_id in self._coalescing.runs():
                self._start_owed(execution_id)
            reports = await self._coalescing.reports(self._activities.under_way)
            if not reports:
                break
            for index, report in enumerate(reports):
                item = Finished(*report)
                if not self._coalescing.room(unit, report[1]):
                    self._leave(reports[index:])
                    break
                decided = self._finished(item, unit)
                self._gather(item.execution_id, decided, self.cause(item), unit)
        self._coalescing.flush(unit)

    def committed(self, mailbox: Mailbox) -> None:
        """Calls the activities that are owed."""
        self._mailbox = mailbox
        if self._touched is None:
            for execution_id in self.shard.cancelling:
                mailbox.put(Abandoned(execution_id))
            touched = [*self.shard.owed, *self.shard.unserved]
        else:
            touched = list(self._touched)
        self._touched = {}
        for execution_id in touched:
            self._start_owed(execution_id)

    def end(self) -> None:
        """What is called from here on would only be called again by the next owner."""
        self._ending = True

    async def close(self) -> None:
        """Ends the activities that are under way."""
        await self._activities.close()

    # ---- within -----------------------------------------------------------------------------------------------

    def _gather(self, execution_id: str, decided: Decided, cause: Cause, unit: Unit) -> Decided:
        """Leaves a decision to the loop, or, for a coalesced run, applies it and keeps it for `settle`."""
        if not isinstance(decided, Decision):
            return decided
        if self._touched is not None:
            self._touched[execution_id] = None
        if not self._coalesces(execution_id, decided):
            return decided
        self._coalescing.add(execution_id, decided, cause, unit, self.apply)
        return NOTHING

    def _coalesces(self, execution_id: str, decided: Decision) -> bool:
        if self._coalescing.holds(execution_id):
            return True
        if not decided.changes:
            return False
        state = self.shard.find(execution_id)
        if isinstance(state, ExecutionState):
            executable = self._pinned(state)
        else:
            started = decided.changes[0].event
            artifact_id = getattr(started, "artifact_id", None)
            found = self._authority.executable(artifact_id) if isinstance(artifact_id, str) else None
            if found is None:
                return False
            executable = found
        return (executable.checkpoints or self._options.checkpoints) == "coalesced"

    def _finished(self, item: Finished, unit: Unit) -> Decided:
        state = self._running(item.execution_id)
        if state is None:
            return NOTHING
        return decide.complete_activity(state, item.finished, self._pinned(state), unit.now_ms)

    def _start_owed(self, execution_id: str) -> None:
        state = self._running(execution_id)
        if state is None:
            self._reported.pop(execution_id, None)
            return
        if self._ending or self._activities.under_way(execution_id):
            return
        if state.status == "cancelling":
            # It was asked to end before its activity was called, as by a start and a cancel of one unit.
            if self._mailbox is not None:
                self._mailbox.put(Abandoned(execution_id))
            return
        invocation = decide.invocation(state, self._pinned(state))
        if invocation is None or self._reported.get(execution_id) == (invocation.node_id, invocation.attempt):
            return
        if self._invoker.serves(invocation.activity):
            self._activities.start(invocation)
        elif state.unserved is None and self._mailbox is not None:
            self._mailbox.put(Unserved(execution_id))

    def _report(self, execution_id: str, finished: ActivityFinished) -> None:
        if not self._coalescing.report(execution_id, finished):
            self._leave([(execution_id, finished)])

    def _leave(self, reports: list[tuple[str, ActivityFinished]]) -> None:
        assert self._mailbox is not None, "expected activities to be called by `committed` or `settle` only"
        for execution_id, finished in reports:
            self._reported[execution_id] = finished.node_id, finished.attempt
            self._mailbox.put(Finished(execution_id, finished))

    def _cancel_activity(self, execution_id: str) -> None:
        state = self._running(execution_id)
        # The state is still that before the request where the loop takes the decision; the activity is told either way.
        if state is not None:
            self._activities.cancel(execution_id)

    def _running(self, execution_id: str) -> ExecutionState | None:
        state = self.shard.find(execution_id)
        return state if isinstance(state, ExecutionState) else None

    def _executable(self, execution_id: str) -> Executable | None:
        state = self._running(execution_id)
        return None if state is None else self._pinned(state)

    def _pinned(self, state: ExecutionState) -> Executable:
        executable = self._authority.executable(state.started.artifact_id)
        if executable is None:
            raise AssertionError(
                f"expected the executable {state.started.artifact_id} of run {state.started.execution_id} in the "
                "publishing journal before the run, found none"
            )
        return executable

    def _cause(self, causation: str, execution_id: str | None) -> Cause:
        state = None if execution_id is None else self._running(execution_id)
        return Cause(causation, "" if state is None else state.started.stimulus_id, "")


def _unknown_artifact(message: StartExecution, received: Received, now_ms: int) -> Decided:
    detail = (
        f"expected the artifact {message.artifact_id} in the publishing journal up to {received.publishing}, found none"
    )
    return _dead_letter(message, "invalid", detail, now_ms)


def _dead_letter(message: StartExecution, reason: str, detail: str, now_ms: int) -> Decision:
    letter = RejectStimulus(
        dead_letter_id=digest("dead-letter", "start", message.execution_id),
        shell=message.shell,
        reason="too-large" if reason == "too-large" else "invalid",
        detail=detail,
        excerpt=excerpt(message.data),
        size=len(message.data),
        rejected_at_ms=now_ms,
        origin=Origin(channel="kafka"),
    )
    return Decision((), (Intent("routing", letter.dead_letter_id, letter),))
