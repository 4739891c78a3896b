"""What a publish, a restore or an unpublish would do, asked beforehand. It changes nothing (PUB-09).

Each goes the way that the request itself would go, on the same state, up to where that would write.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from interlock.domain.definitions.executable import Trigger
from interlock.domain.definitions.providers import PROVIDERS, TriggerProvider
from interlock.domain.messages import Owner, Restore, Unpublish
from interlock.domain.publishing.binding import claims_of, trigger_of
from interlock.domain.publishing.candidate import Target, Unfit, Wish, aim, candidate_set, resolve, wish_of
from interlock.domain.publishing.checks import PublicationValidator, objection
from interlock.domain.publishing.claims.events import Claim
from interlock.domain.publishing.claims.state import Conflict, conflicts
from interlock.domain.publishing.earlier import artifact_gone, earlier_one, never_had_authority
from interlock.domain.publishing.notices import notices
from interlock.domain.publishing.policy import HostPolicy, PolicySource
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.refusal import Refusal

Action = Literal["fill", "replace", "empty", "nothing", "lose", "conflict"]
"""fill: the slot is empty and would select it · replace: it would take another one's place · empty: the slot would
select nothing any more · nothing: the slot is already as it is asked to be · lose: the slot has moved past the expected
revision · conflict: somebody else has an exclusive claim that it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """The effect that a request would have on what is there now."""

    action: Action
    definition_id: str
    slot_id: str
    slot_name: str
    policy_source: PolicySource
    artifact_id: str
    """What the slot would start from then; "" if nothing."""
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
    restores: str = ""
    """The earlier publication that would have authority again; "" where none would."""


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
    executable = candidate.executable
    content = _Content(
        artifact_id=executable.artifact_id,
        version=executable.version,
        triggers=executable.triggers,
        claims=candidate.claims,
        conflicts=candidate.conflicts,
    )
    return _to_select(shard, candidate.target, content, validators, now_ms)


def preflight_restore(
    shard: PublishingShard,
    message: Restore,
    *,
    host_policy: HostPolicy = "default",
    validators: Sequence[PublicationValidator] = (),
    now_ms: int,
) -> Preflight | Refusal:
    """What this request to restore would do now, or the refusal that it would get (PUB-14)."""
    found = earlier_one(shard, message, host_policy)
    if isinstance(found, Refusal):
        return found
    target, earlier = found
    claims = claims_of(earlier.bindings)
    content = _Content(
        artifact_id=earlier.artifact_id,
        version=earlier.definition_version,
        triggers=tuple(map(trigger_of, earlier.bindings)),
        claims=claims,
        conflicts=conflicts(shard.ledger(message.shell), target.slot_id, claims),
        restores=earlier.publication_id,
    )
    if earlier.publication_id == target.slot.publication_id:
        return _told(shard, "nothing", target, replace(content, conflicts=(), restores=""))
    if refusal := never_had_authority(earlier):
        return refusal
    if earlier.artifact_id not in shard.executables:
        return artifact_gone(earlier)
    return _to_select(shard, target, content, validators, now_ms)


def preflight_unpublish(
    shard: PublishingShard, message: Unpublish, *, host_policy: HostPolicy = "default"
) -> Preflight | Refusal:
    """What this request to unpublish would do now, or the refusal that it would get (PUB-14)."""
    policy = shard.policy(message.shell, message.definition_id)
    target = aim(shard, wish_of(message), message.definition_id, policy, host_policy)
    if isinstance(target, Refusal):
        return target
    if not target.slot.publication_id:
        return _told(shard, "nothing", target, _NO_CONTENT)
    return _told(shard, "lose" if target.lost else "empty", target, _NO_CONTENT)


# ---- within ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What the slot would start work by."""

    artifact_id: str = ""
    version: str = ""
    triggers: tuple[Trigger, ...] = ()
    claims: tuple[Claim, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    restores: str = ""


_NO_CONTENT: Final = _Content()


def _to_select(
    shard: PublishingShard, target: Target, content: _Content, validators: Sequence[PublicationValidator], now_ms: int
) -> Preflight | Refusal:
    """What becomes of a candidate for the slot. Validators are asked where the request would ask them."""
    if target.lost:
        return _told(shard, "lose", target, content)
    if content.conflicts:
        return _told(shard, "conflict", target, content)
    wanted = candidate_set(target, content.version, content.artifact_id, content.triggers)
    if refusal := objection(wanted, validators, now_ms):
        return refusal
    return _told(shard, "replace" if target.slot.publication_id else "fill", target, content)


def _told(shard: PublishingShard, action: Action, target: Target, content: _Content) -> Preflight:
    held = shard.ledger(target.shell).by_slot.get(target.slot_id, ())
    held_names = {claim.claim for claim in held}
    wanted_names = {claim.claim for claim in content.claims}
    return Preflight(
        action=action,
        definition_id=target.definition_id,
        slot_id=target.slot_id,
        slot_name=target.slot_name,
        policy_source=target.policy_source,
        artifact_id=content.artifact_id,
        version=content.version,
        expected_revision=target.expected_revision,
        found_revision=target.slot.revision,
        replaces="" if action == "nothing" else target.slot.publication_id,
        added=tuple(claim for claim in content.claims if claim.claim not in held_names),
        removed=tuple(claim for claim in held if claim.claim not in wanted_names),
        retained=tuple(claim for claim in content.claims if claim.claim in held_names),
        conflicts=content.conflicts,
        owner=target.owner,
        found_owner=target.slot.owner,
        beside=shard.beside(target.shell, target.definition_id, target.slot_id),
        warnings=notices(content.triggers),
        restores=content.restores,
    )
