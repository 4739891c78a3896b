"""Answers about publishing: what a publish would do, how it stands, slots and publications."""

from dataclasses import dataclass
from typing import Literal

from interlock.sdk.types.problems import Conflict, DocumentFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a trigger asks for."""

    claim: str
    cardinality: str
    """exclusive: nobody else in the shell may have it · fan-out: several may."""
    node_id: str
    """The trigger's node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where an HTTP endpoint is found."""

    method: str
    template: str
    """Its path as its author wrote it, such as "/orders/:id"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a trigger is due by itself."""

    kind: str
    """ "interval" or "cron"."""
    every_ms: int
    """The interval; 0 for a cron expression."""
    expression: str
    """The cron expression; "" for an interval."""
    zone: str
    """Whose wall clock it is about; "" for an interval."""
    gap: str
    """What becomes of a time that the clock jumps over: "shift" or "skip"."""
    overlap: str
    """Which one counts of a time that comes twice: "first", "last" or "both"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """What starts runs of a publication while it has authority."""

    node_id: str
    binding_id: str
    type: str
    """The type of the stimuli that it is for, such as "Event"."""
    name: str
    """Their name."""
    claim: str
    cardinality: str
    """exclusive: nobody else in the shell may have its claim · fan-out: several may."""
    route: Route | None = None
    schedule: Schedule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose a slot is."""

    kind: str
    """Such as "team", "service" or "user"."""
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What a publish, a restore or an unpublish would do now."""

    action: Literal["fill", "replace", "empty", "nothing", "lose", "conflict"]
    """fill: the slot is empty and would select it · replace: it would take another one's place · empty: the slot would
    select nothing any more · nothing: the slot is already as it is asked to be · lose: the slot has moved past the
    expected revision · conflict: somebody else has an exclusive claim that it needs."""
    definition_id: str
    slot_id: str
    slot_name: str
    policy_source: str
    """Who named the slot: request, workflow (its document) or host (the setting `slot_policy`)."""
    artifact_id: str
    """What the slot would start from; "" if nothing."""
    version: str
    expected_revision: int
    found_revision: int
    replaces: str
    """The publication that would be retired; "" if none."""
    added: tuple[Claim, ...]
    removed: tuple[Claim, ...]
    retained: tuple[Claim, ...]
    conflicts: tuple[Conflict, ...]
    owner: Owner | None = None
    """Whose the slot would be; None for nobody's."""
    found_owner: Owner | None = None
    """Whose it is."""
    beside: tuple[str, ...] = ()
    """Other slots of the definition that would go on starting work."""
    warnings: tuple[str, ...] = ()
    """What a publisher should know although nothing is wrong."""
    restores: str = ""
    """The earlier publication that would have authority again; "" where none would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """How a publish or a restore stands."""

    status: Literal["active", "nothing", "pending"]
    """active: every routing shard decides by it · nothing: what was to be restored has authority already · pending: it
    is still to come."""
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
    unpublished_by: str = ""
    """The unpublish that emptied its slot before every shard had reached it; "" if none did."""
    restores: str = ""
    """The earlier publication that it restores; "" if it is of a document."""
    beside: tuple[str, ...] = ()
    """Other slots of the definition that start work too, as far as the process that answers knows then."""
    message: str = ""
    """Why there was nothing to do."""
    at_least: str = ""
    """The position that a query may carry to know of it."""
    warnings: tuple[str, ...] = ()
    """What a publisher should know although nothing is wrong."""
    missing: tuple[str, ...] = ()
    """What it still waits for, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpublished:
    """How an unpublish stands."""

    status: Literal["unpublished", "nothing", "pending"]
    """unpublished: every routing shard decides by it · nothing: the slot was empty · pending: it is still to come."""
    command_id: str
    """The same again asks for the same unpublish, and gets the same answer."""
    definition_id: str
    unpublish_id: str = ""
    """Its aggregate, for the history; "" where there was nothing to do, or it is not taken up yet."""
    slot_id: str = ""
    slot: str = ""
    publication_id: str = ""
    """The one that was retired."""
    revision: int = 0
    """The slot's revision after it."""
    position: int = 0
    """The append of the publishing journal that carries it, for `position`; 0 while pending."""
    message: str = ""
    """Why there was nothing to do."""
    at_least: str = ""
    """The position that a query may carry to know of it."""
    missing: tuple[str, ...] = ()
    """What it still waits for, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpublish:
    """What emptied the slot of a publication."""

    unpublish_id: str
    command_id: str
    requested_by: str
    requested_at_ms: int
    policy_source: str
    revision: int
    """The slot's revision after it."""
    position: int
    """The append of the publishing journal that carries it."""
    at_ms: int
    served_at_ms: int | None
    """When every routing shard had reached it."""
    missing_shards: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where one publication of a definition has authority."""

    slot_id: str
    shell: str
    definition_id: str
    name: str
    revision: int
    """One more with each activation and each unpublish, from 1."""
    publication_id: str
    """The publication that has authority; "" if none has."""
    activated_at_ms: int
    """When its last authority was activated."""
    emptied_at_ms: int | None = None
    """When it was emptied; None while a publication has authority."""
    owner: Owner | None = None
    """Whose it is; None for nobody's."""


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
    """The publication that took its place; "" if its slot was emptied."""
    unpublish_id: str
    """The unpublish that emptied its slot; "" if none did."""
    failure: str
    """The kind of its failure, such as "invalid" or "conflict"; "" unless it failed."""
    reason: str
    """Why it failed."""
    faults: tuple[DocumentFault, ...]
    """What was wrong with its document."""
    conflicts: tuple[Conflict, ...]
    """Who had the claims that it needed."""
    found_revision: int
    """The revision to which it lost, if it is superseded."""
    restores: str = ""
    """The earlier publication that it restores; "" if it is of a document."""
    owner: Owner | None = None
    """Whose the slot is once it is activated; None for nobody's."""
    took_over: bool = False
    """Whether another owner was to be no obstacle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A view whose rows a publication needs before it is activated."""

    kind: str
    prepared_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionIntent:
    """What is wanted of a view for a publication."""

    kind: str
    """The view."""
    operation: str
    """prepare · activate · retire · remove."""
    status: str
    """delivered: the view has done it · pending: that is still to come · given-up: the candidate ended before."""
    requested_at_ms: int
    attempts: int
    """How often it was asked for."""
    last_asked_at_ms: int
    delivered_at_ms: int | None
    """When the answer of a prepare was recorded; what a view's position tells has no time."""
    diagnostic: str
    """Why it was given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReference:
    """Where a published executable comes from."""

    reference_id: str
    kind: str
    """Why the executable is referred to: "published"."""
    live: bool
    """Whether it keeps the executable: it isn't retired, and its publication is active."""
    artifact_id: str
    created_at_ms: int
    retired_at_ms: int | None


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
    unpublish: Unpublish | None = None
    """What emptied its slot, if something did."""
    source_reference: SourceReference | None = None
    """What was created with its activation; None before that."""
    intents: tuple[ProjectionIntent, ...] = ()
    """What is wanted of each view for it."""
    triggers: tuple[Trigger, ...] = ()
    """What starts its runs while it has authority; empty before it is staged."""
    warnings: tuple[str, ...] = ()
    """What a publisher should know although nothing is wrong."""
    mark: str = ""
    """Given as `seen` with `wait`, the next answer comes once something is different."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotDetail:
    """A slot with its authority."""

    slot: Slot
    authority: PublicationDetail | None
    """None if it is empty."""
