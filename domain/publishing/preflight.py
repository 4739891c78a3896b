"""What a publish would do, asked beforehand. It changes nothing (PUB-09)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from interlock.domain.definitions.providers import PROVIDERS, TriggerProvider
from interlock.domain.publishing.candidate import PolicySource, Unfit, resolve
from interlock.domain.publishing.claims.events import Claim
from interlock.domain.publishing.claims.state import Conflict
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


def preflight(
    shard: PublishingShard,
    shell: str,
    document: str,
    slot: str | None,
    expect_revision: int | None,
    *,
    providers: Sequence[TriggerProvider] = PROVIDERS,
) -> Preflight | Refusal:
    """What a publish with these arguments would do now, or the refusal that it would get."""
    candidate = resolve(shard, shell, document, slot, expect_revision, providers)
    if isinstance(candidate, Refusal):
        return candidate
    if isinstance(candidate, Unfit):
        return candidate.refusal
    target = candidate.target
    held = shard.ledger(shell).by_slot.get(target.slot_id, ())
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
        artifact_id=candidate.executable.artifact_id,
        version=candidate.executable.version,
        expected_revision=target.expected_revision,
        found_revision=target.slot.revision,
        replaces=target.slot.publication_id,
        added=tuple(claim for claim in candidate.claims if claim.claim not in held_names),
        removed=tuple(claim for claim in held if claim.claim not in wanted_names),
        retained=tuple(claim for claim in candidate.claims if claim.claim in held_names),
        conflicts=candidate.conflicts,
    )
