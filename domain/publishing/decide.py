"""Who gets authority: decisions over all aggregates of a publishing shard, each one commit.

An activation moves slot, two publications and the ledger in one decision, so the decision stands here and not in one
aggregate's folder. Always so: the old authority is untouched until the commit that selects the new one (PUB-13), and
that commit compares the slot's revision and the ledger's claims as they are then, not as they were when the candidate
was staged (PUB-11, PUB-12). Every message may come twice and in any order: what has happened already is `NOTHING`, and
so is an answer for a publication that is unknown here or has come to its end.
"""

from collections.abc import Sequence
from typing import Final

from interlock.domain.decider import NOTHING, Decided, Decision, Nothing
from interlock.domain.definitions.compiler import canonical
from interlock.domain.definitions.providers import PROVIDERS, TriggerProvider
from interlock.domain.messages import ProjectionAnswered, Publish, RoutingReached, Unpublish
from interlock.domain.publishing.activation import select
from interlock.domain.publishing.candidate import Candidate, Target, Unfit, resolve
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.publishing.here import Here
from interlock.domain.publishing.publication.commands import PublicationCommand
from interlock.domain.publishing.publication.events import (
    Binding,
    ProjectionPrepared,
    PublicationRequested,
    PublicationServed,
    PublicationStaged,
    RoutingShardReached,
)
from interlock.domain.publishing.publication.state import INITIAL, Publication
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.publishing.story import Story
from interlock.domain.publishing.unpublish.decide import reached, unpublish
from interlock.domain.refusal import Refusal
from interlock.domain.sharding import binding_id, digest

DUE_MAX: Final = 100
"""Candidates that one commit fails for their deadline, so that it fits an append; the next one takes more."""


def decide(
    shard: PublishingShard,
    message: PublicationCommand,
    now_ms: int,
    *,
    position: int,
    routing_shards: int,
    projection_kinds: tuple[str, ...],
    prepare_ms: int,
    providers: Sequence[TriggerProvider] = PROVIDERS,
) -> Decided:
    """What a message makes.

    `position` is the number of the publishing append that will carry the decision; a decision that goes into another
    one has to be made again. `routing_shards` (at least 1) is how many have to say that they decide at an activation,
    `projection_kinds` are the views that have to prepare a candidate, within `prepare_ms`.
    """
    here = Here(
        shard=shard,
        now_ms=now_ms,
        position=position,
        routing_shards=routing_shards,
        projection_kinds=projection_kinds,
        prepare_ms=prepare_ms,
        providers=providers,
    )
    match message:
        case Publish():
            return _publish(here, message)
        case Unpublish():
            return unpublish(here, message)
        case ProjectionAnswered():
            return _projection_answered(here, message)
        case RoutingReached():
            return _routing_reached(here, message)


def due(shard: PublishingShard, now_ms: int) -> Decision | Nothing:
    """Ends the candidates whose projections have not answered in time, at most `DUE_MAX` at once."""
    late = sorted((deadline, key) for key, deadline in shard.pending.items() if deadline <= now_ms)[:DUE_MAX]
    if not late:
        return NOTHING
    story = Story(now_ms)
    for _, publication_id in late:
        publication = shard.publications[publication_id]
        if publication.expected_revision != shard.slot(publication.slot_id).revision:
            story.lose(publication, shard.slot(publication.slot_id).revision)
        else:
            story.fail(publication, _too_late(publication))
    return story.told()


def next_due_ms(shard: PublishingShard) -> int | None:
    """When `due` next has something to do; None while no candidate waits."""
    return min(shard.pending.values(), default=None)


def publication_id(shell: str, command_id: str) -> str:
    """The publication that a command makes; the same again, however often it is sent."""
    return digest("publication", shell, command_id)


# ---- the messages -------------------------------------------------------------------------------------------


