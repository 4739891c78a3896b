"""Requests to empty a slot: their rows, how they are folded, and what they wait for."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from interlock.domain.publishing.unpublish.events import (
    Unpublished,
    UnpublishEvent,
    UnpublishServed,
    UnpublishShardReached,
    UnpublishSuperseded,
)
from interlock.projections.reader import Snapshot
from interlock.projections.rows import Rows, Table
from interlock.projections.view import missing


class UnpublishRow(NamedTuple):
    """A request to empty a slot, and what became of it."""

    unpublish_id: str
    command_id: str
    shell: str
    definition_id: str
    slot_id: str
    slot_name: str
    policy_source: str
    expected_revision: int
    requested_by: str
    requested_at_ms: int
    status: Literal["unpublished", "superseded"]
    at_ms: int
    publication_id: str = ""
    """The one that it retired; "" if it was superseded."""
    revision: int = 0
    """The slot's revision after it; 0 if it was superseded."""
    position: int = 0
    """The append of the publishing journal that carries it; routing decides at it."""
    routing_shards: int = 0
    served_at_ms: int | None = None
    """When every routing shard had reached it, and it was answered."""
    found_revision: int = 0
    """The revision to which it lost, if it was superseded."""


class UnpublishReachedRow(NamedTuple):
    """A routing shard that decides at an unpublish or later."""

    unpublish_id: str
    partition: int


UNPUBLISHES = Table("unpublishes", UnpublishRow, ("unpublish_id",))
UNPUBLISH_REACHED = Table("unpublish_reached", UnpublishReachedRow, ("unpublish_id", "partition"))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpublishView:
    """An unpublish with what it still waits for."""

    unpublish: UnpublishRow
    missing_shards: tuple[int, ...]
    """The routing shards that don't decide at it yet."""

    @property
    def pending(self) -> bool:
        """Whether its answer is still to come."""
        return self.unpublish.status == "unpublished" and self.unpublish.served_at_ms is None


def fold_unpublish(event: UnpublishEvent, rows: Rows) -> None:
    """Folds one event of an unpublish."""
    match event:
        case Unpublished() | UnpublishSuperseded():
            rows.put(UNPUBLISHES, _row(event))
        case UnpublishShardReached():
            row = UnpublishReachedRow(unpublish_id=event.unpublish_id, partition=event.partition)
            rows.put(UNPUBLISH_REACHED, row)
        case UnpublishServed():
            found = rows.get(UNPUBLISHES, event.unpublish_id)
            if found is None:
                raise missing(f"unpublish {event.unpublish_id}")
            rows.put(UNPUBLISHES, found._replace(served_at_ms=event.at_ms))


def look_up(snapshot: Snapshot, unpublish_id: str) -> UnpublishView | None:
    """An unpublish; None if there is none of this id."""
    row = snapshot.get(UNPUBLISHES, unpublish_id) if unpublish_id else None
    if row is None:
        return None
    reached = {each.partition for each in snapshot.select(UNPUBLISH_REACHED, "unpublish_id = ?", (unpublish_id,))}
    wanted = range(row.routing_shards) if row.served_at_ms is None else ()
    return UnpublishView(unpublish=row, missing_shards=tuple(each for each in wanted if each not in reached))


def _row(event: Unpublished | UnpublishSuperseded) -> UnpublishRow:
    row = UnpublishRow(
        unpublish_id=event.unpublish_id,
        command_id=event.command_id,
        shell=event.shell,
        definition_id=event.definition_id,
        slot_id=event.slot_id,
        slot_name=event.slot_name,
        policy_source=event.policy_source,
        expected_revision=event.expected_revision,
        requested_by=event.requested_by,
        requested_at_ms=event.requested_at_ms,
        status="unpublished",
        at_ms=event.at_ms,
    )
    if isinstance(event, UnpublishSuperseded):
        return row._replace(status="superseded", found_revision=event.found_revision)
    return row._replace(
        publication_id=event.publication_id,
        revision=event.revision,
        position=event.position,
        routing_shards=event.routing_shards,
    )
