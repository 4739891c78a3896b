"""What a request to unpublish makes: the slot is emptied by the same compare-and-swap that fills it (PUB-14)."""

from interlock.domain.asked import asked_of
from interlock.domain.decider import Decided, Decision, Intent
from interlock.domain.messages import Reply
from interlock.domain.messages import Unpublish as UnpublishCommand
from interlock.domain.publishing.activation import empty
from interlock.domain.publishing.candidate import Target, aim, wish_of
from interlock.domain.publishing.here import Here
from interlock.domain.publishing.story import Story
from interlock.domain.publishing.unpublish.events import (
    Unpublished,
    UnpublishEvent,
    UnpublishServed,
    UnpublishShardReached,
    UnpublishSuperseded,
)
from interlock.domain.publishing.unpublish.state import INITIAL, Unpublish, answer, evolve, unpublish_id
from interlock.domain.refusal import Refusal
from interlock.domain.reply import body


def unpublish(here: Here, message: UnpublishCommand) -> Decided:
    """Empties a slot. A slot that is empty is what was asked for, whatever revision was observed."""
    identity = unpublish_id(message.shell, message.command_id)
    policy = here.shard.policy(message.shell, message.definition_id)
    target = aim(here.shard, wish_of(message), message.definition_id, policy, here.host_policy)
    if isinstance(target, Refusal):
        return target
    if not target.slot.publication_id:
        return Decision((), (Intent("replies", message.command_id, _nothing(message, target)),))
    story = Story(here.now_ms)
    if target.lost:
        superseded = _superseded(identity, message, target, here.now_ms)
        return story.replied(answer(_about(story, INITIAL, superseded))).told()
    # The slot stays its owner's; a caller that names nobody gives it up only by taking over.
    revision = empty(here, target.slot, identity, target.owner, story)
    _about(story, INITIAL, _unpublished(here, identity, message, target, revision))
    return story.told()


def reached(here: Here, unpublish: Unpublish, partition: int, position: int, story: Story) -> bool:
    """A routing shard decides at a position; with the last one the unpublish is answered. Whether that was news."""
    done = unpublish.outcome
    if (
        not isinstance(done, Unpublished)
        or unpublish.served
        or position < done.position
        or partition in unpublish.reached
        or not 0 <= partition < done.routing_shards
    ):
        return False
    said = UnpublishShardReached(unpublish_id=done.unpublish_id, partition=partition)
    unpublish = _about(story, unpublish, said)
    if len(unpublish.reached) == done.routing_shards:
        served = UnpublishServed(unpublish_id=done.unpublish_id, at_ms=here.now_ms)
        story.replied(answer(_about(story, unpublish, served)))
    return True


def _about(story: Story, unpublish: Unpublish, event: UnpublishEvent) -> Unpublish:
    story.change(f"unpublish:{event.unpublish_id}", event)
    return evolve(unpublish, event)


def _nothing(message: UnpublishCommand, target: Target) -> Reply:
    since = "selects no publication" if target.slot.revision else "has never selected a publication"
    result: dict[str, object] = {
        "status": "nothing",
        "definitionId": target.definition_id,
        "slotId": target.slot_id,
        "slot": target.slot_name,
        "revision": target.slot.revision,
        "message": f"Slot {target.slot_name!r} of {target.definition_id!r} {since}; there is nothing to unpublish.",
    }
    return Reply(command_id=message.command_id, status="done", body=body(result))


def _unpublished(here: Here, identity: str, message: UnpublishCommand, target: Target, revision: int) -> Unpublished:
    return Unpublished(
        unpublish_id=identity,
        command_id=message.command_id,
        shell=message.shell,
        definition_id=target.definition_id,
        slot_id=target.slot_id,
        slot_name=target.slot_name,
        policy_source=target.policy_source,
        expected_revision=target.expected_revision,
        publication_id=target.slot.publication_id,
        revision=revision,
        position=here.position,
        routing_shards=here.routing_shards,
        requested_by=message.requested_by,
        requested_at_ms=message.requested_at_ms,
        at_ms=here.now_ms,
        asked=asked_of(message),
    )


def _superseded(identity: str, message: UnpublishCommand, target: Target, now_ms: int) -> UnpublishSuperseded:
    return UnpublishSuperseded(
        unpublish_id=identity,
        command_id=message.command_id,
        shell=message.shell,
        definition_id=target.definition_id,
        slot_id=target.slot_id,
        slot_name=target.slot_name,
        policy_source=target.policy_source,
        expected_revision=target.expected_revision,
        found_revision=target.slot.revision,
        requested_by=message.requested_by,
        requested_at_ms=message.requested_at_ms,
        at_ms=now_ms,
        asked=asked_of(message),
    )
