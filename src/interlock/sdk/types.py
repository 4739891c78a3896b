"""What the API answers, as data: the server writes exactly the types that a client reads.

On the wire field names are in camel case and instants are milliseconds since 1970. Payloads (`data`, `output`) are the
JSON values themselves. A client passes over fields that it doesn't know, so that newer servers can be asked too.
"""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Json = dict[str, object] | list[object] | str | int | float | bool | None
"""A JSON value."""

T = TypeVar("T")

RunStatus = Literal["running", "waiting", "cancelling", "completed", "faulted", "cancelled"]
ENDED: frozenset[str] = frozenset(("completed", "faulted", "cancelled"))
"""The statuses that a run keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A part of a list, the newest first."""

    items: tuple[T, ...]
    next: str | None
    """Given as `after`, the list goes on behind this part; None at its end."""


# ---- publishing -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a trigger asks for."""

    claim: str
    cardinality: str
    """exclusive: nobody else in the shell may have it · fan-out: several may."""
    node_id: str
    """The trigger's node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A claim that can't be had, and who has it."""

    claim: str
    definition_id: str
    slot_id: str
    slot_name: str
    publication_id: str
    cardinality: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What a publish would do now."""

    action: Literal["fill", "replace", "lose", "conflict"]
    """fill: the slot is empty and would select it · replace: it would take another one's place · lose: the slot has
    moved past the expected revision · conflict: somebody else has an exclusive claim that it needs."""
    definition_id: str
    slot_id: str
    slot_name: str
    policy_source: str
    artifact_id: str
    version: str
    expected_revision: int
    found_revision: int
    replaces: str
    """The publication that would be retired; "" if none."""
    added: tuple[Claim, ...]
    removed: tuple[Claim, ...]
    retained: tuple[Claim, ...]
    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """How a publish stands."""

    status: Literal["active", "pending"]
    """active: every routing shard decides by it · pending: that is still to come."""
    command_id: str
    """The same again asks for the same publication, and gets the same answer."""
    publication_id: str
    definition_id: str = ""
    slot_id: str = ""
    slot: str = ""
    artifact_id: str = ""
    version: str = ""
    revision: int = 0
    """The slot's revision that selected it; 0 while pending."""
    position: int = 0
    """The append of the publishing journal that activated it, for `position`; 0 while pending."""
    replaced_by: str = ""
    """The publication that took its place before every shard had reached it; "" if none did."""
    missing: tuple[str, ...] = ()
    """What it still waits for, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where one publication of a definition has authority."""

    slot_id: str
    shell: str
    definition_id: str
    name: str
    revision: int
    """One more with each activation, from 1."""
    publication_id: str
    """The publication that has authority."""
    activated_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One decision to let an executable start work. What has not happened is 0, "" or None."""

    publication_id: str
    command_id: str
    shell: str
    definition_id: str
    slot_id: str
    slot_name: str
    policy_source: str
    expected_revision: int
    requested_by: str
    requested_at_ms: int
    status: str
    definition_version: str
    artifact_id: str
    deadline_ms: int | None
    """When it fails if a projection has not answered."""
    staged_at_ms: int | None
    revision: int
    """The slot's revision that selected it."""
    position: int
    """The append of the publishing journal that activated it."""
    activated_at_ms: int | None
    served_at_ms: int | None
    """When "active" was answered."""
    ended_at_ms: int | None
    replaced_by: str
    reason: str
    """Why it failed."""
    found_revision: int
    """The revision to which it lost, if it is superseded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A view whose rows a publication needs before it is activated."""

    kind: str
    prepared_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationDetail:
    """A publication with what it still waits for."""

    publication: Publication
    pending: bool
    projections: tuple[Projection, ...]
    missing_projections: tuple[str, ...]
    reached_shards: tuple[int, ...]
    """The routing shards that decide by it."""
    missing_shards: tuple[int, ...]
    missing: tuple[str, ...]
    """The same in words."""
    mark: str = ""
    """Given as `seen` with `wait`, the next answer comes once something is different."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotDetail:
    """A slot with its authority."""

    slot: Slot
    authority: PublicationDetail


# ---- stimuli --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """A stimulus is durable, and will be routed."""

    stimulus_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a stimulus came in."""

    channel: str
    """http, kafka or test."""
    topic: str
    """The topic and its id, for kafka; else ""."""
    partition: int
    """-1 unless it came from a topic."""
    offset: int
    """-1 unless it came from a topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stimulus:
    """A stimulus that was routed."""

    stimulus_id: str
    shell: str
    type: str
    name: str
    correlation: str
    idempotency_key: str
    data: Json
    arrived_at_ms: int
    kept_until_ms: int | None
    """Until when it meets waits that appear after it; None where it had no time to live."""
    deliver: str
    outcome: str
    """started · resumed · unmatched · kept · expired."""
    expired_at_ms: int | None
    past_horizon: bool
    """Whether it came so late that it may have been routed before without anybody remembering."""
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A run that a stimulus started."""

    execution_id: str
    publication_id: str
    binding_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """A wait that a stimulus took."""

    execution_id: str
    bookmark_id: str
    late: bool
    """Whether the wait was registered after the stimulus had been routed."""
    declined: bool
    """Whether the run did not take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StimulusDetail:
    """A stimulus with what it did."""

    stimulus: Stimulus
    starts: tuple[Start, ...]
    resumes: tuple[Resume, ...]
    mark: str = ""
    """Given as `seen` with `wait`, the next answer comes once something is different."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A stimulus that could not be routed."""

    dead_letter_id: str
    shell: str
    reason: str
    detail: str
    """What was expected and found."""
    excerpt: str
    """Its first characters."""
    size: int
    """Bytes of the whole."""
    rejected_at_ms: int
    origin: Origin


