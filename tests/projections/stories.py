"""What happens to runs, publications and stimuli, as the events that say so."""

from interlock.domain.decider import Change
from interlock.domain.executions.execution.events import (
    ActivityCompleted,
    ExecutionCompleted,
    ExecutionEvent,
    ExecutionStarted,
)
from interlock.domain.messages import Origin
from interlock.domain.publishing.claims.events import Claim, ClaimsChanged
from interlock.domain.publishing.publication.events import (
    Binding,
    ProjectionPrepared,
    PublicationActivated,
    PublicationEvent,
    PublicationRequested,
    PublicationRetired,
    PublicationStaged,
)
from interlock.domain.publishing.slot.events import SlotActivated, SlotEmptied
from interlock.domain.publishing.unpublish.events import Unpublished
from interlock.domain.routing.stimulus.events import Resumed, Started, StimulusRouted
from interlock.domain.sharding import slot_id, stimulus_identity

SHELL = "default"
ORIGIN = Origin(channel="kafka", topic="interlock.stimuli@1", partition=0, offset=7)
PLACED = stimulus_identity("Event", "order.placed")
SLOT = slot_id(SHELL, "orders", "main")


def of_run(execution_id: str, *events: ExecutionEvent) -> list[Change]:
    """Events of a run."""
    return [Change(f"execution:{execution_id}", event) for event in events]


def started(execution_id: str, *, publication_id: str = "p1", at_ms: int = 1_000) -> ExecutionStarted:
    """A run begins."""
    return ExecutionStarted(
        execution_id=execution_id,
        shell=SHELL,
        definition_id="orders",
        slot_id=SLOT,
        publication_id=publication_id,
        artifact_id=f"artifact-{publication_id}",
        trigger_node="placed",
        stimulus_id=f"s-{execution_id}",
        stimulus_name="order.placed",
        data='{"order": 1}',
        at_ms=at_ms,
    )


def whole_run(execution_id: str, *, publication_id: str = "p1", at_ms: int = 1_000) -> list[Change]:
    """A run of three activities from its start to its end."""
    activities = [
        ActivityCompleted(node_id=f"node-{number}", attempt=1, output='{"ok": true}', at_ms=at_ms + number)
        for number in range(3)
    ]
    return of_run(
        execution_id,
        started(execution_id, publication_id=publication_id, at_ms=at_ms),
        *activities,
        ExecutionCompleted(output='{"ok": true}', at_ms=at_ms + 3),
    )


def of_publication(publication_id: str, *events: PublicationEvent) -> list[Change]:
    """Events of a publication."""
    return [Change(f"publication:{publication_id}", event) for event in events]


def candidate(publication_id: str, *, revision: int = 0, identity: str = PLACED, shell: str = SHELL) -> list[Change]:
    """A publication is requested and staged; it waits for the trigger index."""
    requested = PublicationRequested(
        publication_id=publication_id,
        command_id=f"command-{publication_id}",
        shell=shell,
        definition_id="orders",
        slot_id=slot_id(shell, "orders", "main"),
        slot_name="main",
        policy_source="workflow",
        expected_revision=revision,
        requested_by="somebody",
        requested_at_ms=1_000 + revision,
    )
    binding = Binding(
        binding_id=f"binding-{publication_id}",
        node_id="placed",
        type="Event",
        name="order.placed",
        identity=identity,
        cardinality="fan-out",
        claim="event:order.placed",
    )
    staged = PublicationStaged(
        publication_id=publication_id,
        definition_version="v1",
        artifact_id=f"artifact-{publication_id}",
        bindings=(binding,),
        required_projections=("trigger-index",),
        deadline_ms=60_000,
        at_ms=1_001 + revision,
    )
    return of_publication(publication_id, requested, staged)


def prepared(publication_id: str) -> list[Change]:
    """The holder's answer is recorded."""
    event = ProjectionPrepared(publication_id=publication_id, kind="trigger-index", at_ms=1_002)
    return of_publication(publication_id, event)


def activation(
    publication_id: str, *, revision: int, replaces: str = "", position: int = 3, shell: str = SHELL
) -> list[Change]:
    """The slot selects the publication; all of it is one append."""
    slot = slot_id(shell, "orders", "main")
    selected = SlotActivated(
        slot_id=slot,
        shell=shell,
        definition_id="orders",
        name="main",
        publication_id=publication_id,
        replaced_publication_id=replaces,
        revision=revision,
        at_ms=2_000 + revision,
    )
    claims = ClaimsChanged(
        shell=shell,
        slot_id=slot,
        definition_id="orders",
        slot_name="main",
        publication_id=publication_id,
        claims=(Claim(claim="event:order.placed", cardinality="fan-out", node_id="placed"),),
    )
    activated = PublicationActivated(
        publication_id=publication_id,
        slot_id=slot,
        revision=revision,
        position=position,
        routing_shards=2,
        at_ms=2_000 + revision,
    )
    retired = PublicationRetired(publication_id=replaces, replaced_by=publication_id, at_ms=2_000 + revision)
    return [
        Change(f"slot:{slot}", selected),
        Change(f"claims:{shell}", claims),
        *of_publication(publication_id, activated),
        *(of_publication(replaces, retired) if replaces else ()),
    ]


def unpublish(unpublish_id: str, publication_id: str, *, revision: int) -> list[Change]:
    """The slot is emptied; all of it is one append."""
    emptied = SlotEmptied(
        slot_id=SLOT,
        shell=SHELL,
        definition_id="orders",
        name="main",
        publication_id=publication_id,
        unpublish_id=unpublish_id,
        revision=revision,
        at_ms=3_000,
    )
    retired = PublicationRetired(publication_id=publication_id, replaced_by="", at_ms=3_000, unpublish_id=unpublish_id)
    given_up = ClaimsChanged(
        shell=SHELL, slot_id=SLOT, definition_id="orders", slot_name="main", publication_id="", claims=()
    )
    done = Unpublished(
        unpublish_id=unpublish_id,
        command_id=f"command-{unpublish_id}",
        shell=SHELL,
        definition_id="orders",
        slot_id=SLOT,
        slot_name="main",
        policy_source="request",
        expected_revision=revision - 1,
        publication_id=publication_id,
        revision=revision,
        position=9,
        routing_shards=2,
        requested_by="somebody",
        requested_at_ms=2_999,
        at_ms=3_000,
    )
    return [
        Change(f"slot:{SLOT}", emptied),
        *of_publication(publication_id, retired),
        Change(f"claims:{SHELL}", given_up),
        Change(f"unpublish:{unpublish_id}", done),
    ]


def routed(
    stimulus_id: str,
    *,
    starts: tuple[str, ...] = (),
    resumes: tuple[str, ...] = (),
    kept_until_ms: int | None = None,
    at_ms: int = 1_000,
) -> Change:
    """A stimulus is routed; it starts and resumes these runs."""
    event = StimulusRouted(
        stimulus_id=stimulus_id,
        shell=SHELL,
        type="Event",
        name="order.placed",
        identity=PLACED,
        correlation="",
        idempotency_key=f"key-{stimulus_id}",
        data="{}",
        arrived_at_ms=at_ms,
        kept_until_ms=kept_until_ms,
        deliver="all",
        past_horizon=False,
        origin=ORIGIN,
        starts=tuple(Started(execution_id=each, publication_id="p1", binding_id=f"binding-{each}") for each in starts),
        resumes=tuple(Resumed(execution_id=each, bookmark_id=f"bookmark-{each}") for each in resumes),
    )
    return Change(f"stimulus:{stimulus_id}", event)
