"""Facts of a publication (stream `publication:<publication_id>`). Names are storage.

Requested ─► Staged ─► (projections prepared) ─► Activated ─► (every routing shard reached) Served ─► Retired
    └───────────┴──────────────┴─► Failed, or Superseded where it lost the compare-and-swap
"""

from typing import Final, Literal

from interlock.domain.definitions.executable import Cardinality
from interlock.domain.frozen import frozen
from interlock.domain.messages import Owner
from interlock.domain.refusal import RefusalKind

REASON_CHARACTERS_MAX: Final = 1_000
"""Of the sentence that says why a publication failed: history is read by people, and kept for ever."""
CONFLICTS_MAX: Final = 50
"""Conflicts that are recorded one by one; who clears these is told the next ones."""


@frozen(kw_only=True)
class BindingRoute:
    """Where an HTTP endpoint is found."""

    method: str
    """Such as "POST"."""
    template: str
    """As its author wrote it, such as "/orders/:id"."""


@frozen(kw_only=True)
class BindingSchedule:
    """When a trigger is due by itself."""

    kind: Literal["interval", "cron"]
    every_ms: int
    """The interval; 0 for a cron expression."""
    expression: str
    """The cron expression; "" for an interval."""
    zone: str
    """Whose wall clock a cron expression is about, by its IANA name; "" for an interval."""
    gap: Literal["shift", "skip"]
    """What becomes of a time that the clock jumps over."""
    overlap: Literal["first", "last", "both"]
    """Which one counts of a time that comes twice."""


@frozen(kw_only=True)
class Binding:
    """One trigger of a publication, as rows of the trigger index hold it (PUB-03: never authority by itself)."""

    binding_id: str
    node_id: str
    type: str
    name: str
    identity: str
    cardinality: Cardinality
    claim: str
    route: BindingRoute | None = None
    """Where it is found, if it is an HTTP endpoint."""
    schedule: BindingSchedule | None = None
    """When it is due, if it comes by itself."""


@frozen(kw_only=True)
class DocumentFault:
    """One thing that is wrong with a document; as `refusal.Fault`, whose texts are bounded."""

    code: str
    """What kind of fault, in a word that never changes, such as "missing-field"."""
    where: str
    """Its place, such as `steps[1].wait.timeout` or a node's id; "" for the whole."""
    expected: str
    found: str


@frozen(kw_only=True)
class ClaimConflict:
    """An exclusive claim that a publication needed, and the authority that has it."""

    claim: str
    node_id: str
    """The trigger node that asked for it."""
    definition_id: str
    """Of the claimant, as all that follows."""
    slot_id: str
    slot_name: str
    publication_id: str
    claimant_node_id: str
    cardinality: Cardinality


@frozen(kw_only=True)
class PublicationRequested:
    """Somebody asked; policy and slot are resolved."""

    publication_id: str
    command_id: str
    shell: str
    definition_id: str
    slot_id: str
    slot_name: str
    policy_source: str
    """Which policy named the slot: "request", "workflow" or "host" (PUB-08)."""
    expected_revision: int
    """The slot revision that the attempt observed."""
    requested_by: str
    requested_at_ms: int
    restores: str = ""
    """The earlier publication that it restores; "" if it is of a document."""
    owner: Owner | None = None
    """Whose the slot is once it is activated."""
    took_over: bool = False
    """Whether another owner was to be no obstacle (PUB-19)."""
    policy_slot: str = ""
    """Where its document sends requests that name no slot; "" where it leaves that to the host."""
    policy_explicit: bool = False
    """Whether its document demands that requests name their slot."""
    asked: str = ""
    """What its command asked for (`interlock.domain.asked`); "" where that was not recorded yet."""


@frozen(kw_only=True)
class PublicationStaged:
    """It compiled, its claims don't conflict, and its projections are asked to prepare: it is PendingProjection."""

    publication_id: str
    definition_version: str
    artifact_id: str
    bindings: tuple[Binding, ...]
    required_projections: tuple[str, ...]
    deadline_ms: int
    """When it fails if a projection has not answered."""
    at_ms: int
    ask_again_ms: int = 0
    """When projections that have not answered are asked again; 0 for never."""


@frozen(kw_only=True)
class ProjectionAskedAgain:
    """The holder of a view has not answered for some time: the question, or the answer, may have got lost."""

    publication_id: str
    kind: str
    attempt: int
    """How often it was asked with this; the first time was when the publication was staged."""
    deadline_ms: int
    """When the candidate fails, as ever."""
    ask_again_ms: int
    """When it is asked once more."""
    at_ms: int


@frozen(kw_only=True)
class ProjectionPrepared:
    """The holder of a view wrote the candidate's rows, invisible."""

    publication_id: str
    kind: str
    at_ms: int


@frozen(kw_only=True)
class PublicationActivated:
    """Its slot selected it."""

    publication_id: str
    slot_id: str
    revision: int
    position: int
    """The position of the publishing journal (append number) that carries the activation; routing decides at it."""
    routing_shards: int
    """How many have to say that they decide at it before "active" is answered (PUB-16)."""
    at_ms: int
    source_reference_id: str = ""
    """The reference that was created with it (PUB-17)."""


@frozen(kw_only=True)
class RoutingShardReached:
    """A routing shard has committed that it decides at the activation or later."""

    publication_id: str
    partition: int


@frozen(kw_only=True)
class PublicationServed:
    """Every routing shard decides at it: whoever asked was told "active"."""

    publication_id: str
    at_ms: int


@frozen(kw_only=True)
class PublicationRetired:
    """Another one replaced it, or its slot was emptied; runs that it started go on."""

    publication_id: str
    replaced_by: str
    """"" if its slot was emptied."""
    at_ms: int
    unpublish_id: str = ""
    """The unpublish that emptied its slot; "" if another one replaced it."""


@frozen(kw_only=True)
class PublicationFailed:
    """It never became the authority; what it had prepared is removed (PUB-13)."""

    publication_id: str
    kind: RefusalKind
    """invalid, too-large: the document · conflict: somebody else has a claim · state: a projection, or the time."""
    reason: str
    """In a sentence, of at most `REASON_CHARACTERS_MAX`."""
    faults: tuple[DocumentFault, ...]
    """What is wrong with the document; at most `refusal.FAULTS_MAX`."""
    conflicts: tuple[ClaimConflict, ...]
    """Who has the claims that it needed; at most `CONFLICTS_MAX`."""
    at_ms: int


@frozen(kw_only=True)
class PublicationSuperseded:
    """The slot's revision was no longer the one that it observed."""

    publication_id: str
    expected_revision: int
    found_revision: int
    at_ms: int


PublicationEvent = (
    PublicationRequested
    | PublicationStaged
    | ProjectionAskedAgain
    | ProjectionPrepared
    | PublicationActivated
    | RoutingShardReached
    | PublicationServed
    | PublicationRetired
    | PublicationFailed
    | PublicationSuperseded
)