# ---- runs -----------------------------------------------------------------------------------------------------------


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
class Cancelled:
    """How a request to end a run stands."""

    status: Literal["cancelled", "pending"]
    """pending: an activity is under way, after which it ends, or its shard has not answered yet."""
    command_id: str
    execution_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many there are of each kind."""

    runs: dict[str, int]
    """Status → runs."""
    stimuli: dict[str, int]
    """Outcome → stimuli."""
    mark: str = ""
    """Given as `seen` with `wait`, the next answer comes once something is different."""


# ---- history and views ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """An event of an aggregate."""

    stream: str
    revision: int
    type: str
    time_ms: int
    causation: str
    correlation: str
    actor: str
    owner: str
    """The ownership that wrote it."""
    partition: int
    number: int
    """The append that carries it."""
    position: int
    """Its place among the events of its shard."""
    data: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPosition:
    """How far a view is in one shard of a journal."""

    topic: str
    partition: int
    number: int
    """The last append that is in the rows."""
    offset: int
    """Where that append begins in the log."""
    end: int | None
    """The offset at which the log ends; None where it can't be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """A rebuild of a view from the journals alone, as it was asked for."""

    rebuild_id: str
    view: str
    state: Literal["requested", "running", "done", "failed"]
    """requested: no projector has taken it up yet."""
    requested_at_ms: int
    ended_at_ms: int | None = None
    appends_done: int = 0
    appends_total: int = 0
    """As many as the serving copy holds; it may grow while events come."""
    compare: bool = False
    """Whether digests of the rows before and after are taken where they swap."""
    replaced_digest: str = ""
    rebuilt_digest: str = ""
    message: str = ""
    """Why it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewStatus:
    """How a view is."""

    view: str
    state: Literal["warming up", "live", "stopped", "absent"]
    """warming up: "not found" is not said yet · stopped: it needs an operator · absent: never filled here."""
    lag: int | None
    """Records between its rows and the ends of the journals; None where one end can't be asked."""
    held_here: bool
    """Whether the process that answers projects it."""
    waiting_for: str
    """What passes by itself; "" if nothing, or if another process projects it."""
    error: str
    """Why it has stopped, and what to do."""
    shards: tuple[ShardPosition, ...]
    rebuild: Rebuild | None
    """The last one that was asked for."""
    mark: str = ""
    """Given as `seen` with `wait`, the next answer comes once something is different."""


# ---- health ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether a process is well."""

    ok: bool
    problems: tuple[str, ...]
    """live: what stands still until somebody acts · ready: what has to come before it serves."""
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a request was not done."""

    kind: str
    """invalid · not-found · conflict · superseded · state · too-large · unserved · warming-up · unavailable · failed.
    """
    message: str
    details: dict[str, str]
