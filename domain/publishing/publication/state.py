"""State of a publication, folded from its facts."""

from dataclasses import replace
from typing import Final, Literal

from interlock.domain.frozen import frozen
from interlock.domain.messages import Owner
from interlock.domain.publishing.policy import NO_POLICY, WorkflowPolicy
from interlock.domain.publishing.publication.events import (
    Binding,
    ProjectionAskedAgain,
    ProjectionPrepared,
    PublicationActivated,
    PublicationEvent,
    PublicationFailed,
    PublicationRequested,
    PublicationRetired,
    PublicationServed,
    PublicationStaged,
    PublicationSuperseded,
    RoutingShardReached,
)
from interlock.domain.sharding import digest

Status = Literal["requested", "pending-projection", "active", "retired", "failed", "superseded"]
"""requested: policy and slot are resolved · pending-projection: views are asked to prepare · active: its slot selects
it · retired: another one replaced it, or its slot was emptied · failed, superseded: it never became the authority."""


@frozen(kw_only=True)
class Publication:
    """One decision to let an executable start work. Fields of later steps are empty before them."""

    publication_id: str = ""
    command_id: str = ""
    shell: str = ""
    definition_id: str = ""
    slot_id: str = ""
    slot_name: str = ""
    expected_revision: int = 0
    asked: str = ""
    """What its command asked for (`interlock.domain.asked`)."""
    restores: str = ""
    """The earlier publication that it restores; "" if it is of a document."""
    owner: Owner | None = None
    """Whose the slot is once it is activated."""
    policy: WorkflowPolicy = NO_POLICY
    """What its document demands of publishing."""
    status: Status = "requested"
    definition_version: str = ""
    artifact_id: str = ""
    bindings: tuple[Binding, ...] = ()
    required_projections: frozenset[str] = frozenset()
    prepared: frozenset[str] = frozenset()
    """The views that hold its rows, invisible."""
    deadline_ms: int = 0
    ask_again_ms: int = 0
    """When projections that have not answered are asked again; 0 for never."""
    attempts: int = 0
    """How often projections were asked."""
    revision: int = 0
    """The slot's revision that selected it; 0 if none did."""
    position: int = 0
    """The position of the publishing journal at which it was activated."""
    source_reference_id: str = ""
    routing_shards: int = 0
    reached: frozenset[int] = frozenset()
    """The routing shards that decide at its activation or later."""
    served: bool = False
    """Whether every routing shard did, so that "active" was answered (PUB-16)."""
    replaced_by: str = ""
    unpublish_id: str = ""
    """The unpublish that retired it; "" if none did."""
    replaced_unserved: bool = False
    """Whether it was retired before every routing shard had reached it."""
    failure: PublicationFailed | None = None
    """Why it failed."""
    found_revision: int = 0
    """The revision to which it lost, if it was superseded."""

    @property
    def due_ms(self) -> int:
        """When it has to be looked after next, while it waits for projections."""
        return min(self.deadline_ms, self.ask_again_ms) if self.ask_again_ms else self.deadline_ms


INITIAL: Final = Publication()


def publication_id(shell: str, command_id: str) -> str:
    """The publication that a command makes; the same again, however often it is sent."""
    return digest("publication", shell, command_id)


def evolve(state: Publication, event: PublicationEvent) -> Publication:
    """The publication after the event."""
    match event:
        case PublicationRequested():
            return replace(
                state,
                publication_id=event.publication_id,
                command_id=event.command_id,
                shell=event.shell,
                definition_id=event.definition_id,
                slot_id=event.slot_id,
                slot_name=event.slot_name,
                expected_revision=event.expected_revision,
                asked=event.asked,
                restores=event.restores,
                owner=event.owner,
                policy=WorkflowPolicy(slot=event.policy_slot, explicit=event.policy_explicit),
            )
        case PublicationStaged():
            return replace(
                state,
                status="pending-projection",
                definition_version=event.definition_version,
                artifact_id=event.artifact_id,
                bindings=event.bindings,
                required_projections=frozenset(event.required_projections),
                deadline_ms=event.deadline_ms,
                ask_again_ms=event.ask_again_ms,
                attempts=1,
            )
        case ProjectionAskedAgain():
            return replace(state, ask_again_ms=event.ask_again_ms, attempts=event.attempt)
        case ProjectionPrepared():
            return replace(state, prepared=state.prepared | {event.kind})
        case PublicationActivated():
            return replace(
                state,
                status="active",
                revision=event.revision,
                position=event.position,
                routing_shards=event.routing_shards,
                source_reference_id=event.source_reference_id,
            )
        case RoutingShardReached():
            return replace(state, reached=state.reached | {event.partition})
        case PublicationServed():
            return replace(state, served=True)
        case PublicationRetired():
            unserved = not state.served
            return replace(
                state,
                status="retired",
                replaced_by=event.replaced_by,
                unpublish_id=event.unpublish_id,
                replaced_unserved=unserved,
            )
        case PublicationFailed():
            return replace(state, status="failed", failure=event)
        case PublicationSuperseded():
            return replace(state, status="superseded", found_revision=event.found_revision)
