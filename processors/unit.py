"""A unit: what the decisions of one turn of a processor's loop put into one append.

A decision goes in as a whole or not at all (`Full`), and its events are applied to the state as they go in, so that
the next decision sees them. What it takes is counted by `interlock.log.weight`: a large value weighs little, since it
goes to the blob store, and a decision of many values that would be too large even so has an append to itself.

Until the append counts, all of it is speculative: where it does not, the state is dropped with the unit, and folded
anew from the log.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain

from interlock.domain.decider import Decision, Intent
from interlock.domain.frozen import frozen
from interlock.domain.messages import Reply
from interlock.log.frame import Entry
from interlock.log.port import HEADER_OVERHEAD_BYTES, RECORD_OVERHEAD_BYTES, Headers
from interlock.log.weight import Load
from interlock.processors.answering import answered
from interlock.processors.mail import Cause
from interlock.processors.ports import Codec, Topics

PLACE_BYTES = 160
"""What the journal's own headers add to a record, at most (`interlock.log.frame`)."""


class Full(Exception):
    """The decision does not fit into what is left of the append."""

    def __init__(self, load: Load, bytes_max: int) -> None:
        super().__init__(f"expected a decision that fits into an append: {load.told(bytes_max)}")
        self.alone = not load.fits(bytes_max)
        """It does not fit into an append of its own either."""


@dataclass(slots=True)
class Book:
    """What a shard keeps beside its aggregates: how far it consumed, received, promised, delivered and answered."""

    inbox: int = 0
    """The offset of the next message to consume."""
    publishing: int = 0
    """The publishing position that was decided at; it never falls."""
    revisions: dict[str, int] = field(default_factory=dict[str, int])
    """Stream → revision of its last event."""
    received: dict[str, int] = field(default_factory=dict[str, int])
    """Source → the highest number accepted from it."""
    promised: dict[str, int] = field(default_factory=dict[str, int])
    """Destination → the highest number promised to it."""
    delivered: dict[str, int] = field(default_factory=dict[str, int])
    """Destination → the highest number delivered to it."""
    answers: dict[str, Reply] = field(default_factory=dict[str, Reply])
    """Command, as `answered` names it → what it was answered, so that a repetition is answered alike (LOG-06)."""
    answered_at: dict[str, int] = field(default_factory=dict[str, int])
    """Command → the append that answered it first, which a repetition tells too."""


@frozen()
class Outgoing:
    """A promise, as the courier takes it."""

    destination: str
    number: int
    key: bytes
    value: bytes
    headers: Headers
    append: int
    """The number of the append that promised it, or for an answer of the one that did so first."""


class Unit:
    """Collects decisions for one append."""

    def __init__(
        self,
        *,
        book: Book,
        codec: Codec,
        topics: Topics,
        apply: Callable[[str, object], None],
        now_ms: int,
        number: int,
        publishing: int,
        bytes_max: int,
    ) -> None:
        self.number = number
        """The number that the append has if it counts."""
        self.now_ms = now_ms
        self.publishing = publishing
        """The publishing position that everything in it is decided at."""
        self.events: list[Entry] = []
        self.intents: list[Entry] = []
        self.outgoing: list[Outgoing] = []
        self.answered: list[str] = []
        self._book = book
        self._codec = codec
        self._topics = topics
        self._apply = apply
        self._bytes_max = bytes_max
        self._load = Load()
        """What was taken, and what room is kept for."""
        self._reserved = False
        self._time: Headers = (("time", b"%d" % now_ms),)
        self._publishing: Headers = (("publishing", b"%d" % publishing),)

    @property
    def empty(self) -> bool:
        """Whether nothing is in it that has to be appended."""
        return not self.events and not self.intents

    @property
    def undecided(self) -> bool:
        """Whether nothing was decided for it, and so nothing applied: not even what comes into it only at its end."""
        return self.empty and not self._reserved

    def reserve(self, load: Load) -> None:
        """Keeps room for a decision that will be taken later. Raises `Full` where there is none."""
        if not self.has_room(load):
            raise Full(load, self._bytes_max)
        self._load.add_load(load)
        self._reserved = True

    def has_room(self, load: Load) -> bool:
        """Whether so much would still fit."""
        return self._load.has_room(load, self._bytes_max)

    def take(self, decision: Decision, cause: Cause, *, applied: bool = False) -> None:
        """Puts a decision in and applies its events (unless they are applied already).

        Raises `Full` with nothing changed where it does not fit, or what the codec raises, with nothing changed.
        """
        tail = self._time + cause.headers()
        book, codec = self._book, self._codec
        revisions: dict[str, int] = {}
        events: list[Entry] = []
        load = Load()
        for change in decision.changes:
            stream = change.stream
            revision = (revisions.get(stream) or book.revisions.get(stream, 0)) + 1
            revisions[stream] = revision
            event = change.event
            head: Headers = (("type", codec.type_name(event).encode()), ("revision", b"%d" % revision))
            entry = Entry("event", stream.encode("utf-8", "surrogatepass"), codec.encode(event), head + tail)
            _weigh(entry, load)
            events.append(entry)
        promised: dict[str, int] = {}
        intents: list[Entry] = []
        outgoing: list[Outgoing] = []
        for intent in decision.intents:
            entry, out = self._promise(intent, tail, promised)
            _weigh(entry, load)
            intents.append(entry)
            outgoing.append(out)
        # What is applied has its room already, and more of it than it takes.
        if not applied and not self.has_room(load):
            raise Full(load, self._bytes_max)
        self._load.add_load(load)
        self.events += events
        self.intents += intents
        self.outgoing += outgoing
        book.revisions.update(revisions)
        book.promised.update(promised)
        for intent in decision.intents:
            if isinstance(intent.message, Reply):
                command = answered(intent.message)
                book.answers[command] = intent.message
                book.answered_at.setdefault(command, self.number)
                self.answered.append(intent.message.command_id)
        if not applied:
            for change in decision.changes:
                self._apply(change.stream, change.event)

    def _promise(self, intent: Intent, tail: Headers, promised: dict[str, int]) -> tuple[Entry, Outgoing]:
        destination = destination_of(intent, self._topics)
        number = (promised.get(destination) or self._book.promised.get(destination, 0)) + 1
        promised[destination] = number
        value = self._codec.encode(intent.message)
        key = intent.shard_key.encode("utf-8", "surrogatepass")
        kept: Headers = (
            ("type", self._codec.type_name(intent.message).encode()),
            ("number", b"%d" % number),
            *self._publishing,
            *tail,
        )
        entry = Entry("intent", key, value, (("destination", destination.encode()), *kept))
        append = self.number
        if isinstance(intent.message, Reply):
            append = self._book.answered_at.get(answered(intent.message), append)
        return entry, Outgoing(destination, number, key, value, kept, append)


def _weigh(entry: Entry, load: Load) -> None:
    """Adds an upper bound of what an entry takes in its append."""
    headers = entry.headers
    named = sum(map(len, chain.from_iterable(headers)))
    size = RECORD_OVERHEAD_BYTES + PLACE_BYTES + len(entry.key) + HEADER_OVERHEAD_BYTES * len(headers) + named
    load.add(size, len(entry.value))


def destination_of(intent: Intent, topics: Topics) -> str:
    """The destination as `context/partition`; a topic for users counts as a context with one shard."""
    context = intent.context
    if context not in topics.partitions:
        return f"{context}/0"
    partition = topics.partition(context, intent.shard_key) if intent.partition is None else intent.partition
    return f"{context}/{partition}"
