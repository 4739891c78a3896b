"""Answers about the past: what an aggregate was, and why a slot's authority is what it is."""

from dataclasses import dataclass

from interlock.sdk.types.common import Json
from interlock.sdk.types.publishing import Owner
from interlock.sdk.types.views import HistoryEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateState:
    """An aggregate as of one of its events, folded as the deciders fold it."""

    stream: str
    revision: int
    """Of the last event that is folded."""
    type: str
    """That event's type."""
    time_ms: int
    """When it was decided."""
    last_revision: int
    """Of the last event that there is now."""
    state: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyPrepared:
    """A view that prepared the rows of the authority before it was selected."""

    view: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyReplaced:
    """What had the authority before."""

    publication_id: str
    artifact_id: str
    version: str
    revision: int
    """The slot's revision that had selected it."""
    requested_by: str
    activated_at_ms: int | None
    retired_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why a slot selects what it selects: the chain of facts behind it (PRJ-10)."""

    shell: str
    definition_id: str
    slot_name: str
    slot_id: str
    revision: int
    publication_id: str
    """The publication that has authority; "" where the slot is empty."""
    requested_by: str
    """Who asked for what is so now: for the publication, or for the slot to be emptied."""
    requested_at_ms: int
    command_id: str
    policy_source: str
    """What named the slot: "request", "workflow" or "host"."""
    restores: str
    """The earlier publication that it restores; "" if it is of a document, and where the slot is empty."""
    owner: Owner | None
    """Whose the slot is; None for nobody's."""
    took_over: bool
    """Whether another owner was to be no obstacle to the publication."""
    observed_revision: int
    """The slot's revision that the request rested on; the switch compared it."""
    artifact_id: str
    version: str
    prepared: tuple[WhyPrepared, ...]
    selected_at_ms: int
    """When the slot came to what it selects."""
    position: int
    """The append of the publishing journal that did it; routing decides by it."""
    served_at_ms: int | None
    """When every routing shard decided by it; None while some don't."""
    replaced: WhyReplaced | None
    """What had the authority before; None for the first one, and where the slot was empty."""
    chain: tuple[HistoryEntry, ...]
    """The facts themselves, in the order of the journal."""
