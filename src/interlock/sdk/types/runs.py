"""Answers about runs."""

from dataclasses import dataclass
from typing import Literal

from interlock.sdk.types.common import Json

RunStatus = Literal["running", "waiting", "cancelling", "completed", "faulted", "cancelled"]
ENDED: frozenset[str] = frozenset(("completed", "faulted", "cancelled"))
"""The statuses that a run keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unserved:
    """No process presents the code of a run's next activity."""

    activity: str
    since_ms: int
    age_ms: int
    """How long by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why something ended badly."""

    type: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of an executable, pinned to it for life."""

    execution_id: str
    shell: str
    definition_id: str
    slot_id: str
    publication_id: str
    artifact_id: str
    trigger_node: str
    stimulus_id: str
    stimulus_name: str
    status: RunStatus
    started_at_ms: int
    ended_at_ms: int | None
    node_id: str
    """Where it waits, is unserved or has faulted; "" where it is at none of them."""
    unserved: Unserved | None
    fault: Fault | None
    output: Json
    """The last node's output, once it is completed; None before."""
    test_reference_id: str = ""
    """The TestRun reference that it started from, if it is a test run: then no slot, publication, trigger or stimulus
    started it. Else ""."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A node, or an attempt of one, that is over."""

    node_id: str
    attempt: int
    revision: int
    """The run's revision that recorded it."""
    kind: str
    """activity · wait · timer."""
    status: str
    """completed · faulted · expired."""
    output: Json
    fault: Fault | None
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What a run waits for now."""

    node_id: str
    kind: str
    """wait: for a stimulus · timer: for an instant."""
    bookmark_id: str
    correlation: str
    until_ms: int | None
    """When it expires, or the timer is due; None if it waits for ever."""
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """A request to end a run."""

    command_id: str
    requested_by: str
    reason: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """A run with everything that is known of it."""

    run: Run
    current_node: str
    steps: tuple[Step, ...]
    wait: Wait | None
    cancels: tuple[Cancel, ...]
    mark: str = ""
    """Given as `seen` with `wait`, the next answer comes once something is different."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedTestRun:
    """How a request for a test run stands."""

    __test__ = False

    status: Literal["started", "pending"]
    """started: it is promised and will run, pinned to its executable · pending: its shard has not answered yet."""
    command_id: str
    """The same again asks for the same run, and gets the same answer."""
    execution_id: str
    reference_id: str
    """The TestRun reference that it starts from; further test runs may name it until it expires."""
    names: Literal["draft", "version", ""] = ""
    """What the reference stands for: a snapshot of a document, or a version; "" while pending."""
    draft_digest: str = ""
    """Of the text of the draft; "" where it names a version."""
    definition_id: str = ""
    version: str = ""
    artifact_id: str = ""
    expires_at_ms: int = 0
    """When no further test run starts from the reference; 0 while pending."""
    at_least: str = ""
    """The position that a query may carry to know of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """How a request to end a run stands."""

    status: Literal["cancelled", "pending"]
    """pending: an activity is under way, after which it ends, or its shard has not answered yet."""
    command_id: str
    execution_id: str
    at_least: str = ""
    """The position that a query may carry to know of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many there are of each kind."""

    runs: dict[str, int]
    """Status → runs."""
    stimuli: dict[str, int]
    """Outcome → stimuli."""
    mark: str = ""
    """Given as `seen` with `wait`, the next answer comes once something is different."""
