"""Source references: their rows, and how they are folded."""

from typing import NamedTuple

from interlock.domain.publishing.reference.events import SourceReferenceCreated, SourceReferenceEvent
from interlock.projections.rows import Rows, Table
from interlock.projections.view import missing


class SourceReferenceRow(NamedTuple):
    """Where a published executable comes from. It is live while it isn't retired and its publication is active."""

    reference_id: str
    kind: str
    """Why the executable is referred to, such as "published"."""
    publication_id: str
    slot_id: str
    shell: str
    definition_id: str
    definition_version: str
    artifact_id: str
    created_at_ms: int
    retired_at_ms: int | None = None
    """When its publication was retired; None before that."""


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
        )
        rows.put(REFERENCES, row)
        return
    found = rows.get(REFERENCES, event.reference_id)
    if found is None:
        raise missing(f"source reference {event.reference_id}")
    rows.put(REFERENCES, found._replace(retired_at_ms=event.at_ms))
