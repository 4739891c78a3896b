"""Source references: their rows, and how they are folded."""

from typing import NamedTuple

from interlock.domain.publishing.reference.events import (
    SourceReferenceCreated,
    SourceReferenceEvent,
    SourceReferenceExpired,
    SourceReferenceRetired,
    SourceReferenceUsed,
)
from interlock.projections.rows import Rows, Table
from interlock.projections.view import missing


class SourceReferenceRow(NamedTuple):
    """Where an executable comes from. A published one is live while it isn't retired and its publication is active, one
    of a test run until it expires."""

    reference_id: str
    kind: str
    """Why the executable is referred to, "published" or "test-run"."""
    publication_id: str
    """"" for a test run, as the slot."""
    slot_id: str
    shell: str
    definition_id: str
    definition_version: str
    artifact_id: str
    created_at_ms: int
    retired_at_ms: int | None = None
    """When its publication was retired; None before that."""
    names: str = "publication"
    """What it stands for: "publication", "version" or "draft"."""
    draft_digest: str = ""
    """Of the draft's text; "" where it is none."""
    requested_by: str = ""
    """Who asked for the test run; "" for a publication."""
    expires_at_ms: int | None = None
    """When no test run starts from it any more; None for a publication's."""
    expired_at_ms: int | None = None
    """When that was recorded; None before."""
    runs: int = 0
    """How many test runs were started from it."""


REFERENCES = Table("source_references", SourceReferenceRow, ("reference_id",), indexes=(("artifact_id",),))


def fold_reference(event: SourceReferenceEvent, rows: Rows) -> None:
    """Folds one event of a source reference."""
    if isinstance(event, SourceReferenceCreated):
        row = SourceReferenceRow(
            reference_id=event.reference_id,
            kind=event.kind,
            publication_id=event.publication_id,
            slot_id=event.slot_id,
            shell=event.shell,
            definition_id=event.definition_id,
            definition_version=event.definition_version,
            artifact_id=event.artifact_id,
            created_at_ms=event.at_ms,
            names=event.names,
            draft_digest=event.draft_digest,
            requested_by=event.requested_by,
            expires_at_ms=event.expires_at_ms or None,
        )
        rows.put(REFERENCES, row)
        return
    found = rows.get(REFERENCES, event.reference_id)
    if found is None:
        raise missing(f"source reference {event.reference_id}")
    match event:
        case SourceReferenceUsed():
            rows.put(REFERENCES, found._replace(runs=found.runs + 1))
        case SourceReferenceRetired():
            rows.put(REFERENCES, found._replace(retired_at_ms=event.at_ms))
        case SourceReferenceExpired():
            rows.put(REFERENCES, found._replace(expired_at_ms=event.at_ms))
