"""Events as they stand in a journal: what was decided, with what the log and the engine say about it.

`envelopes` reads the headers only; `decode_append` reads the values too. Both give the events of an append in its
order and leave its frame and its intents out. Nothing is skipped: a record that can't be read raises, because a view
or a state that left one out would be wrong from then on without anybody noticing.
"""

from dataclasses import dataclass
from typing import Protocol, TypedDict

from interlock.log.frame import H_POSITION, Append, is_event
from interlock.log.port import Stored

H_TYPE = "type"
H_REVISION = "revision"
H_TIME = "time"
H_CAUSATION = "causation"
H_CORRELATION = "correlation"
H_ACTOR = "actor"


class UnreadableEvent(Exception):
    """An event's headers or value can't be read; whoever folds it stops, since nothing behind it can be trusted."""


class Codec(Protocol):
    """Turns an event's bytes into the event; `interlock.schemas.codec` has the one that the engine uses."""

    def decode(self, value: bytes, /) -> object:
        """The event in the bytes; raises where they hold none that this release knows."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """An event that counts, before its value is decoded."""

    stream: str
    """The aggregate, as `kind:id`, such as "execution:5f…"."""
    revision: int
    """Its revision within the stream, from 1."""
    type: str
    """Context and name, such as "executions.ActivityCompleted"."""
    time_ms: int
    """When it was decided, by the writer's clock: milliseconds since 1970."""
    causation: str
    """The id of the command or message that it was decided for; "" if none was given."""
    correlation: str
    """The id that everything shares which goes back to one request or stimulus; "" if none was given."""
    actor: str
    """Who asked; "" if nobody did."""
    owner: str
    """The ownership that wrote it."""
    number: int
    """The number of the append that carries it, within its journal's shard."""
    position: int
    """Its place among the events of its journal's shard that count, from 1."""
    value: bytes
    """The event as it is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded(Envelope):
    """An event that counts."""

    event: object
    """The decoded event, one of the domain's."""


def decode_append(append: Append, codec: Codec) -> list[Recorded]:
    """The events of an append, in order. Raises `UnreadableEvent`."""
    recorded: list[Recorded] = []
    for stored in append.entries:
        if is_event(stored):
            try:
                recorded.append(Recorded(event=codec.decode(stored.value), **_said(append, stored)))
            except Exception as error:
                raise _unreadable(append, stored) from error
    return recorded


def envelopes(append: Append) -> list[Envelope]:
    """The events of an append with their values undecoded, in order. Raises `UnreadableEvent`."""
    found: list[Envelope] = []
    for stored in append.entries:
        if is_event(stored):
            try:
                found.append(Envelope(**_said(append, stored)))
            except Exception as error:
                raise _unreadable(append, stored) from error
    return found


class _Said(TypedDict):
    """The fields of an `Envelope`."""

    stream: str
    revision: int
    type: str
    time_ms: int
    causation: str
    correlation: str
    actor: str
    owner: str
    number: int
    position: int
    value: bytes


def _said(append: Append, stored: Stored) -> _Said:
    headers = dict(stored.headers)
    return {
        "stream": stored.key.decode("utf-8", "surrogatepass"),
        "revision": int(headers[H_REVISION]),
        "type": headers[H_TYPE].decode(),
        "time_ms": int(headers[H_TIME]),
        "causation": headers.get(H_CAUSATION, b"").decode(),
        "correlation": headers.get(H_CORRELATION, b"").decode(),
        "actor": headers.get(H_ACTOR, b"").decode(),
        "owner": append.frame.owner,
        "number": append.frame.number,
        "position": int(headers[H_POSITION]),
        "value": stored.value,
    }


def _unreadable(append: Append, stored: Stored) -> UnreadableEvent:
    named = dict(stored.headers).get(H_TYPE, b"no type").decode(errors="replace")
    return UnreadableEvent(
        f"expected an event that this release can read at offset {stored.offset} (append {append.frame.number}), "
        f"found {named} of {stored.key.decode(errors='replace')!r} with headers "
        f"{[name for name, _ in stored.headers]}; run a release that knows it"
    )
