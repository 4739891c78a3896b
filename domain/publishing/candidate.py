"""What a request to change authority means here and now: its slot, and for a publish what it compiles to.

The common part of a preflight and of what it looks ahead to. Who decides on the slot stands in `policy`, and who may
change it in `owner`; what was observed of it is compared in the activation, here only to tell it early.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from interlock.domain.definitions.compiler import compile_document
from interlock.domain.definitions.document import PublishPart, attributed
from interlock.domain.definitions.executable import Executable, Trigger
from interlock.domain.definitions.names import definition_fault, slot_fault
from interlock.domain.definitions.providers import TriggerProvider
from interlock.domain.messages import Owner, Publish, Restore, Unpublish
from interlock.domain.publishing.binding import claims_of
from interlock.domain.publishing.checks import CandidateSet
from interlock.domain.publishing.claims.events import Claim
from interlock.domain.publishing.claims.state import Conflict, conflicts
from interlock.domain.publishing.owner import owner_after
from interlock.domain.publishing.policy import NO_POLICY, HostPolicy, PolicySource, WorkflowPolicy, choose
from interlock.domain.publishing.publication.events import Binding
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.publishing.slot.state import Slot
from interlock.domain.refusal import Refusal
from interlock.domain.sharding import slot_id

CLAIMANTS_TOLD_MAX: Final = 3
"""Conflicts that a sentence names; all stand beside it as data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a request says of the slot that it is for."""

    shell: str
    slot: str | None
    """Its name; None lets the policies decide."""
    expect_revision: int | None
    """What the caller observed; None takes what is found."""
    owner: Owner | None
    """Whose the slot shall be, and who asks."""
    take_over: bool
    """Whether another owner is no obstacle."""


def wish_of(message: Publish | Restore | Unpublish) -> Wish:
    """What a request says of its slot, whatever it asks for."""
    return Wish(
        shell=message.shell,
        slot=message.slot,
        expect_revision=message.expect_revision,
        owner=message.owner,
        take_over=message.take_over,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The slot that a request is for, as it is found."""

    shell: str
    definition_id: str
    slot_id: str
    slot_name: str
    policy_source: PolicySource
    slot: Slot
    expected_revision: int
    """What the caller observed, or what was found if it said nothing; never above what was found."""
    owner: Owner | None
    """Whose the slot is once the request is done."""

    @property
    def lost(self) -> bool:
        """Whether the slot has moved past what the caller observed."""
        return self.expected_revision < self.slot.revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A request that compiles, held against what has authority."""

    target: Target
    policy: WorkflowPolicy
    executable: Executable
    claims: tuple[Claim, ...]
    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfit:
    """A request whose document says which definition it is of, and can't be run."""

    target: Target
    policy: WorkflowPolicy
    refusal: Refusal


def resolve(
    shard: PublishingShard, wish: Wish, document: str, *, providers: Sequence[TriggerProvider], host_policy: HostPolicy
) -> Candidate | Unfit | Refusal:
    """The candidate that a request makes, or why it makes none; a refusal where it can't even be attributed."""
    compiled = compile_document(document, providers)
    attribution = attributed(document)
    if attribution is None:
        assert isinstance(compiled, Refusal), "expected a document that compiles to name its definition"
        return compiled
    policy = _policy(attribution.publish)
    target = aim(shard, wish, attribution.definition_id, policy, host_policy)
    if isinstance(target, Refusal):
        return target
    if isinstance(compiled, Refusal):
        return Unfit(target=target, policy=policy, refusal=compiled)
    claims = claims_of(compiled.triggers)
    found = conflicts(shard.ledger(wish.shell), target.slot_id, claims)
    return Candidate(target=target, policy=policy, executable=compiled, claims=claims, conflicts=found)


def candidate_set(target: Target, version: str, artifact_id: str, triggers: tuple[Trigger, ...]) -> CandidateSet:
    """What validators are shown of a candidate."""
    return CandidateSet(
        shell=target.shell,
        definition_id=target.definition_id,
        slot_name=target.slot_name,
        version=version,
        artifact_id=artifact_id,
        triggers=triggers,
        replaces=target.slot.publication_id,
    )


def aim(
    shard: PublishingShard, wish: Wish, definition_id: str, policy: WorkflowPolicy, host_policy: HostPolicy
) -> Target | Refusal:
    """The slot that a request is for, or why there is none."""
    if fault := definition_fault(definition_id):
        return Refusal("invalid", f"For the definition: {fault}.")
    choice = choose(definition_id, wish.slot, policy, host_policy)
    if isinstance(choice, Refusal):
        return choice
    slot_name = choice.slot_name
    if fault := slot_fault(slot_name):
        return Refusal("invalid", f"For the slot: {fault}.")
    wanted = slot_id(wish.shell, definition_id, slot_name)
    found = shard.slot(wanted)
    expected = found.revision if wish.expect_revision is None else wish.expect_revision
    if not 0 <= expected <= found.revision:
        return _unknown_revision(definition_id, slot_name, expected, found.revision)
    owner = owner_after(found, slot_name, definition_id, wish.owner, wish.take_over)
    if isinstance(owner, Refusal):
        return owner
    return Target(
        shell=wish.shell,
        definition_id=definition_id,
        slot_id=wanted,
        slot_name=slot_name,
        policy_source=choice.source,
        slot=found,
        expected_revision=expected,
        owner=owner,
    )


def _policy(part: PublishPart | None) -> WorkflowPolicy:
    return NO_POLICY if part is None else WorkflowPolicy(slot=part.slot or "", explicit=part.explicit)


def conflict_sentence(found: Sequence[Conflict], definition_id: str, triggers: Iterable[Trigger | Binding]) -> str:
    """What stands against a candidate of a definition, naming the claimants (PUB-09), and what can be done about it.

    A claim is told as its trigger was written too, where the claim says less.
    """
    written = {each.claim: f" ({each.route.method} {each.route.template})" for each in triggers if each.route}
    claimants = "; ".join(
        f"{conflict.claim!r}{written.get(conflict.claim, '')} is claimed by definition "
        f"{conflict.claimant.definition_id!r}, slot {conflict.claimant.slot_name!r}, "
        f"publication {conflict.claimant.publication_id}"
        for conflict in found[:CLAIMANTS_TOLD_MAX]
    )
    more = f"; {len(found) - CLAIMANTS_TOLD_MAX} more" if len(found) > CLAIMANTS_TOLD_MAX else ""
    first = found[0].claimant
    empty = f"unpublish that slot (`interlock unpublish {first.definition_id} --slot {first.slot_name}`)"
    instead = f"publish with --slot {first.slot_name}, " if first.definition_id == definition_id else ""
    return (
        f"Expected exclusive claims that nobody else has, found: {claimants}{more}; {empty}, {instead}or change the "
        "trigger."
    )


def _unknown_revision(definition_id: str, slot_name: str, expected: int, found: int) -> Refusal:
    """A revision that the slot never had can't have been observed."""
    return Refusal(
        "invalid",
        f"Expected a revision that slot {slot_name!r} of {definition_id!r} has had (0 to {found}), found {expected}.",
        (("expectedRevision", str(expected)), ("foundRevision", str(found))),
    )
