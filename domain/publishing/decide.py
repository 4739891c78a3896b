"""Who gets authority: decisions over all aggregates of a publishing shard, each one commit.

An activation moves slot, two publications and the ledger in one decision, so the decision stands here and not in one
aggregate's folder. Always so: the old authority is untouched until the commit that selects the new one (PUB-13), and
that commit compares the slot's revision and the ledger's claims as they are then, not as they were when the candidate
was staged (PUB-11, PUB-12). Every message may come twice and in any order: what has happened already is `NOTHING`, and
so is an answer for a publication that is unknown here or has come to its end.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from interlock.domain.decider import NOTHING, Decided, Decision, Nothing
from interlock.domain.definitions.providers import PROVIDERS, TriggerProvider
from interlock.domain.messages import ProjectionAnswered, Publish, Restore, RoutingReached, StartTestRun, Unpublish
from interlock.domain.publishing.activation import select
from interlock.domain.publishing.again import ClientCommand, again
from interlock.domain.publishing.checks import PublicationValidator
from interlock.domain.publishing.here import ASK_AGAIN_MS, TEST_REFERENCE_MS, Here
from interlock.domain.publishing.policy import HostPolicy
from interlock.domain.publishing.publication.commands import PublicationCommand
from interlock.domain.publishing.publication.events import (
    ProjectionAskedAgain,
    ProjectionPrepared,
    PublicationServed,
    RoutingShardReached,
)
from interlock.domain.publishing.publication.state import INITIAL, Publication, publication_id
from interlock.domain.publishing.reference.decide import expire, start_test_run
from interlock.domain.publishing.request import publish, restore
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.publishing.story import Story
from interlock.domain.publishing.unpublish.decide import reached, unpublish
from interlock.domain.refusal import Refusal

__all__ = ["DUE_MAX", "decide", "due", "next_due_ms", "publication_id"]

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
    host_policy: HostPolicy = "default",
    validators: Sequence[PublicationValidator] = (),
    test_reference_ms: int = TEST_REFERENCE_MS,
) -> Decided:
    """What a message makes.

    `position` is the number of the publishing append that will carry the decision; a decision that goes into another
    one has to be made again. `routing_shards` (at least 1) is how many have to say that they decide at an activation,
    `projection_kinds` are the views that have to prepare a candidate, within `prepare_ms`, and
    `host_policy` is what becomes of a request that names no slot; `validators` have a word in what is staged, and
    `test_reference_ms` is how long a TestRun reference lives.
    """
    here = Here(
        shard=shard,
        now_ms=now_ms,
        position=position,
        routing_shards=routing_shards,
        projection_kinds=projection_kinds,
        prepare_ms=prepare_ms,
        providers=providers,
        host_policy=host_policy,
        validators=validators,
        test_reference_ms=test_reference_ms,
    )
    if isinstance(message, ClientCommand) and (before := again(shard, message)) is not None:
        return before
    match message:
        case Publish():
            return publish(here, message)
        case Restore():
            return restore(here, message)
        case Unpublish():
            return unpublish(here, message)
        case StartTestRun():
            return start_test_run(here, message)
        case ProjectionAnswered():
            return _projection_answered(here, message)
        case RoutingReached():
            return _routing_reached(here, message)


def due(shard: PublishingShard, now_ms: int) -> Decision | Nothing:
    """Ends the candidates whose projections have not answered by their deadline, and asks those again that have not
    answered for some time, at most `DUE_MAX` at once; then the TestRun references whose time is over."""
    late = sorted((due_ms, key) for key, due_ms in shard.pending.items() if due_ms <= now_ms)[:DUE_MAX]
    if not late:
        return expire(shard, now_ms)
    story = Story(now_ms)
    for _, identity in late:
        publication = shard.publications[identity]
        revision = shard.slot(publication.slot_id).revision
        if publication.deadline_ms > now_ms:
            _ask_again(publication, now_ms, story)
        elif publication.expected_revision != revision:
            story.lose(publication, revision)
        else:
            story.fail(publication, _too_late(publication))
    return story.told()


def next_due_ms(shard: PublishingShard) -> int | None:
    """When `due` next has something to do; None while no candidate waits and no reference expires."""
    return min(chain(shard.pending.values(), shard.expiring.values()), default=None)


# ---- the messages -------------------------------------------------------------------------------------------


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


def _ask_again(publication: Publication, now_ms: int, story: Story) -> None:
    for kind in sorted(publication.required_projections - publication.prepared):
        asked = ProjectionAskedAgain(
            publication_id=publication.publication_id,
            kind=kind,
            attempt=publication.attempts + 1,
            deadline_ms=publication.deadline_ms,
            ask_again_ms=now_ms + ASK_AGAIN_MS,
            at_ms=now_ms,
        )
        story.about(publication, asked)


def _too_late(publication: Publication) -> Refusal:
    missing = ", ".join(sorted(publication.required_projections - publication.prepared))
    return Refusal("state", f"Expected the projections to prepare in time, found no answer of: {missing}.")
