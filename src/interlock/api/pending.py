"""What a command that is pending waits for: said by the process's replica of publishing, not by a view.

A view may be what it waits for, and then knows nothing of it.
"""

from typing import Final

from interlock.api.context import Context
from interlock.domain.messages import Unpublish
from interlock.domain.publishing.notices import notices
from interlock.domain.publishing.publication.state import INITIAL, Publication, publication_id
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.publishing.unpublish.events import Unpublished as Emptied
from interlock.domain.publishing.unpublish.state import unpublish_id
from interlock.sdk.types import Published, Unpublished

NOT_TAKEN_UP: Final = ("the publishing shard has to take it up",)
ANSWERED: Final = ("its answer is on its way; send the same command again",)


def view_has_to_prepare(kind: str) -> str:
    """What a candidate waits for."""
    return f"view {kind} has to prepare its rows"


def shard_has_to_decide(partition: int) -> str:
    """What "active" waits for, and the end of an unpublish."""
    return f"routing shard {partition} has to decide by it"


def of_publication(context: Context, shell: str, command_id: str) -> Published:
    """How a publish or a restore stands."""
    identity = publication_id(shell, command_id)
    found = known(context).publications.get(identity, INITIAL)
    return Published(
        status="pending",
        command_id=command_id,
        publication_id=identity,
        definition_id=found.definition_id,
        slot_id=found.slot_id,
        slot=found.slot_name,
        artifact_id=found.artifact_id,
        version=found.definition_version,
        restores=found.restores,
        warnings=notices(found.bindings),
        missing=(_missing(found) or ANSWERED) if found.publication_id else NOT_TAKEN_UP,
    )


def of_unpublish(context: Context, message: Unpublish) -> Unpublished:
    """How an unpublish stands."""
    identity = unpublish_id(message.shell, message.command_id)
    found = known(context).unpublishes.get(identity)
    if found is None or not isinstance(done := found.outcome, Emptied):
        return Unpublished(
            status="pending",
            command_id=message.command_id,
            definition_id=message.definition_id,
            missing=NOT_TAKEN_UP if found is None else ANSWERED,
        )
    shards = tuple(shard_has_to_decide(each) for each in range(done.routing_shards) if each not in found.reached)
    return Unpublished(
        status="pending",
        command_id=message.command_id,
        definition_id=done.definition_id,
        unpublish_id=identity,
        slot_id=done.slot_id,
        slot=done.slot_name,
        publication_id=done.publication_id,
        revision=done.revision,
        missing=shards or ANSWERED,
    )


def _missing(publication: Publication) -> tuple[str, ...]:
    if publication.status == "pending-projection":
        return tuple(map(view_has_to_prepare, sorted(publication.required_projections - publication.prepared)))
    missing = (each for each in range(publication.routing_shards) if each not in publication.reached)
    return tuple(map(shard_has_to_decide, missing))


def known(context: Context) -> PublishingShard:
    """Publishing as this process knows it."""
    shard = context.engine.publishing
    assert shard is not None, "expected the role api in a process that serves the API"
    return shard
