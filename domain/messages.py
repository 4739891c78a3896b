"""What a context's inbox takes. Names here are storage: a renamed field or class can't be read back.

Commands carry a `command_id`, and whoever sent one finds the answer under it, however often it is sent. Messages
between contexts have none: they are intents, and the number that they are delivered with makes a repetition harmless.

What would surprise: commands that share fields share no base. The fields of a class in their order are its schema, and
a base would put its own first (so stored classes may have none, see `interlock.schemas.compiled`).
"""

from typing import Literal

from interlock.domain.frozen import frozen


@frozen(kw_only=True)
class Origin:
    """Where a stimulus came in."""

    channel: Literal["kafka", "http", "test"]
    topic: str = ""
    """The topic and its id, as `name@id`, for channel kafka."""
    partition: int = -1
    offset: int = -1


@frozen(kw_only=True)
class Owner:
    """Whose a slot is."""

    kind: str
    """Such as "team", "service" or "user"."""
    id: str


# ---- to publishing ------------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Publish:
    """Asks that a definition becomes the authority of a slot."""

    command_id: str
    shell: str
    document: str
    """The definition as JSON text, as its author wrote it."""
    slot: str | None
    """A slot's name; None lets the policy decide (PUB-06)."""
    expect_revision: int | None
    """The slot revision that the caller observed; None takes the one found when the command is handled."""
    requested_by: str
    requested_at_ms: int
    owner: Owner | None = None
    """Whose the slot shall be; who names nobody may change only what nobody owns."""
    take_over: bool = False
    """Whether another owner is no obstacle (PUB-19)."""


@frozen(kw_only=True)
class Restore:
    """Asks that an earlier publication of a slot becomes its authority again, as a new publication (PUB-20)."""

    command_id: str
    shell: str
    definition_id: str
    slot: str | None
    """A slot's name; None lets the policy decide (PUB-06)."""
    publication_id: str | None
    """The one to restore; None takes the one that had authority before the present one."""
    expect_revision: int | None
    """The slot revision that the caller observed; None takes the one found when the command is handled."""
    requested_by: str
    requested_at_ms: int
    owner: Owner | None = None
    """Whose the slot shall be; who names nobody may change only what nobody owns."""
    take_over: bool = False
    """Whether another owner is no obstacle (PUB-19)."""


@frozen(kw_only=True)
class Unpublish:
    """Asks that a slot selects nothing any more."""

    command_id: str
    shell: str
    definition_id: str
    slot: str | None
    """A slot's name; None lets the policy decide (PUB-06)."""
    expect_revision: int | None
    """The slot revision that the caller observed; None takes the one found when the command is handled."""
    requested_by: str
    requested_at_ms: int
    owner: Owner | None = None
    """Who asks, where the slot has an owner; it stays the slot's while that is empty."""
    take_over: bool = False
    """Whether another owner is no obstacle (PUB-19)."""


@frozen(kw_only=True)
class StartTestRun:
    """Asks for a run of what no slot selects, to try it (PUB-17). Exactly one of document, version (with its
    definition) and reference says of what."""

    command_id: str
    shell: str
    document: str
    """A draft as JSON text, as its author wrote it; "" where something else is named."""
    definition_id: str
    """Whose version it is; "" where something else is named."""
    version: str
    """A version that was published, or was to be; "" where something else is named."""
    reference_id: str
    """The TestRun reference of an earlier test run; "" where something else is named."""
    data: str
    """What the run gets as its input, as canonical JSON text."""
    requested_by: str
    requested_at_ms: int


@frozen(kw_only=True)
class ProjectionAnswered:
    """The holder of a view says that a candidate's rows are prepared, or why they can't be."""

    shell: str
    publication_id: str
    kind: str
    """The view, such as "trigger-index"."""
    prepared: bool
    reason: str = ""


@frozen(kw_only=True)
class RoutingReached:
    """A routing shard has committed that it decides at a position of the publishing journal, or later."""

    shell: str
    publication_id: str
    partition: int
    position: int


@frozen(kw_only=True)
class RepairProjection:
    """The reconciler found the rows of a publication in a view otherwise than its slot calls for. Refused where
    publication or slot have moved since it compared."""

    command_id: str
    reconciliation_id: str
    """The pass that found it."""
    shell: str
    kind: str
    """The view, such as "trigger-index"."""
    publication_id: str
    standing: Literal["requested", "prepared", "active", "gone"]
    """How the publication stood where it was compared."""
    revision: int
    """The slot's revision there; 0 for a publication that is gone."""
    position: int
    """The append of the publishing journal at which rows and slot were compared."""
    holder: str
    """Whose rows they are."""
    missing: int
    """Rows that were not there."""
    foreign: int
    """Rows that nobody called for."""
    flipped: int
    """Rows of the wrong visibility."""
    changed: int
    """Rows that differed in anything else."""
    requested_by: str


