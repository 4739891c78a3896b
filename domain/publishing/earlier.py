"""Which publication a request to restore means, and whether it may have authority *again*.

Asked by the decision, and by the preflight that looks ahead to it.
"""

from interlock.domain.messages import Restore
from interlock.domain.publishing.candidate import Target, aim, wish_of
from interlock.domain.publishing.policy import HostPolicy, WorkflowPolicy
from interlock.domain.publishing.publication.state import Publication
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.refusal import Refusal


def earlier_one(
    shard: PublishingShard, message: Restore, host_policy: HostPolicy
) -> tuple[Target, Publication] | Refusal:
    """The slot, and the publication of it that is to be restored; or why there is none."""
    if message.publication_id is None:
        target = _aimed(shard, message, host_policy, shard.policy(message.shell, message.definition_id))
        if isinstance(target, Refusal):
            return target
        previous = _previous(shard, target)
        return previous if isinstance(previous, Refusal) else (target, previous)
    named = shard.publications.get(message.publication_id)
    if named is None or (named.shell, named.definition_id) != (message.shell, message.definition_id):
        return Refusal(
            "not-found",
            f"Expected a publication {message.publication_id!r} of {message.definition_id!r}, found none; "
            "`interlock publications list` shows those that there are.",
        )
    target = _aimed(shard, message, host_policy, named.policy)
    if isinstance(target, Refusal):
        return target
    if named.slot_id != target.slot_id:
        return Refusal(
            "invalid",
            f"Expected a publication of slot {target.slot_name!r}, found that {named.publication_id} is of slot "
            f"{named.slot_name!r}; name that one with --slot.",
            (("publicationId", named.publication_id), ("slot", named.slot_name)),
        )
    return target, named


def never_had_authority(publication: Publication) -> Refusal | None:
    """Why a publication can't have authority *again*."""
    match publication.status:
        case "failed":
            why = f"that it failed: {publication.failure.reason if publication.failure else ''}"
        case "superseded":
            why = "that it was superseded and never had authority"
        case "requested" | "pending-projection":
            why = "that it is pending still; wait for what comes of it"
        case "active" | "retired":
            return None
    sentence = f"Expected publication {publication.publication_id} to have had authority, found {why}"
    details = (("publicationId", publication.publication_id), ("status", publication.status))
    return Refusal("state", f"{sentence.rstrip('.')}.", details)


def artifact_gone(publication: Publication) -> Refusal:
    """Says of a publication that nobody can run what it published any more."""
    return Refusal(
        "state",
        f"Expected the executable {publication.artifact_id} of publication {publication.publication_id} to be there, "
        "found it gone; publish its document again.",
    )


# ---- within --------------------------------------------------------------------------------------------------------


def _aimed(
    shard: PublishingShard, message: Restore, host_policy: HostPolicy, policy: WorkflowPolicy
) -> Target | Refusal:
    return aim(shard, wish_of(message), message.definition_id, policy, host_policy)


def _previous(shard: PublishingShard, target: Target) -> Publication | Refusal:
    """The publication that the slot selected before the present one, or last where it is empty."""
    selected = shard.selected.get(target.slot_id, ())
    earlier = selected[:-1] if target.slot.publication_id else selected
    if not earlier:
        return Refusal(
            "not-found",
            f"Expected slot {target.slot_name!r} of {target.definition_id!r} to have selected an earlier publication, "
            f"found {'only the present one' if selected else 'none'}.",
            (("slot", target.slot_name), ("foundRevision", str(target.slot.revision))),
        )
    return shard.publications[earlier[-1]]
