"""Facts of a source reference (stream `source-reference:<reference_id>`). Names are storage.

It says where an executable comes from and keeps it from being collected. It grants nothing: who may start work is what
the slot says (PUB-03).

published: Created, with an activation ─► Retired, with its publication
test-run:  Created, with a test run ─► Used, with each test run ─► Expired, when its time is over
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReferenceCreated:
    """A publication was activated, or a test run asked for, in the same commit."""

    reference_id: str
    kind: Literal["published", "test-run"]
    """Why the executable is referred to. test-run: it lives outside slots, and names what somebody tries."""
    publication_id: str
    """"" for a test run, as the slot."""
    slot_id: str
    shell: str
    definition_id: str
    definition_version: str
    artifact_id: str
    at_ms: int
    names: Literal["publication", "version", "draft"] = "publication"
    """What it stands for. version: of a definition, as it was published or was to be · draft: a snapshot of a document
    that is no version of anything yet."""
    draft_digest: str = ""
    """Of the text of the draft, as its author wrote it; "" for others."""
    requested_by: str = ""
    """Who asked for the test run; "" for a publication, which says so itself."""
    expires_at_ms: int = 0
    """When no test run starts from it any more; 0 for a publication's, which has no such time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReferenceUsed:
    """A test run was started from it."""

    reference_id: str
    command_id: str
    execution_id: str
    requested_by: str
    requested_at_ms: int
    at_ms: int
    asked: str = ""
    """What its command asked for (`interlock.domain.asked`); "" where that was not recorded yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReferenceRetired:
    """Its publication was retired, in the same commit."""

    reference_id: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReferenceExpired:
    """Its time is over: no test run starts from it any more, and those that did go on."""

    reference_id: str
    at_ms: int


SourceReferenceEvent = SourceReferenceCreated | SourceReferenceUsed | SourceReferenceRetired | SourceReferenceExpired