# ---- to routing ---------------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class RouteStimulus:
    """A stimulus that could be read, at the shard where it belongs."""

    stimulus_id: str
    """Computed from shell, identity, correlation and idempotency key; without a key from its origin."""
    shell: str
    type: str
    name: str
    identity: str
    correlation: str
    """"" where it has none."""
    idempotency_key: str
    """"" where it has none."""
    data: str
    """The payload as canonical JSON text."""
    ttl_ms: int | None
    """How long it waits for waits that appear after it."""
    deliver: Literal["all", "one"]
    """With a time to live: whether it ends at the first wait that it meets."""
    arrived_at_ms: int
    """The log's time where it came from the log, else the gateway's."""
    origin: Origin


@frozen(kw_only=True)
class RejectStimulus:
    """A stimulus that could not be read, or not accepted; it becomes a dead letter (STM-07)."""

    dead_letter_id: str
    shell: str
    reason: Literal["unreadable", "unknown-type", "too-large", "invalid", "conflict"]
    detail: str
    excerpt: str
    """At most 1,024 characters of what was found."""
    size: int
    """Bytes of the whole."""
    rejected_at_ms: int
    origin: Origin


@frozen(kw_only=True)
class RegisterWait:
    """An execution has committed a bookmark and waits for a stimulus."""

    shell: str
    identity: str
    correlation: str
    execution_id: str
    bookmark_id: str
    committed_at_ms: int
    """When the bookmark was committed: a stimulus without a time to live that arrived earlier doesn't meet it."""
    started_by: str
    """The stimulus that started the execution, which it never meets (STM-05); "" if none."""


@frozen(kw_only=True)
class WithdrawWait:
    """A bookmark is gone without having been consumed by a stimulus (timeout, cancel)."""

    shell: str
    identity: str
    correlation: str
    execution_id: str
    bookmark_id: str


@frozen(kw_only=True)
class ResumeDeclined:
    """The execution did not take a stimulus, which is offered again to others."""

    shell: str
    identity: str
    correlation: str
    execution_id: str
    bookmark_id: str
    stimulus_id: str


@frozen(kw_only=True)
class DecideAt:
    """Asks a routing shard to decide at this position of the publishing journal or later, and to say so."""

    shell: str
    publication_id: str
    """The publication that was selected there, or that was retired without a successor."""
    position: int


# ---- to executions ------------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class StartExecution:
    """Starts a run, pinned for life to the artifact that it names."""

    execution_id: str
    shell: str
    definition_id: str
    slot_id: str
    publication_id: str
    artifact_id: str
    trigger_node: str
    """The id of the trigger node that matched (STM-03)."""
    stimulus_id: str
    stimulus_name: str
    data: str
    """The stimulus' payload, on its own channel: no input that an author declares collides with it."""
    test_reference_id: str = ""
    """The TestRun reference that it starts from; then slot, publication, trigger and stimulus are "". Else ""."""


@frozen(kw_only=True)
class ResumeExecution:
    """Gives a waiting run the stimulus that it waits for."""

    execution_id: str
    shell: str
    """With identity and correlation it says where a decline goes, also where the run is not known."""
    bookmark_id: str
    stimulus_id: str
    identity: str
    correlation: str
    """Those of the wait, which are the stimulus' own or, where that has none, any."""
    data: str


@frozen(kw_only=True)
class CancelExecution:
    """Asks a run to end."""

    command_id: str
    execution_id: str
    requested_by: str
    reason: str


# ---- to callers ---------------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Reply:
    """The answer to a command; on the topic `replies` as JSON, at least once and always the same."""

    command_id: str
    status: Literal["done", "refused", "failed"]
    """done: as asked · refused: nothing changed · failed: it was taken up and failed."""
    body: str
    """A JSON object: the result, or `{"kind", "message", "details"}`."""
    asked: str = ""
    """What the command asked for (`interlock.domain.asked`), which tells its answer from that to another command under
    its id; "" in answers of before there was this."""


Message = (
    Publish
    | Restore
    | Unpublish
    | StartTestRun
    | ProjectionAnswered
    | RoutingReached
    | RepairProjection
    | RouteStimulus
    | RejectStimulus
    | RegisterWait
    | WithdrawWait
    | ResumeDeclined
    | DecideAt
    | StartExecution
    | ResumeExecution
    | CancelExecution
    | Reply
)
