"""What a request to publish means here and now: the common part of a preflight and of a publish.

Intent is resolved as request > host policy: a request that names no slot goes to `default` and replaces its authority
(PUB-06). No other slot name is ever made up (PUB-07).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from interlock.domain.definitions.compiler import compile_document
from interlock.domain.definitions.document import attributed
from interlock.domain.definitions.executable import Executable
from interlock.domain.definitions.names import name_fault
from interlock.domain.definitions.providers import TriggerProvider
from interlock.domain.publishing.claims.events import Claim
from interlock.domain.publishing.claims.state import Conflict, conflicts
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.publishing.slot.state import Slot
from interlock.domain.refusal import Refusal
from interlock.domain.sharding import slot_id

DEFAULT_SLOT: Final = "default"
CLAIMANTS_TOLD_MAX: Final = 3
"""Conflicts that a sentence names; all stand beside it as data."""
PolicySource = Literal["request", "host"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The slot that a request is for, as it is found."""

    definition_id: str
    slot_id: str
    slot_name: str
    policy_source: PolicySource
    slot: Slot
    expected_revision: int
    """What the caller observed, or what was found if it said nothing; never above what was found."""

    @property
    def lost(self) -> bool:
        """Whether the slot has moved past what the caller observed."""
        return self.expected_revision < self.slot.revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A request that compiles, held against what has authority."""

    target: Target
    executable: Executable
    claims: tuple[Claim, ...]
    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfit:
    """A request whose document says which definition it is of, and can't be run."""

    target: Target
    refusal: Refusal


def resolve(
    shard: PublishingShard,
    shell: str,
    document: str,
    slot: str | None,
    expect_revision: int | None,
    providers: Sequence[TriggerProvider],
) -> Candidate | Unfit | Refusal:
    """The candidate that a request makes, or why it makes none; a refusal where it can't even be attributed."""
    compiled = compile_document(document, providers)
    definition_id = attributed(document) if isinstance(compiled, Refusal) else compiled.definition_id
    if definition_id is None:
        assert isinstance(compiled, Refusal), "expected a document that compiles to name its definition"
        return compiled
    target = aim(shard, shell, definition_id, slot, expect_revision)
    if isinstance(target, Refusal):
        return target
    if isinstance(compiled, Refusal):
        return Unfit(target=target, refusal=compiled)
    claims = tuple(
        Claim(claim=trigger.claim, cardinality=trigger.cardinality, node_id=trigger.node_id)
        for trigger in compiled.triggers
    )
    found = conflicts(shard.ledger(shell), target.slot_id, claims)
    return Candidate(target=target, executable=compiled, claims=claims, conflicts=found)


def aim(
    shard: PublishingShard, shell: str, definition_id: str, slot: str | None, expect_revision: int | None
) -> Target | Refusal:
    """The slot that a request is for, or why there is none."""
    slot_name = DEFAULT_SLOT if slot is None else slot
    for what, name in (("definition", definition_id), ("slot", slot_name)):
        if fault := name_fault(name):
            return Refusal("invalid", f"For the {what}: {fault}.")
    wanted = slot_id(shell, definition_id, slot_name)
    found = shard.slot(wanted)
    expected = found.revision if expect_revision is None else expect_revision
    if not 0 <= expected <= found.revision:
        return _unknown_revision(definition_id, slot_name, expected, found.revision)
    return Target(
        definition_id=definition_id,
        slot_id=wanted,
        slot_name=slot_name,
        policy_source="host" if slot is None else "request",
        slot=found,
        expected_revision=expected,
    )


def conflict_sentence(found: Sequence[Conflict]) -> str:
    """What stands against a candidate, naming the claimants (PUB-09)."""
    claimants = "; ".join(
        f"{conflict.claim!r} is claimed by definition {conflict.claimant.definition_id!r}, "
        f"slot {conflict.claimant.slot_name!r}, publication {conflict.claimant.publication_id}"
        for conflict in found[:CLAIMANTS_TOLD_MAX]
    )
    more = f"; {len(found) - CLAIMANTS_TOLD_MAX} more" if len(found) > CLAIMANTS_TOLD_MAX else ""
    return f"Expected exclusive claims that nobody else has, found: {claimants}{more}."


def _unknown_revision(definition_id: str, slot_name: str, expected: int, found: int) -> Refusal:
    """A revision that the slot never had can't have been observed."""
    return Refusal(
        "invalid",
        f"Expected a revision that slot {slot_name!r} of {definition_id!r} has had (0 to {found}), found {expected}.",
        (("expectedRevision", str(expected)), ("foundRevision", str(found))),
    )
