"""The rows of executions.

`executions` is written for every run, so it holds only what most runs have; what some have (a wait, a request to
cancel) is in tables of its own. Rows of `steps` never change once they are written.
"""

from typing import Literal, NamedTuple

from interlock.domain.executions.execution.state import Status
from interlock.projections.rows import Table

StepKind = Literal["activity", "wait", "timer"]
StepStatus = Literal["completed", "faulted", "expired"]


class ExecutionRow(NamedTuple):
    """A run."""

    execution_id: str
    shell: str
    definition_id: str
    slot_id: str
    publication_id: str
    """The publication that started it; "" for a test run, as slot, trigger and stimulus."""
    artifact_id: str
    """The executable that it is pinned to for life."""
    trigger_node: str
    stimulus_id: str
    stimulus_name: str
    status: Status
    started_at_ms: int
    ended_at_ms: int | None
    node_id: str
    """The node that it waits at, that nobody can serve, or that it faulted at; "" where it is at none of them."""
    unserved_activity: str
    """The activity that no process here presents the code of; "" if none."""
    unserved_since_ms: int | None
    error_type: str
    error_message: str
    output: str
    """The last node's output as JSON, once it is completed; "" before."""
    test_reference_id: str = ""
    """The TestRun reference that it started from; "" where it is no test run."""


class StepRow(NamedTuple):
    """A node, or an attempt of one, that is over."""

    execution_id: str
    node_id: str
    attempt: int
    """From 1; 1 for waits and timers."""
    revision: int
    """The execution's revision that recorded it."""
    place: int
    """Its place among the checkpoints of that revision, from 0."""
    kind: StepKind
    status: StepStatus
    output: str
    """What the node gave, as JSON; "" where it gave nothing."""
    error_type: str
    error_message: str
    at_ms: int


class WaitRow(NamedTuple):
    """What a run waits for now."""

    execution_id: str
    node_id: str
    kind: Literal["wait", "timer"]
    bookmark_id: str
    """ "" for a timer."""
    identity: str
    """Of the stimulus that it waits for; "" for a timer."""
    correlation: str
    until_ms: int | None
    """When the wait expires, or the timer is due; None if it waits for ever."""
    since_ms: int


class CancelRow(NamedTuple):
    """A request to end a run."""

    execution_id: str
    command_id: str
    requested_by: str
    reason: str
    at_ms: int


EXECUTIONS = Table(
    "executions",
    ExecutionRow,
    ("execution_id",),
    indexes=(
        ("shell", "started_at_ms", "execution_id"),
        ("shell", "status", "started_at_ms", "execution_id"),
        ("shell", "definition_id", "started_at_ms", "execution_id"),
        ("publication_id", "started_at_ms", "execution_id"),
    ),
    reread=True,
)
STEPS = Table("steps", StepRow, ("execution_id", "node_id", "attempt"), clustered=True)
WAITS = Table("waits", WaitRow, ("execution_id",))
CANCELS = Table("cancels", CancelRow, ("execution_id", "command_id"))
TABLES = (EXECUTIONS, STEPS, WAITS, CANCELS)
