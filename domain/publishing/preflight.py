"""What a publish would do, asked beforehand. It changes nothing (PUB-09)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from interlock.domain.definitions.providers import PROVIDERS, TriggerProvider
from interlock.domain.messages import Owner
from interlock.domain.publishing.candidate import Target, Unfit, Wish, candidate_set, resolve
from interlock.domain.publishing.checks import PublicationValidator, objection
from interlock.domain.publishing.claims.events import Claim
from interlock.domain.publishing.claims.state import Conflict
from interlock.domain.publishing.notices import notices
from interlock.domain.publishing.policy import HostPolicy, PolicySource
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.refusal import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """The effect that a publish would have on what is there now."""

    action: Literal["fill", "replace", "lose", "conflict"]
    """fill: the slot is empty and would select it · replace: it would take another one's place · lose: the slot has
    moved past the expected revision · conflict: somebody else has an exclusive claim that it needs."""
    definition_id: str
    slot_id: str
    slot_name: str
    policy_source: PolicySource
    artifact_id: str
    version: str
    expected_revision: int
    found_revision: int
    replaces: str
    """The publication that would be retired; "" if none."""
    added: tuple[Claim, ...]
    """Claims that the slot would have and has not."""
    removed: tuple[Claim, ...]
    """Claims that the slot has and would not have."""
    retained: tuple[Claim, ...]
    """Claims that it would keep."""
    conflicts: tuple[Conflict, ...]
    owner: Owner | None
    """Whose the slot would be; None for nobody's."""
    found_owner: Owner | None
    """Whose it is."""
    beside: tuple[str, ...]
    """Other slots of the definition that would go on starting work."""
    warnings: tuple[str, ...]
    """What a publisher should know although nothing is wrong."""


def preflight(
    shard: PublishingShard,
    wish: Wish,
    document: str,
    *,
    providers: Sequence[TriggerProvider] = PROVIDERS,
    host_policy: HostPolicy = "default",
    validators: Sequence[PublicationValidator] = (),
    now_ms: int,
) -> Preflight | Refusal:
    """What a publish of the document would do now, or the refusal that it would get."""
    candidate = resolve(shard, wish, document, providers=providers, host_policy=host_policy)
    if isinstance(candidate, Refusal):
        return candidate
    if isinstance(candidate, Unfit):
        return candidate.refusal
    target, executable = candidate.target, candidate.executable
    wanted = candidate_set(target, executable.version, executable.artifact_id, executable.triggers)
    decided = target.lost or candidate.conflicts
    if not decided and (refusal := objection(wanted, validators, now_ms)):
        return refusal
    held = shard.ledger(wish.shell).by_slot.get(target.slot_id, ())
    held_names = {claim.claim for claim in held}
    wanted_names = {claim.claim for claim in candidate.claims}
    if target.lost:
        action: Literal["fill", "replace", "lose", "conflict"] = "lose"
    elif candidate.conflicts:
        action = "conflict"
    else:
        action = "replace" if target.slot.publication_id else "fill"
    return Preflight(
        action=action,
        definition_id=target.definition_id,
        slot_id=target.slot_id,
        slot_name=target.slot_name,
        policy_source=target.policy_source,
        artifact_id=executable.artifact_id,
        version=executable.version,
        expected_revision=target.expected_revision,
        found_revision=target.slot.revision,
        replaces=target.slot.publication_id,
        added=tuple(claim for claim in candidate.claims if claim.claim not in held_names),
        removed=tuple(claim for claim in held if claim.claim not in wanted_names),
        retained=tuple(claim for claim in candidate.claims if claim.claim in held_names),
        conflicts=candidate.conflicts,
        owner=target.owner,
        found_owner=target.slot.owner,
        beside=_beside(shard, target),
        warnings=notices(executable.triggers),
    )


def _beside(shard: PublishingShard, target: Target) -> tuple[str, ...]:
    """The other slots of the definition that go on starting work."""
    slots = (shard.slots[each] for each in shard.slots_of.get((target.shell, target.definition_id), ()))
    return tuple(sorted(slot.name for slot in slots if slot.publication_id and slot.slot_id != target.slot_id))