def _publish(here: Here, message: Publish) -> Decided:
    """Requests a publication, and stages it if nothing stands against it."""
    identity = publication_id(message.shell, message.command_id)
    if identity in here.shard.publications:
        return NOTHING
    candidate = resolve(
        here.shard, message.shell, message.document, message.slot, message.expect_revision, here.providers
    )
    if isinstance(candidate, Refusal):
        return candidate
    story = Story(here.now_ms)
    requested = story.about(INITIAL, _requested(identity, message, candidate.target))
    if isinstance(candidate, Unfit):
        return story.fail(requested, candidate.refusal).told()
    if candidate.target.lost:
        return story.lose(requested, candidate.target.slot.revision).told()
    if candidate.conflicts:
        return story.clash(requested, candidate.conflicts).told()
    executable = candidate.executable
    if executable.artifact_id not in here.shard.executables:
        saved = ExecutableSaved(artifact_id=executable.artifact_id, content=canonical(executable))
        story.change(f"executable:{executable.artifact_id}", saved)
    staged = story.about(requested, _staged(here, requested, candidate))
    if not here.projection_kinds:
        select(here, staged, story)
    return story.told()


def _projection_answered(here: Here, message: ProjectionAnswered) -> Decided:
    """A view is prepared, or can't be; with the last one the candidate takes its slot."""
    publication = here.shard.publications.get(message.publication_id, INITIAL)
    if publication.status != "pending-projection" or message.kind not in publication.required_projections:
        return NOTHING
    story = Story(here.now_ms)
    if not message.prepared:
        reason = f"Expected projection {message.kind!r} to prepare, found: {message.reason or 'no reason given'}."
        return story.fail(publication, Refusal("state", reason)).told()
    if message.kind in publication.prepared:
        return NOTHING
    prepared = ProjectionPrepared(publication_id=publication.publication_id, kind=message.kind, at_ms=here.now_ms)
    publication = story.about(publication, prepared)
    if publication.prepared == publication.required_projections:
        select(here, publication, story)
    return story.told()


def _routing_reached(here: Here, message: RoutingReached) -> Decided:
    """A routing shard decides at an activation or a retirement; with the last one that is answered (PUB-16).

    A publication that was retired meanwhile is answered all the same: its shards decide at something newer. So one word
    may count for both, where an unpublish followed the activation closely.
    """
    publication = here.shard.publications.get(message.publication_id, INITIAL)
    story = Story(here.now_ms)
    news = _activation_reached(here, publication, message, story)
    if emptied := here.shard.unpublishes.get(publication.unpublish_id):
        news = reached(here, emptied, message.partition, message.position, story) or news
    return story.told() if news else NOTHING


def _activation_reached(here: Here, publication: Publication, message: RoutingReached, story: Story) -> bool:
    if (
        publication.served
        or not publication.revision
        or message.position < publication.position
        or message.partition in publication.reached
        or not 0 <= message.partition < publication.routing_shards
    ):
        return False
    said = RoutingShardReached(publication_id=publication.publication_id, partition=message.partition)
    publication = story.about(publication, said)
    if len(publication.reached) == publication.routing_shards:
        served = PublicationServed(publication_id=publication.publication_id, at_ms=here.now_ms)
        story.answered(story.about(publication, served))
    return True


# ---- within ------------------------------------------------------------------------------------------------------


def _too_late(publication: Publication) -> Refusal:
    missing = ", ".join(sorted(publication.required_projections - publication.prepared))
    return Refusal("state", f"Expected the projections to prepare in time, found no answer of: {missing}.")


def _requested(identity: str, message: Publish, target: Target) -> PublicationRequested:
    return PublicationRequested(
        publication_id=identity,
        command_id=message.command_id,
        shell=message.shell,
        definition_id=target.definition_id,
        slot_id=target.slot_id,
        slot_name=target.slot_name,
        policy_source=target.policy_source,
        expected_revision=target.expected_revision,
        requested_by=message.requested_by,
        requested_at_ms=message.requested_at_ms,
    )


def _staged(here: Here, publication: Publication, candidate: Candidate) -> PublicationStaged:
    identity = publication.publication_id
    bindings = tuple(
        Binding(
            binding_id=binding_id(publication.slot_id, identity, trigger.node_id, trigger.claim),
            node_id=trigger.node_id,
            type=trigger.type,
            name=trigger.name,
            identity=trigger.identity,
            cardinality=trigger.cardinality,
            claim=trigger.claim,
        )
        for trigger in candidate.executable.triggers
    )
    return PublicationStaged(
        publication_id=identity,
        definition_version=candidate.executable.version,
        artifact_id=candidate.executable.artifact_id,
        bindings=bindings,
        required_projections=here.projection_kinds,
        deadline_ms=here.now_ms + here.prepare_ms,
        at_ms=here.now_ms,
    )
