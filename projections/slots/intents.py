"""What publishing wants of each view for each publication, and how far that is (PRJ-01).

    prepare: asked when it is staged, and again while there is no answer; delivered when the answer is recorded
    activate, retire, remove: folded by the view itself; delivered when the view has passed the append that holds them

An intent is known by publication, kind and operation, so that a replay changes nothing (PRJ-02). Whether the last three
are delivered isn't stored, for it changes with the view and not with the journal: whoever asks compares `number` with
the view's position.
"""

from typing import Literal, NamedTuple

from interlock.domain.publishing.publication.events import (
    ProjectionAskedAgain,
    ProjectionPrepared,
    PublicationActivated,
    PublicationEvent,
    PublicationFailed,
    PublicationRetired,
    PublicationStaged,
    PublicationSuperseded,
)
from interlock.projections.rows import Rows, Table

Operation = Literal["prepare", "activate", "retire", "remove"]


class IntentRow(NamedTuple):
    """One intent."""

    publication_id: str
    kind: str
    """The view, such as "trigger-index"."""
    operation: Operation
    number: int
    """The append of the publishing journal that holds it."""
    requested_at_ms: int
    attempts: int
    """How often it was asked for."""
    last_asked_at_ms: int
    delivered_at_ms: int | None = None
    """When the answer was recorded; None before that, and for what the view's position tells."""
    diagnostic: str = ""
    """Why it was given up; "" unless it was."""


INTENTS = Table("intents", IntentRow, ("publication_id", "kind", "operation"))


def fold_intents(event: PublicationEvent, number: int, rows: Rows) -> None:
    """Folds one event of a publication, of the append with this number."""
    identity = event.publication_id
    match event:
        case PublicationStaged():
            for kind in event.required_projections:
                rows.put(INTENTS, _new(identity, kind, "prepare", number, event.at_ms))
        case ProjectionAskedAgain():
            if asked := rows.get(INTENTS, identity, event.kind, "prepare"):
                rows.put(INTENTS, asked._replace(attempts=event.attempt, last_asked_at_ms=event.at_ms))
        case ProjectionPrepared():
            if asked := rows.get(INTENTS, identity, event.kind, "prepare"):
                rows.put(INTENTS, asked._replace(delivered_at_ms=event.at_ms))
        case PublicationActivated():
            _follow(identity, "activate", number, event.at_ms, rows)
        case PublicationRetired():
            _follow(identity, "retire", number, event.at_ms, rows)
        case PublicationFailed():
            _give_up(identity, event.reason, rows)
            _follow(identity, "remove", number, event.at_ms, rows)
        case PublicationSuperseded():
            _give_up(identity, f"superseded: the slot is at revision {event.found_revision}", rows)
            _follow(identity, "remove", number, event.at_ms, rows)
        case _:
            pass


def _new(identity: str, kind: str, operation: Operation, number: int, at_ms: int) -> IntentRow:
    return IntentRow(
        publication_id=identity,
        kind=kind,
        operation=operation,
        number=number,
        requested_at_ms=at_ms,
        attempts=1,
        last_asked_at_ms=at_ms,
    )


def _follow(identity: str, operation: Operation, number: int, at_ms: int, rows: Rows) -> None:
    """Every view that was asked to prepare has to do this too."""
    for asked in rows.under(INTENTS, identity):
        if asked.operation == "prepare":
            rows.put(INTENTS, _new(identity, asked.kind, operation, number, at_ms))


def _give_up(identity: str, why: str, rows: Rows) -> None:
    for asked in rows.under(INTENTS, identity):
        if asked.operation == "prepare" and asked.delivered_at_ms is None:
            rows.put(INTENTS, asked._replace(diagnostic=why))
