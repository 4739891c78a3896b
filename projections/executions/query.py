"""Questions to executions."""

from dataclasses import dataclass
from typing import Protocol

from interlock.domain.executions.execution.state import Status
from interlock.projections.executions.store import (
    CANCELS,
    EXECUTIONS,
    STEPS,
    WAITS,
    CancelRow,
    ExecutionRow,
    StepRow,
    WaitRow,
)
from interlock.projections.paging import Cursor, Filter
from interlock.projections.reader import ViewReader


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionView:
    """A run with everything that is known of it."""

    execution: ExecutionRow
    steps: tuple[StepRow, ...]
    """What is over, in order."""
    wait: WaitRow | None
    """What it waits for now."""
    cancels: tuple[CancelRow, ...]
    """Who asked it to end, in order."""

    @property
    def current_node(self) -> str:
        """Where it is: the node that it waits at, that is unserved or faulted, else the last one that is over."""
        return self.execution.node_id or (self.steps[-1].node_id if self.steps else self.execution.trigger_node)


class Executions(Protocol):
    """What may be asked; each answer is of one moment. Every question may raise `WarmingUp`."""

    def executions(
        self,
        shell: str,
        *,
        status: Status | None = None,
        definition_id: str | None = None,
        publication_id: str | None = None,
        after: Cursor | None = None,
        limit: int = 50,
    ) -> tuple[ExecutionRow, ...]:
        """Runs, the newest first; `after` is the cursor of the last one that is known."""
        ...

    def unserved(self, shell: str, *, limit: int = 50) -> tuple[ExecutionRow, ...]:
        """Runs whose next activity no process here has the code of, the longest waiting first."""
        ...

    def execution(self, execution_id: str) -> ExecutionView | None:
        """A run; None if there is none of this id."""
        ...

    def count(self, shell: str) -> dict[str, int]:
        """How many runs have each status."""
        ...


def cursor_of(execution: ExecutionRow) -> Cursor:
    """Where a list goes on behind this run."""
    return execution.started_at_ms, execution.execution_id


class SqliteExecutions:
    """Answers from the view's file; implements `Executions`."""

    def __init__(self, reader: ViewReader) -> None:
        self._reader = reader

    def executions(
        self,
        shell: str,
        *,
        status: Status | None = None,
        definition_id: str | None = None,
        publication_id: str | None = None,
        after: Cursor | None = None,
        limit: int = 50,
    ) -> tuple[ExecutionRow, ...]:
        """Runs, the newest first."""
        chosen = Filter().equal("shell", shell).equal("status", status).equal("definition_id", definition_id)
        chosen.equal("publication_id", publication_id).newest_first("started_at_ms", "execution_id", after, limit)
        with self._reader.snapshot() as snapshot:
            return tuple(snapshot.page(EXECUTIONS, chosen.rest, chosen.values))

    def unserved(self, shell: str, *, limit: int = 50) -> tuple[ExecutionRow, ...]:
        """Runs whose next activity no process here has the code of, the longest waiting first."""
        # Such a run is "running", or "cancelling" where it was asked to end: the statuses narrow it by an index.
        where = (
            "shell = ? AND status IN ('running', 'cancelling') AND unserved_since_ms IS NOT NULL"
            " ORDER BY unserved_since_ms, execution_id LIMIT ?"
        )
        with self._reader.snapshot() as snapshot:
            return tuple(snapshot.select(EXECUTIONS, where, (shell, limit)))

    def execution(self, execution_id: str) -> ExecutionView | None:
        """A run; None if there is none of this id."""
        by_id = (execution_id,)
        with self._reader.snapshot() as snapshot:
            row = snapshot.get(EXECUTIONS, execution_id)
            if row is None:
                return None
            waits = snapshot.select(WAITS, "execution_id = ?", by_id)
            return ExecutionView(
                execution=row,
                steps=tuple(snapshot.select(STEPS, "execution_id = ? ORDER BY revision, place", by_id)),
                wait=waits[0] if waits else None,
                cancels=tuple(snapshot.select(CANCELS, "execution_id = ? ORDER BY at_ms, command_id", by_id)),
            )

    def count(self, shell: str) -> dict[str, int]:
        """How many runs have each status."""
        with self._reader.snapshot() as snapshot:
            return snapshot.count(EXECUTIONS, "status", "shell = ?", (shell,))
