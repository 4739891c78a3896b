"""Events as they stand in a journal: what was decided, with what the log and the engine say about it.

`envelopes` reads the headers only; `decode_append` reads the values too. Both give the events of an append in its
order and leave its frame and its intents out. Nothing is skipped: a record that can't be read raises, because a view
or a state that left one out would be wrong from then on without anybody noticing.
"""

from typing import Protocol

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


class Envelope:
    """An event that counts, before its value is decoded.

    It reads from the record what it is asked for, since most folds need little of it. Raises `UnreadableEvent`
    where a header is missing or can't be read.
    """

    __slots__ = ("_append", "_headers", "_stored")

    def __init__(self, append: Append, stored: Stored) -> None:
        self._append = append
        self._stored = stored
        self._headers = dict(stored.headers)

    @property
    def stream(self) -> str:
        """The aggregate, as `kind:id`, such as "execution:5f…"."""
        return self._stored.key.decode("utf-8", "surrogatepass")

    @property
    def revision(self) -> int:
        """Its revision within the stream, from 1."""
        return self._integer(H_REVISION)

    @property
    def type(self) -> str:
        """Context and name, such as "executions.ActivityCompleted"."""
        return self._text(H_TYPE)

    @property
    def time_ms(self) -> int:
        """When it was decided, by the writer's clock: milliseconds since 1970."""
        return self._integer(H_TIME)

    @property
    def causation(self) -> str:
        """The id of the command or message that it was decided for; "" if none was given."""
        return self._text(H_CAUSATION, b"")

    @property
    def correlation(self) -> str:
        """The id that everything shares which goes back to one request or stimulus; "" if none was given."""
        return self._text(H_CORRELATION, b"")

    @property
    def actor(self) -> str:
        """Who asked; "" if nobody did."""
        return self._text(H_ACTOR, b"")

    @property
    def owner(self) -> str:
        """The ownership that wrote it."""
        return self._append.frame.owner

    @property
    def number(self) -> int:
        """The number of the append that carries it, within its journal's shard."""
        return self._append.frame.number

    @property
    def position(self) -> int:
        """Its place among the events of its journal's shard that count, from 1."""
        return self._integer(H_POSITION)

    @property
    def value(self) -> bytes:
        """The event as it is stored."""
        return self._stored.value

    def _text(self, name: str, default: bytes | None = None) -> str:
        try:
            value = self._headers[name] if default is None else self._headers.get(name, default)
            return value.decode()
        except (KeyError, UnicodeDecodeError) as error:
            raise _unreadable(self._append, self._stored) from error

    def _integer(self, name: str) -> int:
        try:
            return int(self._headers[name])
        except (KeyError, ValueError) as error:
            raise _unreadable(self._append, self._stored) from error


class Recorded(Envelope):
    """An event that counts, with what it says."""

    __slots__ = ("event",)

    def __init__(self, append: Append, stored: Stored, event: object) -> None:
        super().__init__(append, stored)
        self.event = event
        """The decoded event, one of the domain's."""


def decode_append(append: Append, codec: Codec) -> list[Recorded]:
    """The events of an append, in order. Raises `UnreadableEvent`."""
    recorded: list[Recorded] = []
    for stored in append.entries:
        if is_event(stored):
            try:
                event = codec.decode(stored.value)
            except Exception as error:
                raise _unreadable(append, stored) from error
            recorded.append(Recorded(append, stored, event))
    return recorded


def envelopes(append: Append) -> list[Envelope]:
    """The events of an append with their values undecoded, in order."""
    return [Envelope(append, stored) for stored in append.entries if is_event(stored)]


def _unreadable(append: Append, stored: Stored) -> UnreadableEvent:
    named = dict(stored.headers).get(H_TYPE, b"no type").decode(errors="replace")
    return UnreadableEvent(
        f"expected an event that this release can read at offset {stored.offset} (append {append.frame.number}), "
        f"found {named} of {stored.key.decode(errors='replace')!r} with headers "
        f"{[name for name, _ in stored.headers]}; run a release that knows it"
    )
