"""State of an unpublish, folded from its facts, and what it is answered."""

from dataclasses import dataclass, replace
from typing import Final

from interlock.domain.messages import Reply
from interlock.domain.publishing.unpublish.events import (
    Unpublished,
    UnpublishEvent,
    UnpublishServed,
    UnpublishShardReached,
    UnpublishSuperseded,
)
from interlock.domain.refusal import Refusal
from interlock.domain.reply import body, refused
from interlock.domain.sharding import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpublish:
    """One request to empty a slot."""

    outcome: Unpublished | UnpublishSuperseded | None = None
    """What became of it."""
    reached: frozenset[int] = frozenset()
    """The routing shards that decide at it or later."""
    served: bool = False


INITIAL: Final = Unpublish()


def evolve(state: Unpublish, event: UnpublishEvent) -> Unpublish:
    """The unpublish after the event."""
    match event:
        case Unpublished() | UnpublishSuperseded():
            return replace(state, outcome=event)
        case UnpublishShardReached():
            return replace(state, reached=state.reached | {event.partition})
        case UnpublishServed():
            return replace(state, served=True)


def unpublish_id(shell: str, command_id: str) -> str:
    """The unpublish that a command makes; the same again, however often it is sent."""
    return digest("unpublish", shell, command_id)


def answer(unpublish: Unpublish) -> Reply | None:
    """The answer to whoever asked, always the same; None while routing shards are missing."""
    match unpublish.outcome:
        case UnpublishSuperseded() as lost:
            return refused(lost.command_id, superseded(lost), lost.asked)
        case Unpublished() as done if unpublish.served:
            result: dict[str, object] = {
                "status": "unpublished",
                "unpublishId": done.unpublish_id,
                "definitionId": done.definition_id,
                "slotId": done.slot_id,
                "slot": done.slot_name,
                "publicationId": done.publication_id,
                "revision": done.revision,
                "position": done.position,
            }
            return Reply(command_id=done.command_id, status="done", body=body(result), asked=done.asked)
        case _:
            return None


def superseded(lost: UnpublishSuperseded) -> Refusal:
    """What an unpublish is told that came too late."""
    sentence = (
        f"Expected slot {lost.slot_name!r} of {lost.definition_id!r} at revision {lost.expected_revision}, "
        f"found it at {lost.found_revision}; look at what is there now and unpublish again."
    )
    details = (
        ("unpublishId", lost.unpublish_id),
        ("definitionId", lost.definition_id),
        ("slotId", lost.slot_id),
        ("slot", lost.slot_name),
        ("expectedRevision", str(lost.expected_revision)),
        ("foundRevision", str(lost.found_revision)),
    )
    return Refusal("superseded", sentence, details)
