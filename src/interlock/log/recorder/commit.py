"""Between the library's stored events and the records of a journal: a commit, its entries, and the frame's note.

A commit is what one `insert_events` or `insert_tracking` asks for: events, and perhaps how far another application was
processed. Its events are the journal's events; its tracking stands in the note of the frame, where every context says
what it consumed. Names of headers and of the note's fields are storage: never rename one.
"""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple
from uuid import UUID, uuid4

from eventsourcing.persistence import StoredEvent, Tracking
from pydantic import BaseModel, ConfigDict

from interlock.log.frame import Append, Entry, is_event
from interlock.log.port import Record, Stored, record_bytes
from interlock.log.weight import Load

H_TYPE = "type"
"""The topic of the event's class, as the library names it, or the stored name of an event of the catalogue."""
H_REVISION = "revision"
"""The originator's version."""
H_ID = "originator"
"""Whether the key is the text of a `uuid`, or `text`."""

PLACE_BYTES = 192
"""What the journal's own headers add to a record, at most."""
NOTE_BYTES = 64
"""What a commit adds to the note, at most, but for the name of a tracked application."""


class Commit:
    """What one call asks for, on its way into an append; handed from the caller's thread to the loop's."""

    __slots__ = ("abandoned", "answer", "caught_up", "entries", "events", "id", "load", "tracking")

    def __init__(self, events: Sequence[StoredEvent], tracking: Tracking | None) -> None:
        self.id = uuid4().hex
        """By which it is recognised in the journal, whatever the sender was told of the append."""
        self.events = tuple(events)
        self.tracking = tracking
        self.entries = tuple(_entry(event) for event in events)
        self.load = _load(self.entries, tracking)
        """What it adds to an append, at most."""
        self.caught_up = False
        """Whether all that was in the log when it came has been folded, so that a gap before it is a real one."""
        self.abandoned = threading.Event()
        """Set where its caller waits no longer: it is not to be sent, if it was not yet."""
        self.answer: Future[Sequence[int]] = Future()
        """The notification ids of its events, once they count; else the library's exception."""


class Row(NamedTuple):
    """An event that counts, as the index keeps it."""

    id: int
    """The notification id: its place among the events that count, from 1."""
    originator: str
    is_uuid: bool
    version: int
    topic: str
    state: bytes


class Folded(NamedTuple):
    """An append that counts, taken apart."""

    append: Append
    note: "Note"
    rows: tuple[Row, ...]


class Note(BaseModel):
    """The note of a frame. Everything in it is optional, because an opening says nothing."""

    model_config = ConfigDict(frozen=True)

    commits: tuple[tuple[str, int], ...] = ()
    """The commits in the order of their events: id and number of events."""
    tracking: Mapping[str, int] = {}
    """Application → the highest notification id of it that is processed by this append."""


OPENING = Note().model_dump_json(exclude_defaults=True).encode()
"""The note of an append that opens an ownership."""


def note_of(commits: Sequence[Commit]) -> bytes:
    """The note of an append of these commits."""
    tracking = {each.application_name: each.notification_id for commit in commits if (each := commit.tracking)}
    note = Note(commits=tuple((commit.id, len(commit.events)) for commit in commits), tracking=tracking)
    return note.model_dump_json(exclude_defaults=True).encode()


def take_apart(append: Append) -> Folded:
    """Reads an append that counts. Raises `ValueError` where it is none that a recorder wrote."""
    found = [entry for entry in append.entries if is_event(entry)]
    rows = tuple(_row(append.frame.position + place, stored) for place, stored in enumerate(found, 1))
    return Folded(append, Note.model_validate_json(append.note), rows)


def _entry(event: StoredEvent) -> Entry:
    kind = b"uuid" if isinstance(event.originator_id, UUID) else b"text"
    headers = ((H_TYPE, event.topic.encode()), (H_REVISION, b"%d" % event.originator_version), (H_ID, kind))
    return Entry("event", str(event.originator_id).encode(), event.state, headers)


def _row(position: int, stored: Stored) -> Row:
    headers = dict(stored.headers)
    try:
        version, topic, is_uuid = int(headers[H_REVISION]), headers[H_TYPE].decode(), headers[H_ID] == b"uuid"
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"expected the headers of a recorded event at offset {stored.offset}, found {sorted(headers)}: another "
            "program wrote it; give this application another name"
        ) from error
    return Row(position, stored.key.decode(), is_uuid, version, topic, stored.value)


def _load(entries: Sequence[Entry], tracking: Tracking | None) -> Load:
    load = Load()
    # A name in JSON takes six bytes for a character, at most.
    load.add(NOTE_BYTES + (0 if tracking is None else 32 + 6 * len(tracking.application_name)), 0)
    for each in entries:
        load.add(PLACE_BYTES + record_bytes(Record(each.key, b"", each.headers)), len(each.value))
    return load
