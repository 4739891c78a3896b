"""What a request to publish means here and now: the common part of a preflight and of a publish.

Intent is resolved as request > host policy: a request that names no slot goes to `default` and replaces its authority
(PUB-06). No other slot name is ever made up (PUB-07).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from interlock.domain.definitions.compiler import compile_document
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
PolicySource = Literal["request", "host"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A request that compiles, resolved to a slot and held against what has authority."""

    executable: Executable
    slot_id: str
    slot_name: str
    policy_source: PolicySource
    slot: Slot
    """The slot as it is found."""
    expected_revision: int
    """What the caller observed, or what was found if it said nothing; never above what was found."""
    claims: tuple[Claim, ...]
    conflicts: tuple[Conflict, ...]


def resolve(
    shard: PublishingShard,
    shell: str,
    document: str,
    slot: str | None,
    expect_revision: int | None,
    providers: Sequence[TriggerProvider],
) -> Candidate | Refusal:
    """The candidate that a request makes, or why it makes none."""
    slot_name = DEFAULT_SLOT if slot is None else slot
    if fault := name_fault(slot_name):
        return Refusal("invalid", f"For the slot: {fault}.")
    executable = compile_document(document, providers)
    if isinstance(executable, Refusal):
        return executable
    wanted = slot_id(shell, executable.definition_id, slot_name)
    found = shard.slot(wanted)
    expected = found.revision if expect_revision is None else expect_revision
    if not 0 <= expected <= found.revision:
        return _unknown_revision(executable.definition_id, slot_name, expected, found.revision)
    claims = tuple(
        Claim(claim=trigger.claim, cardinality=trigger.cardinality, node_id=trigger.node_id)
        for trigger in executable.triggers
    )
    return Candidate(
        executable=executable,
        slot_id=wanted,
        slot_name=slot_name,
        policy_source="host" if slot is None else "request",
        slot=found,
        expected_revision=expected,
        claims=claims,
        conflicts=conflicts(shard.ledger(shell), wanted, claims),
    )


def conflict_sentence(found: Sequence[Conflict]) -> str:
    """What stands against a candidate, naming every claimant (PUB-09)."""
    claimants = "; ".join(
        f"{conflict.claim!r} is claimed by definition {conflict.claimant.definition_id!r}, "
        f"slot {conflict.claimant.slot_name!r}, publication {conflict.claimant.publication_id}"
        for conflict in found
    )
    return f"Expected exclusive claims that nobody else has, found: {claimants}."


def _unknown_revision(definition_id: str, slot_name: str, expected: int, found: int) -> Refusal:
    """A revision that the slot never had can't have been observed."""
    return Refusal(
        "invalid",
        f"Expected a revision that slot {slot_name!r} of {definition_id!r} has had (0 to {found}), found {expected}.",
        (("expectedRevision", str(expected)), ("foundRevision", str(found))),
    )
