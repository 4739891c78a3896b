"""Facts of a source reference (stream `source-reference:<reference_id>`). Names are storage.

It says where an executable comes from and keeps it from being collected. It grants nothing: who may start work is what
the slot says (PUB-03).
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReferenceCreated:
    """A publication was activated, in the same commit."""

    reference_id: str
    kind: Literal["published"]
    """Why the executable is referred to; further kinds live outside slots."""
    publication_id: str
    slot_id: str
    shell: str
    definition_id: str
    definition_version: str
    artifact_id: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReferenceRetired:
    """Its publication was retired, in the same commit."""

    reference_id: str
    at_ms: int


SourceReferenceEvent = SourceReferenceCreated | SourceReferenceRetired
