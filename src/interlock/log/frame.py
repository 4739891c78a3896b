"""The frame: the first record of an append, which numbers it and names the append that it follows.

An append is one atomic batch: a frame, then events, then intents. Everything that the rule needs stands in headers, as
ASCII, so that a plain client applies it without a schema (docs/guides/reading-journals.md). The frame's value is the
*note*: bytes that belong to the writer of the context (what it consumed and delivered), opaque to the journal.
"""

from collections.abc import Sequence
from typing import Literal

from interlock.domain.frozen import frozen
from interlock.log.port import Headers, LogError, Record, Stored

Kind = Literal["frame", "event", "intent"]

NOTHING = "0" * 32
"""The id of the append that the first append of a journal follows."""

H_KIND = "kind"
H_ID = "append-id"
H_NUMBER = "append"
H_FOLLOWS = "follows"
H_END = "expected-end"
H_OWNER = "owner"
H_OPENED = "opened"
H_SIZE = "size"
H_INDEX = "index"
H_POSITION = "position"
"""On an event its place among the events that count, from 1; on a frame that of the last event before it."""


class UnreadableFrame(LogError):
    """A record says that it is a frame but its headers can't be read; nothing that is written here does so."""


@frozen(kw_only=True)
class Frame:
    """What an append says of itself."""

    id: str
    """32 hexadecimal digits, new for each append."""
    number: int
    """One more than that of the append that it follows; the first is 1."""
    follows: str
    """The id of the append that it follows, or `NOTHING`."""
    end: int
    """The end of the log that its writer had read to: where it lands if nobody wrote in between."""
    owner: str
    """The ownership that wrote it, new for each `open`."""
    opened: bool
    """Whether it is the first append of its ownership; then `number` is the fencing token."""
    size: int
    """Records in the append, this one included."""
    position: int
    """How many events counted before this append."""


@frozen()
class Entry:
    """An event or an intent on its way into an append."""

    kind: Literal["event", "intent"]
    key: bytes
    value: bytes
    headers: Headers


@frozen()
class Append:
    """An append as it stands in the log."""

    frame: Frame
    note: bytes
    base: int
    """The offset of its frame."""
    time_ms: int
    """The log's time of it, in milliseconds since 1970."""
    entries: tuple[Stored, ...]
    """Its events and then its intents, as they were stored."""

    @property
    def next_offset(self) -> int:
        """The offset behind its last record."""
        return self.base + self.frame.size


def assemble(frame: Frame, note: bytes, entries: Sequence[Entry]) -> list[Record]:
    """The batch to send: the frame's record and the entries, each with the headers that place it."""
    number = b"%d" % frame.number
    size = b"%d" % frame.size
    owner = frame.owner.encode()
    head: Headers = (
        (H_KIND, b"frame"),
        (H_ID, frame.id.encode()),
        (H_NUMBER, number),
        (H_FOLLOWS, frame.follows.encode()),
        (H_END, b"%d" % frame.end),
        (H_OWNER, owner),
        (H_OPENED, b"1" if frame.opened else b"0"),
        (H_SIZE, size),
        (H_INDEX, b"0"),
        (H_POSITION, b"%d" % frame.position),
    )
    batch = [Record(owner, note, head)]
    common = ((H_NUMBER, number), (H_SIZE, size), (H_OWNER, owner))
    position = frame.position
    for index, entry in enumerate(entries, 1):
        if entry.kind == "event":
            position += 1
            place: Headers = ((H_KIND, b"event"), *common, (H_INDEX, b"%d" % index), (H_POSITION, b"%d" % position))
        else:
            place = ((H_KIND, b"intent"), *common, (H_INDEX, b"%d" % index))
        batch.append(Record(entry.key, entry.value, place + entry.headers))
    return batch


def read_frame(stored: Stored) -> Frame | None:
    """The frame in a record, or None if the record is none. Raises `UnreadableFrame`."""
    headers = stored.headers
    if not headers or headers[0] != (H_KIND, b"frame"):
        return None
    found = dict(headers)
    try:
        return Frame(
            id=found[H_ID].decode("ascii"),
            number=int(found[H_NUMBER]),
            follows=found[H_FOLLOWS].decode("ascii"),
            end=int(found[H_END]),
            owner=found[H_OWNER].decode("ascii"),
            opened=found[H_OPENED] == b"1",
            size=int(found[H_SIZE]),
            position=int(found[H_POSITION]),
        )
    except (KeyError, ValueError) as error:
        raise UnreadableFrame(
            f"expected the headers of a frame at offset {stored.offset}, found {sorted(found)}"
        ) from error


def is_event(stored: Stored) -> bool:
    """Whether a record of an append is an event (else it is an intent)."""
    return stored.headers[0][1] == b"event"
