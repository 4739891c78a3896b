"""The envelope of messages: how an intent becomes a record of an inbox, and a record becomes a message again.

A record of an inbox has the message as its value and in its headers where it comes from: `source` (the shard that
promised it, with its topic's id), `number` (its place among what that source sends here), `publishing` (the
publishing position that it rests on), and what tracing and audit need. A message without a source is from a client.
"""

from collections.abc import Collection, Iterator

from interlock.domain.frozen import frozen
from interlock.domain.messages import Origin, RejectStimulus
from interlock.domain.sharding import digest
from interlock.log.frame import Append, is_event
from interlock.log.port import Headers, Record, Shard, Stored
from interlock.processors.ports import Codec


@frozen()
class Cause:
    """Why something is done: handed from each message to what it brings about."""

    causation: str
    """What caused it: `shard@offset` of the message."""
    correlation: str
    """What all of one story share: the stimulus or command that began it."""
    actor: str
    """Who asked, for a command; else ""."""
    traceparent: str = ""
    """W3C trace context; "" if there is none."""

    def headers(self) -> Headers:
        """As headers; empty ones are left out."""
        found = [("causation", self.causation.encode()), ("correlation", self.correlation.encode())]
        if self.actor:
            found.append(("actor", self.actor.encode("utf-8", "replace")))
        if self.traceparent:
            found.append(("traceparent", self.traceparent.encode("utf-8", "replace")))
        return tuple(found)


@frozen()
class Received:
    """A message as it was taken from an inbox."""

    message: object
    source: str
    """"" for a client."""
    number: int
    publishing: int
    """The receiver decides at this publishing position or a later one."""
    offset: int
    time_ms: int
    cause: Cause


def client_record(codec: Codec, key: str, message: object, cause: Cause) -> Record:
    """A message from a client, for an inbox."""
    headers: Headers = (("type", codec.type_name(message).encode()), *cause.headers())
    return Record(key.encode("utf-8", "surrogatepass"), codec.encode(message), headers)


def sourced_record(codec: Codec, key: str, message: object, source: str, number: int, cause: Cause) -> Record:
    """A message from a source that numbers what it sends, so that the receiver drops repetitions."""
    headers: Headers = (
        ("type", codec.type_name(message).encode()),
        ("source", source.encode()),
        ("number", b"%d" % number),
        *cause.headers(),
    )
    return Record(key.encode("utf-8", "surrogatepass"), codec.encode(message), headers)


class Unfoldable(Exception):
    """An entry of a journal can't be read; whoever folds it stands still, since nothing behind it can be trusted."""


def recorded(codec: Codec, journal: Shard, offset: int, value: bytes) -> object:
    """The event, promise or note that stands at an offset of a journal. Raises `Unfoldable`, which says what to do."""
    try:
        return codec.decode(value)
    except Exception as error:
        if (schema := codec.unknown_schema(value)) is not None:
            raise Unfoldable(
                f"this release doesn't know the schema {schema} of the entry at {journal}@{offset}; a newer release "
                "wrote it: upgrade this process"
            ) from error
        raise Unfoldable(f"expected an entry that can be read at {journal}@{offset}, found: {error}") from error


def recorded_events(
    codec: Codec, journal: Shard, append: Append, passed_over: Collection[bytes] = ()
) -> Iterator[tuple[str, object]]:
    """Stream and event of each event of an append, in order; none of the types that are `passed_over`, by their names.

    Raises `Unfoldable` where it comes to one that is none.
    """
    for entry in append.entries:
        if is_event(entry) and not (passed_over and _type(entry) in passed_over):
            yield entry.key.decode("utf-8", "surrogatepass"), recorded(codec, journal, entry.offset, entry.value)


def _type(entry: Stored) -> bytes:
    for name, value in entry.headers:
        if name == "type":
            return value
    return b""


def receive(codec: Codec, inbox: str, stored: Stored) -> Received:
    """The message in a record of an inbox. Raises what the codec raises, or ValueError for headers that say nothing."""
    headers = dict(stored.headers)
    here = f"{inbox}@{stored.offset}"
    correlation = headers.get("correlation", b"").decode("utf-8", "replace") or here
    return Received(
        codec.decode(stored.value),
        headers.get("source", b"").decode("utf-8", "replace"),
        int(headers.get("number", b"0")),
        int(headers.get("publishing", b"0")),
        stored.offset,
        stored.time_ms,
        Cause(
            here,
            correlation,
            headers.get("actor", b"").decode("utf-8", "replace"),
            headers.get("traceparent", b"").decode("utf-8", "replace"),
        ),
    )


def unreadable(inbox: Shard, stored: Stored, error: Exception) -> Received:
    """A record of an inbox that is no message, as the dead letter that it becomes."""
    letter = RejectStimulus(
        dead_letter_id=digest("dead-letter", str(inbox), str(stored.offset)),
        shell="default",
        reason="unreadable",
        detail=f"expected a message of this engine, found {type(error).__name__}: {error}"[:512],
        excerpt=stored.value[:1024].decode("latin-1"),
        size=len(stored.value),
        rejected_at_ms=stored.time_ms,
        origin=Origin(channel="kafka", topic=inbox.topic, partition=inbox.partition, offset=stored.offset),
    )
    here = f"{inbox}@{stored.offset}"
    return Received(letter, "", 0, 0, stored.offset, stored.time_ms, Cause(here, here, ""))
