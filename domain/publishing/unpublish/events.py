"""Facts of an unpublish (stream `unpublish:<unpublish_id>`). Names are storage.

Unpublished ─► (every routing shard reached) Served
UnpublishSuperseded, where the slot had moved past what the caller observed

A request that finds the slot empty leaves no fact: there was nothing to do, and that is its answer.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpublished:
    """The slot was emptied, and its publication retired, in the same commit."""

    unpublish_id: str
    command_id: str
    shell: str
    definition_id: str
    slot_id: str
    slot_name: str
    policy_source: str
    """Which policy named the slot: "request", "workflow" or "host" (PUB-08)."""
    expected_revision: int
    """The slot revision that the caller observed."""
    publication_id: str
    """The one that was retired."""
    revision: int
    """The slot's revision after it."""
    position: int
    """The position of the publishing journal (append number) that carries it; routing decides at it."""
    routing_shards: int
    """How many have to say that they decide at it before it is answered (PUB-16)."""
    requested_by: str
    requested_at_ms: int
    at_ms: int
    asked: str = ""
    """What its command asked for (`interlock.domain.asked`); "" where that was not recorded yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpublishSuperseded:
    """The slot's revision was no longer the one that the caller observed; nothing changed."""

    unpublish_id: str
    command_id: str
    shell: str
    definition_id: str
    slot_id: str
    slot_name: str
    policy_source: str
    expected_revision: int
    found_revision: int
    requested_by: str
    requested_at_ms: int
    at_ms: int
    asked: str = ""
    """What its command asked for (`interlock.domain.asked`); "" where that was not recorded yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpublishShardReached:
    """A routing shard has committed that it decides at the retirement or later."""

    unpublish_id: str
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpublishServed:
    """Every routing shard decides at it: whoever asked was told so."""

    unpublish_id: str
    at_ms: int


UnpublishEvent = Unpublished | UnpublishSuperseded | UnpublishShardReached | UnpublishServed
