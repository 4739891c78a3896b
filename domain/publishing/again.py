"""A command whose id was used before in its shell: the same one again does nothing, another one is refused.

What was asked first stands in the facts that it made, so this holds after a restart, in another process, and when the
answer has long been forgotten. A command that made no fact (it was refused, or there was nothing to do) has not used
its id up.
"""

from interlock.domain.asked import asked_of
from interlock.domain.decider import NOTHING, Nothing
from interlock.domain.frozen import frozen
from interlock.domain.messages import Publish, Restore, StartTestRun, Unpublish
from interlock.domain.publishing.publication.state import publication_id
from interlock.domain.publishing.reference.decide import run_of
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.publishing.unpublish.state import unpublish_id
from interlock.domain.refusal import Refusal

ClientCommand = Publish | Restore | Unpublish | StartTestRun
"""What clients ask of publishing."""


@frozen(kw_only=True)
class _First:
    """What an id was first used for."""

    type: type[ClientCommand]
    asked: str
    """"" where it was not recorded yet; then every command of the type is taken for the same."""
    told: str
    """In words, as "publish 'orders' in slot 'default'"."""
    made: tuple[str, str]
    """What came of it, by the name that answers have for its id."""


def again(shard: PublishingShard, message: ClientCommand) -> Nothing | Refusal | None:
    """What a command makes whose id was used before; None where it wasn't."""
    first = _first(shard, message.shell, message.command_id)
    if first is None:
        return None
    if not isinstance(message, first.type) or first.asked not in ("", asked_of(message)):
        return _used(message.command_id, first)
    return NOTHING


def _first(shard: PublishingShard, shell: str, command_id: str) -> _First | None:
    if published := shard.publications.get(publication_id(shell, command_id)):
        return _First(
            type=Restore if published.restores else Publish,
            asked=published.asked,
            told=_told("restore" if published.restores else "publish", published.definition_id, published.slot_name),
            made=("publicationId", published.publication_id),
        )
    unpublished = shard.unpublishes.get(unpublish_id(shell, command_id))
    if unpublished is not None and (outcome := unpublished.outcome) is not None:
        return _First(
            type=Unpublish,
            asked=outcome.asked,
            told=_told("unpublish", outcome.definition_id, outcome.slot_name),
            made=("unpublishId", outcome.unpublish_id),
        )
    used = shard.test_runs.get(run_of(shell, command_id))
    if used is not None and (created := shard.references[used.reference_id].created) is not None:
        return _First(
            type=StartTestRun,
            asked=used.asked,
            told=f"start a test run of {created.definition_id!r}",
            made=("executionId", used.execution_id),
        )
    return None


def _told(verb: str, definition_id: str, slot_name: str) -> str:
    return f"{verb} {definition_id!r} in slot {slot_name!r}"


def _used(command_id: str, first: _First) -> Refusal:
    return Refusal(
        "conflict",
        f"Expected under the command id {command_id!r} what it was first used for ({first.told}, with the data of that "
        "time), found another command; nothing has changed. Give this one an id of its own.",
        (("firstUsedTo", first.told), first.made),
    )
