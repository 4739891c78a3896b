"""How a publication begins: a publish of a document, or the restoration of an earlier publication.

Both make a new publication that goes the same way: requested, held against slot and claims, staged, and prepared by the
views (PUB-10). What differs is where it comes from: a document that is compiled, or a publication that was. Nothing is
ever taken over from the earlier one's checks (PUB-14).
"""

from collections.abc import Sequence

from interlock.domain.asked import asked_of
from interlock.domain.decider import Decided, Decision, Intent
from interlock.domain.definitions.compiler import canonical
from interlock.domain.definitions.executable import Trigger
from interlock.domain.messages import Publish, Reply, Restore
from interlock.domain.publishing.activation import select
from interlock.domain.publishing.binding import bound, claims_of, trigger_of
from interlock.domain.publishing.candidate import Target, Unfit, candidate_set, resolve, wish_of
from interlock.domain.publishing.checks import objection
from interlock.domain.publishing.claims.state import conflicts
from interlock.domain.publishing.earlier import artifact_gone, earlier_one, never_had_authority
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.publishing.here import ASK_AGAIN_MS, Here
from interlock.domain.publishing.policy import WorkflowPolicy
from interlock.domain.publishing.publication.events import Binding, PublicationRequested, PublicationStaged
from interlock.domain.publishing.publication.state import INITIAL, Publication, publication_id
from interlock.domain.publishing.story import Story
from interlock.domain.refusal import Refusal
from interlock.domain.reply import body


def publish(here: Here, message: Publish) -> Decided:
    """Requests a publication, and stages it if nothing stands against it."""
    identity = publication_id(message.shell, message.command_id)
    candidate = resolve(
        here.shard, wish_of(message), message.document, providers=here.providers, host_policy=here.host_policy
    )
    if isinstance(candidate, Refusal):
        return candidate
    story = Story(here.now_ms)
    requested = story.about(INITIAL, _requested(identity, message, candidate.target, candidate.policy))
    if isinstance(candidate, Unfit):
        return story.fail(requested, candidate.refusal).told()
    if candidate.target.lost:
        return story.lose(requested, candidate.target.slot.revision).told()
    if candidate.conflicts:
        return story.clash(requested, candidate.conflicts, candidate.executable.triggers).told()
    executable = candidate.executable
    wanted = candidate_set(candidate.target, executable.version, executable.artifact_id, executable.triggers)
    if refusal := objection(wanted, here.validators, here.now_ms):
        return story.fail(requested, refusal).told()
    if executable.artifact_id not in here.shard.executables:
        saved = ExecutableSaved(artifact_id=executable.artifact_id, content=canonical(executable))
        story.change(f"executable:{executable.artifact_id}", saved)
    return _staged(here, story, requested, executable.version, executable.artifact_id, executable.triggers)


def restore(here: Here, message: Restore) -> Decided:
    """Requests that an earlier publication has authority again, as a new one that all checks are made of."""
    identity = publication_id(message.shell, message.command_id)
    found = earlier_one(here.shard, message, here.host_policy)
    if isinstance(found, Refusal):
        return found
    target, earlier = found
    if earlier.publication_id == target.slot.publication_id:
        return Decision((), (Intent("replies", message.command_id, _nothing(message, target, earlier)),))
    if refusal := never_had_authority(earlier):
        return refusal
    story = Story(here.now_ms)
    requested = story.about(
        INITIAL, _requested(identity, message, target, earlier.policy, restores=earlier.publication_id)
    )
    if earlier.artifact_id not in here.shard.executables:
        return story.fail(requested, artifact_gone(earlier)).told()
    if target.lost:
        return story.lose(requested, target.slot.revision).told()
    if clash := conflicts(here.shard.ledger(message.shell), target.slot_id, claims_of(earlier.bindings)):
        return story.clash(requested, clash, earlier.bindings).told()
    wanted = candidate_set(
        target, earlier.definition_version, earlier.artifact_id, tuple(map(trigger_of, earlier.bindings))
    )
    if refusal := objection(wanted, here.validators, here.now_ms):
        return story.fail(requested, refusal).told()
    return _staged(here, story, requested, earlier.definition_version, earlier.artifact_id, earlier.bindings)


# ---- answers --------------------------------------------------------------------------------------------------------


def _nothing(message: Restore, target: Target, present: Publication) -> Reply:
    result: dict[str, object] = {
        "status": "nothing",
        "publicationId": present.publication_id,
        "definitionId": target.definition_id,
        "slotId": target.slot_id,
        "slot": target.slot_name,
        "artifactId": present.artifact_id,
        "version": present.definition_version,
        "revision": target.slot.revision,
        "message": f"Slot {target.slot_name!r} of {target.definition_id!r} selects publication "
        f"{present.publication_id} already; there is nothing to restore.",
    }
    return Reply(command_id=message.command_id, status="done", body=body(result))


# ---- events -------------------------------------------------------------------------------------------------------


def _requested(
    identity: str, message: Publish | Restore, target: Target, policy: WorkflowPolicy, *, restores: str = ""
) -> PublicationRequested:
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
        restores=restores,
        owner=target.owner,
        took_over=message.take_over,
        policy_slot=policy.slot,
        policy_explicit=policy.explicit,
        asked=asked_of(message),
    )


def _staged(
    here: Here,
    story: Story,
    requested: Publication,
    version: str,
    artifact_id: str,
    triggers: Sequence[Trigger | Binding],
) -> Decision:
    """The views are asked to prepare; where none has to, it is activated at once."""
    identity, slot_id = requested.publication_id, requested.slot_id
    bindings = tuple(bound(slot_id, identity, trigger) for trigger in triggers)
    staged = PublicationStaged(
        publication_id=identity,
        definition_version=version,
        artifact_id=artifact_id,
        bindings=bindings,
        required_projections=here.projection_kinds,
        deadline_ms=here.now_ms + here.prepare_ms,
        at_ms=here.now_ms,
        ask_again_ms=here.now_ms + ASK_AGAIN_MS,
    )
    candidate = story.about(requested, staged)
    if not here.projection_kinds:
        select(here, candidate, story)
    return story.told()
