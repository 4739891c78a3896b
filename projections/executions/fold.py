"""How the executions journal becomes runs.

An execution lives in one shard, and every row is keyed by its id: so the order between shards changes nothing. The
frequent events come first, and those in the middle of a run write no more than a row of their own.
"""

from typing import Final

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
    ExecutionFaulted,
    ExecutionStarted,
    ExecutionUnserved,
    TimerFired,
    TimerSet,
)
from interlock.projections.executions.store import (
    CANCELS,
    EXECUTIONS,
    STEPS,
    TABLES,
    WAITS,
    CancelRow,
    ExecutionRow,
    StepKind,
    StepRow,
    StepStatus,
    WaitRow,
)
from interlock.projections.recorded import Recorded
from interlock.projections.rows import Rows
from interlock.projections.view import View, each_event, missing, unknown


def fold(recorded: Recorded, rows: Rows) -> None:
    """Folds one event of the executions journal."""
    execution_id = recorded.stream.removeprefix("execution:")
    event = recorded.event
    steps = event.steps if isinstance(event, CheckpointsCoalesced) else (event,)
    for place, step in enumerate(steps):
        _Run(rows, execution_id, recorded.revision, place).fold(step)


class _Run:
    """One run while one of its checkpoints is folded."""

    __slots__ = ("_execution_id", "_place", "_revision", "_rows")

    def __init__(self, rows: Rows, execution_id: str, revision: int, place: int) -> None:
        self._rows = rows
        self._execution_id = execution_id
        self._revision = revision
        self._place = place

    def fold(self, step: object) -> None:
        match step:
            case ActivityCompleted():
                self._step("activity", step.node_id, step.at_ms, "completed", step.output, attempt=step.attempt)
                self._served()
            case ExecutionStarted():
                self._rows.put(EXECUTIONS, _started(step))
            case ExecutionCompleted():
                self._end(self._row()._replace(status="completed", output=step.output, ended_at_ms=step.at_ms))
            case ActivityFaulted():
                error = (step.error_type, step.error_message)
                self._step("activity", step.node_id, step.at_ms, "faulted", "", error, attempt=step.attempt)
                self._served()
            case BookmarkCreated() | TimerSet():
                self._wait(step)
            case BookmarkConsumed():
                self._step("wait", step.node_id, step.at_ms, "completed", step.data)
                self._go_on()
            case BookmarkExpired():
                self._step("wait", step.node_id, step.at_ms, "expired")
                self._go_on()
            case TimerFired():
                self._step("timer", step.node_id, step.at_ms, "completed")
                self._go_on()
            case ExecutionUnserved():
                self._put(self._row(), step.node_id, step.activity, step.at_ms)
            case CancelRequested():
                self._request_cancel(step)
            case ExecutionCancelled():
                self._end(self._row()._replace(status="cancelled", node_id="", ended_at_ms=step.at_ms))
            case ExecutionFaulted():
                self._fault(step)
            case _:
                raise unknown(step)

    def _row(self) -> ExecutionRow:
        row = self._rows.get(EXECUTIONS, self._execution_id)
        if row is None:
            raise missing(f"execution {self._execution_id}")
        return row

    def _put(self, row: ExecutionRow, node_id: str, unserved: str = "", unserved_since_ms: int | None = None) -> None:
        self._rows.put(
            EXECUTIONS,
            row._replace(node_id=node_id, unserved_activity=unserved, unserved_since_ms=unserved_since_ms),
        )

    def _step(
        self,
        kind: StepKind,
        node_id: str,
        at_ms: int,
        status: StepStatus,
        output: str = "",
        error: tuple[str, str] = ("", ""),
        *,
        attempt: int = 1,
    ) -> None:
        row = StepRow(
            execution_id=self._execution_id,
            node_id=node_id,
            attempt=attempt,
            revision=self._revision,
            place=self._place,
            kind=kind,
            status=status,
            output=output,
            error_type=error[0],
            error_message=error[1],
            at_ms=at_ms,
        )
        self._rows.put(STEPS, row)

    def _served(self) -> None:
        """Somebody had the code again."""
        row = self._row()
        if row.unserved_since_ms is not None:
            self._put(row, "")

    def _wait(self, step: BookmarkCreated | TimerSet) -> None:
        row = self._row()
        if isinstance(step, BookmarkCreated):
            wait = WaitRow(
                execution_id=self._execution_id,
                node_id=step.node_id,
                kind="wait",
                bookmark_id=step.bookmark_id,
                identity=step.identity,
                correlation=step.correlation,
                until_ms=step.expires_at_ms,
                since_ms=step.at_ms,
            )
        else:
            wait = WaitRow(
                execution_id=self._execution_id,
                node_id=step.node_id,
                kind="timer",
                bookmark_id="",
                identity="",
                correlation="",
                until_ms=step.due_at_ms,
                since_ms=step.at_ms,
            )
        self._rows.put(WAITS, wait)
        self._put(row._replace(status="waiting"), step.node_id)

    def _go_on(self) -> None:
        self._rows.delete(WAITS, self._execution_id)
        self._put(self._row()._replace(status="running"), "")

    def _request_cancel(self, step: CancelRequested) -> None:
        cancel = CancelRow(
            execution_id=self._execution_id,
            command_id=step.command_id,
            requested_by=step.requested_by,
            reason=step.reason,
            at_ms=step.at_ms,
        )
        self._rows.put(CANCELS, cancel)
        self._rows.put(EXECUTIONS, self._row()._replace(status="cancelling"))

    def _fault(self, step: ExecutionFaulted) -> None:
        faulted = self._row()._replace(
            status="faulted",
            node_id=step.node_id,
            error_type=step.error_type,
            error_message=step.error_message,
            ended_at_ms=step.at_ms,
        )
        self._end(faulted)

    def _end(self, row: ExecutionRow) -> None:
        # Most runs end without a wait; only what may have one is worth a deletion.
        if self._row().status in ("waiting", "cancelling"):
            self._rows.delete(WAITS, self._execution_id)
        ended = row
        if row.unserved_since_ms is not None:
            ended = row._replace(unserved_activity="", unserved_since_ms=None)
        self._rows.put(EXECUTIONS, ended)


def _started(step: ExecutionStarted) -> ExecutionRow:
    return ExecutionRow(
        execution_id=step.execution_id,
        shell=step.shell,
        definition_id=step.definition_id,
        slot_id=step.slot_id,
        publication_id=step.publication_id,
        artifact_id=step.artifact_id,
        trigger_node=step.trigger_node,
        stimulus_id=step.stimulus_id,
        stimulus_name=step.stimulus_name,
        status="running",
        started_at_ms=step.at_ms,
        ended_at_ms=None,
        node_id="",
        unserved_activity="",
        unserved_since_ms=None,
        error_type="",
        error_message="",
        output="",
        test_reference_id=step.test_reference_id,
    )


VIEW: Final = View(name="executions", contexts=("executions",), tables=TABLES, fold=each_event(fold), version=2)
