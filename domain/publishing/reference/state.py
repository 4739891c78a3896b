"""State of a source reference, folded from its facts."""

from dataclasses import dataclass, replace
from typing import Final

from interlock.domain.publishing.publication.state import Publication
from interlock.domain.publishing.reference.events import (
    SourceReferenceCreated,
    SourceReferenceEvent,
    SourceReferenceExpired,
    SourceReferenceRetired,
    SourceReferenceUsed,
)
from interlock.domain.sharding import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReference:
    """Where an executable comes from."""

    created: SourceReferenceCreated | None = None
    retired: bool = False
    expired: bool = False
    runs: frozenset[str] = frozenset()
    """The test runs that were started from it."""


INITIAL: Final = SourceReference()


def reference_id(publication_id: str) -> str:
    """The reference of a publication; it has one at most."""
    return digest("source-reference", publication_id)


def evolve(state: SourceReference, event: SourceReferenceEvent) -> SourceReference:
    """The reference after the event."""
    match event:
        case SourceReferenceCreated():
            return replace(state, created=event)
        case SourceReferenceRetired():
            return replace(state, retired=True)
        case SourceReferenceUsed():
            return replace(state, runs=state.runs | {event.execution_id})
        case SourceReferenceExpired():
            return replace(state, expired=True)


def is_live(reference: SourceReference, publication: Publication) -> bool:
    """Whether that of a publication keeps its executable: not retired, and its publication is the authority of its slot
    (PUB-17)."""
    return reference.created is not None and not reference.retired and publication.status == "active"
