"""Questions to slots and publications."""

from dataclasses import dataclass
from typing import Protocol

from interlock.domain.sharding import slot_id
from interlock.projections.paging import Cursor, Filter
from interlock.projections.reader import Snapshot, ViewReader
from interlock.projections.slots.intents import INTENTS, IntentRow
from interlock.projections.slots.references import REFERENCES, SourceReferenceRow
from interlock.projections.slots.store import (
    PROJECTIONS,
    PUBLICATIONS,
    REACHED,
    SLOTS,
    ProjectionRow,
    PublicationRow,
    SlotRow,
)
from interlock.projections.slots.unpublishes import UnpublishView, look_up


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationView:
    """A publication with what it still waits for."""

    publication: PublicationRow
    projections: tuple[ProjectionRow, ...]
    """What it requires, by kind."""
    missing_projections: tuple[str, ...]
    """The kinds that have not answered; empty unless it is pending-projection."""
    reached_shards: tuple[int, ...]
    """The routing shards that decide at it or later."""
    missing_shards: tuple[int, ...]
    """Those that don't yet; empty unless it is active and "active" was not answered."""
    unpublish: UnpublishView | None
    """What emptied its slot, if something did."""
    reference: SourceReferenceRow | None
    """The source reference that was created with its activation."""
    intents: tuple[IntentRow, ...]
    """What is wanted of each view for it, by kind and operation."""

    @property
    def pending(self) -> bool:
        """Whether its authority, the answer "active", or that of its unpublish is still to come."""
        row = self.publication
        waits_for_shards = row.status == "active" and row.served_at_ms is None
        unpublished = self.unpublish is not None and self.unpublish.pending
        return row.status in ("requested", "pending-projection") or waits_for_shards or unpublished


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotView:
    """A slot with its authority."""

    slot: SlotRow
    authority: PublicationView | None
    """None if it is empty."""


class Slots(Protocol):
    """What may be asked; each answer is of one moment. Every question may raise `WarmingUp`."""

    def slots(
        self, shell: str, *, definition_id: str | None = None, after: Cursor | None = None, limit: int = 50
    ) -> tuple[SlotRow, ...]:
        """Slots by definition and name; `after` is the cursor of the last one that is known.

        Raises `KeyError` where the shell has no slot of this cursor.
        """
        ...

    def slot(self, shell: str, definition_id: str, name: str) -> SlotView | None:
        """A slot; None if nothing was ever activated in it."""
        ...

    def publications(
        self,
        shell: str,
        *,
        definition_id: str | None = None,
        slot: str | None = None,
        status: str | None = None,
        after: Cursor | None = None,
        limit: int = 50,
    ) -> tuple[PublicationRow, ...]:
        """Publications, the newest first; `slot` is a slot's id, `after` the cursor of the last one that is known."""
        ...

    def publication(self, publication_id: str) -> PublicationView | None:
        """A publication; None if there is none of this id."""
        ...


def slot_cursor_of(slot: SlotRow) -> Cursor:
    """Where a list of slots goes on behind this one: behind its names, which stay, whatever the time becomes."""
    return slot.activated_at_ms, slot.slot_id


def cursor_of(publication: PublicationRow) -> Cursor:
    """Where a list goes on behind this publication."""
    return publication.requested_at_ms, publication.publication_id


class SqliteSlots:
    """Answers from the view's file; implements `Slots`."""

    def __init__(self, reader: ViewReader) -> None:
        self._reader = reader

    def slots(
        self, shell: str, *, definition_id: str | None = None, after: Cursor | None = None, limit: int = 50
    ) -> tuple[SlotRow, ...]:
        """Slots by definition and name."""
        chosen = Filter().equal("shell", shell).equal("definition_id", definition_id)
        with self._reader.snapshot() as snapshot:
            known = None if after is None else snapshot.get(SLOTS, after[1])
            if after is not None and (known is None or known.shell != shell):
                raise KeyError(f"expected the cursor of a slot of {shell!r}, found {after}")
            place = None if known is None else (known.definition_id, known.name)
            chosen.by_names("definition_id", "name", place, limit)
            return tuple(snapshot.page(SLOTS, chosen.rest, chosen.values))

    def slot(self, shell: str, definition_id: str, name: str) -> SlotView | None:
        """A slot; None if nothing was ever activated in it."""
        with self._reader.snapshot() as snapshot:
            row = snapshot.get(SLOTS, slot_id(shell, definition_id, name))
            authority = None if row is None else _publication(snapshot, row.publication_id)
        return None if row is None else SlotView(slot=row, authority=authority)

    def publications(
        self,
        shell: str,
        *,
        definition_id: str | None = None,
        slot: str | None = None,
        status: str | None = None,
        after: Cursor | None = None,
        limit: int = 50,
    ) -> tuple[PublicationRow, ...]:
        """Publications, the newest first."""
        chosen = Filter().equal("shell", shell).equal("definition_id", definition_id).equal("slot_id", slot)
        chosen.equal("status", status).newest_first("requested_at_ms", "publication_id", after, limit)
        with self._reader.snapshot() as snapshot:
            return tuple(snapshot.page(PUBLICATIONS, chosen.rest, chosen.values))

    def publication(self, publication_id: str) -> PublicationView | None:
        """A publication; None if there is none of this id."""
        with self._reader.snapshot() as snapshot:
            return _publication(snapshot, publication_id)


def _publication(snapshot: Snapshot, publication_id: str) -> PublicationView | None:
    row = snapshot.get(PUBLICATIONS, publication_id)
    if row is None:
        return None
    by_id = (publication_id,)
    projections = tuple(snapshot.select(PROJECTIONS, "publication_id = ? ORDER BY kind", by_id))
    reached = tuple(each.partition for each in snapshot.select(REACHED, "publication_id = ? ORDER BY partition", by_id))
    waits_for_shards = row.status == "active" and row.served_at_ms is None
    waits_for_projections = row.status == "pending-projection"
    return PublicationView(
        publication=row,
        projections=projections,
        missing_projections=tuple(
            each.kind for each in projections if waits_for_projections and each.prepared_at_ms is None
        ),
        reached_shards=reached,
        missing_shards=tuple(shard for shard in range(row.routing_shards) if waits_for_shards and shard not in reached),
        unpublish=look_up(snapshot, row.unpublish_id),
        intents=tuple(snapshot.select(INTENTS, "publication_id = ? ORDER BY kind, number, operation", by_id)),
        reference=snapshot.get(REFERENCES, row.source_reference_id) if row.source_reference_id else None,
    )
