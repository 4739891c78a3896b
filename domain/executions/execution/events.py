"""Facts of an execution (stream `execution:<execution_id>`); each is a checkpoint. Names are storage."""

from interlock.domain.frozen import frozen


@frozen(kw_only=True)
class ExecutionStarted:
    """It exists, pinned to an artifact."""

    execution_id: str
    shell: str
    definition_id: str
    slot_id: str
    publication_id: str
    artifact_id: str
    trigger_node: str
    stimulus_id: str
    stimulus_name: str
    data: str
    """The starting stimulus' payload, JSON."""
    at_ms: int
    test_reference_id: str = ""
    """The TestRun reference that it started from, if it is a test run; then no slot, publication, trigger or stimulus
    started it, and these are "" (PUB-17). Else ""."""


@frozen(kw_only=True)
class ActivityCompleted:
    """An activity gave its output."""

    node_id: str
    attempt: int
    """From 1."""
    output: str
    """JSON."""
    at_ms: int


@frozen(kw_only=True)
class ActivityFaulted:
    """An activity raised."""

    node_id: str
    attempt: int
    error_type: str
    error_message: str
    at_ms: int


@frozen(kw_only=True)
class BookmarkCreated:
    """It waits for a stimulus from now on."""

    bookmark_id: str
    node_id: str
    """The resume target: the node whose wait this is (BKM-01)."""
    identity: str
    correlation: str
    expires_at_ms: int | None
    at_ms: int


@frozen(kw_only=True)
class BookmarkConsumed:
    """The stimulus came; its payload is the node's output."""

    bookmark_id: str
    node_id: str
    stimulus_id: str
    data: str
    at_ms: int


@frozen(kw_only=True)
class BookmarkExpired:
    """Nothing came in time."""

    bookmark_id: str
    node_id: str
    at_ms: int


@frozen(kw_only=True)
class TimerSet:
    """It sleeps until an absolute instant."""

    node_id: str
    due_at_ms: int
    at_ms: int


@frozen(kw_only=True)
class TimerFired:
    """The instant has come."""

    node_id: str
    at_ms: int


@frozen(kw_only=True)
class ExecutionUnserved:
    """No code for the next activity is here; it goes on where some is."""

    node_id: str
    activity: str
    at_ms: int


@frozen(kw_only=True)
class CancelRequested:
    """Somebody asked it to end; an activity that is under way is let finish."""

    command_id: str
    requested_by: str
    reason: str
    at_ms: int


@frozen(kw_only=True)
class ExecutionCancelled:
    """It ended by request."""

    at_ms: int


@frozen(kw_only=True)
class ExecutionFaulted:
    """It ended because something went wrong."""

    node_id: str
    error_type: str
    error_message: str
    at_ms: int


@frozen(kw_only=True)
class ExecutionCompleted:
    """It went through all its nodes."""

    output: str
    """JSON: the last node's output."""
    at_ms: int


Step = (
    ExecutionStarted
    | ActivityCompleted
    | ActivityFaulted
    | BookmarkCreated
    | BookmarkConsumed
    | BookmarkExpired
    | TimerSet
    | TimerFired
    | ExecutionUnserved
    | CancelRequested
    | ExecutionCancelled
    | ExecutionFaulted
    | ExecutionCompleted
)
"""A checkpoint by itself."""


@frozen(kw_only=True)
class CheckpointsCoalesced:
    """Several checkpoints in one event, in order (CHK-03)."""

    steps: tuple[Step, ...]


ExecutionEvent = Step | CheckpointsCoalesced
