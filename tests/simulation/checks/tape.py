"""What there is to judge: every record of every topic, and which appends count, by a rule that is written down anew.

The engine's own reading (`log/journal.py`) is not asked: an append counts iff it follows the last that counted. So a
fault in that reading is a difference, and is seen. Everything is read straight from the broker's memory, in one go
and without an await, so a look is of one instant; and only once, so that looking often costs little.

Rules that are checked here: torn-append, stands-void, append-number, event-position, foreign-append, revision-gap,
two-homes, unreadable-event, unreadable-note, promise-gap, trimmed.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from interlock.domain.executions.execution.events import CheckpointsCoalesced
from interlock.domain.progress import Progress
from interlock.log.frame import NOTHING, Append, Frame
from interlock.log.memory import MemoryBroker
from interlock.log.port import Shard, Stored
from interlock.processors.ports import Codec, Topics
from interlock.runtime.topics import CONTEXTS
from tests.simulation.checks import Violation

Home = tuple[str, int]
"""A context and a shard of it."""


def expect(holds: bool, rule: str, sentence: str) -> None:
    """Raises `Violation` unless it holds. For sentences that cost nothing to make; others go behind an `if`."""
    if not holds:
        raise Violation(rule, sentence)


@dataclass(frozen=True, slots=True)
class Fact:
    """An event of an append that counts; checkpoints that were coalesced are told one by one."""

    home: Home
    number: int
    """That of the append."""
    stream: str
    revision: int
    event: object
    time_ms: int
    """The writer's clock when it was decided."""

    def __str__(self) -> str:
        return f"{self.stream} revision {self.revision} (append {self.number} of {name(self.home)})"


@dataclass(frozen=True, slots=True)
class Promise:
    """An intent of an append that counts."""

    home: Home
    append: int
    destination: str
    number: int
    key: bytes
    value: bytes
    message: object

    def __str__(self) -> str:
        return f"{type(self.message).__name__} {self.number} from {name(self.home)} to {self.destination}"


@dataclass(frozen=True, slots=True)
class Commit:
    """An append that counts, decoded."""

    home: Home
    append: Append
    progress: Progress
    before: Progress
    """The note before it that counts; of nothing before the first."""
    events: tuple[tuple[str, object], ...]
    """Stream and event as they were stored, for folding."""
    facts: tuple[Fact, ...]
    promises: tuple[Promise, ...]

    @property
    def number(self) -> int:
        """That of the append."""
        return self.append.frame.number

    def __str__(self) -> str:
        return f"append {self.number} of {name(self.home)}"


BEGINNING = Progress(inbox=0, received=(), delivered=(), answered=(), publishing=0)


class Tape:
    """One journal, read on and on."""

    def __init__(self, home: Home, shard: Shard, codec: Codec) -> None:
        self.home = home
        self.shard = shard
        self.commits: list[Commit] = []
        """Number n at index n - 1."""
        self.ids: dict[str, int] = {}
        """Append id → its number, of those that count."""
        self.next_offset = 0
        self.events = 0
        self._codec = codec
        self._owner = ""
        self._last = NOTHING
        self._before = BEGINNING
        self.revisions: dict[str, int] = {}
        self.promised: dict[str, int] = {}

    def read(self, records: Sequence[Stored], homes: dict[str, Home]) -> list[Commit]:
        """The appends among further records that count; batches land whole, so none is cut."""
        found: list[Commit] = []
        at = 0
        while at < len(records):
            stored = records[at]
            headers = dict(stored.headers)
            size = int(headers.get("size", b"1"))
            entries = tuple(records[at + 1 : at + size])
            whole = headers.get("kind") == b"frame" and len(entries) == size - 1
            whole = whole and all(entry.headers[0][1] in (b"event", b"intent") for entry in entries)
            if not whole:
                raise Violation(
                    "torn-append",
                    f"expected a frame and {size - 1} records behind it at offset {stored.offset} of {self.shard}, "
                    f"found {headers.get('kind')!r} and {len(entries)}",
                )
            if (commit := self._judge(stored, headers, entries, homes)) is not None:
                self.commits.append(commit)
                self.ids[commit.append.frame.id] = commit.number
                found.append(commit)
            at += size
        if records:
            self.next_offset = records[-1].offset + 1
        return found

    def _judge(
        self, stored: Stored, headers: dict[str, bytes], entries: tuple[Stored, ...], homes: dict[str, Home]
    ) -> Commit | None:
        frame = Frame(
            id=headers["append-id"].decode(),
            number=int(headers["append"]),
            follows=headers["follows"].decode(),
            end=int(headers["expected-end"]),
            owner=headers["owner"].decode(),
            opened=headers["opened"] == b"1",
            size=1 + len(entries),
            position=int(headers["position"]),
        )
        where = f"append {frame.number} ({frame.id}) at offset {stored.offset} of {self.shard}"
        if frame.follows != self._last:
            if frame.end == stored.offset:
                raise Violation(
                    "stands-void",
                    f"expected {where}, which stands where its writer had read to, to follow the last that counts "
                    f"({self._last}), found that it follows {frame.follows}",
                )
            return None
        if frame.number != len(self.commits) + 1:
            raise Violation("append-number", f"expected {where} to have number {len(self.commits) + 1}")
        if frame.position != self.events:
            raise Violation("event-position", f"expected {self.events} events before {where}, found {frame.position}")
        if not frame.opened and frame.owner != self._owner:
            raise Violation(
                "foreign-append",
                f"expected {where} to be of owner {self._owner}, which opened last, found that {frame.owner} wrote it",
            )
        self._last, self._owner = frame.id, frame.owner
        append = Append(frame, stored.value, stored.offset, stored.time_ms, entries)
        return self._decoded(append, where, homes)

    def _decoded(self, append: Append, where: str, homes: dict[str, Home]) -> Commit:
        try:
            progress = self._codec.decode(append.note)
        except Exception as error:
            raise Violation("unreadable-note", f"expected a Progress in {where}, found {error!r}") from error
        if not isinstance(progress, Progress):
            raise Violation("unreadable-note", f"expected a Progress in {where}, found {type(progress).__name__}")
        events: list[tuple[str, object]] = []
        facts: list[Fact] = []
        promises: list[Promise] = []
        for entry in append.entries:
            try:
                message = self._codec.decode(entry.value)
            except Exception as error:
                at = f"offset {entry.offset} of {self.shard}"
                raise Violation("unreadable-event", f"expected a record at {at}, found {error!r}") from error
            headers = dict(entry.headers)
            if headers["kind"] == b"event":
                fact = self._fact(append, entry, headers, message, homes)
                events.append((fact.stream, message))
                facts += unfolded(fact)
            else:
                promises.append(self._promise(append, entry, headers, message))
        before, self._before = self._before, progress
        return Commit(self.home, append, progress, before, tuple(events), tuple(facts), tuple(promises))

    def _fact(
        self, append: Append, entry: Stored, headers: dict[str, bytes], event: object, homes: dict[str, Home]
    ) -> Fact:
        stream, revision = entry.key.decode("utf-8", "surrogatepass"), int(headers["revision"])
        fact = Fact(self.home, append.frame.number, stream, revision, event, int(headers["time"]))
        self.events += 1
        if int(headers["position"]) != self.events:
            raise Violation(
                "event-position", f"expected {fact} at position {self.events}, found {headers['position']!r}"
            )
        last = self.revisions.get(stream, 0)
        if revision != last + 1:
            raise Violation("revision-gap", f"expected revision {last + 1} next, found {fact}")
        self.revisions[stream] = revision
        home = homes.setdefault(stream, self.home)
        if home != self.home:
            raise Violation("two-homes", f"expected all of {stream} in {name(home)}, found {fact}")
        return fact

    def _promise(self, append: Append, entry: Stored, headers: dict[str, bytes], message: object) -> Promise:
        destination, number = headers["destination"].decode(), int(headers["number"])
        promise = Promise(self.home, append.frame.number, destination, number, entry.key, entry.value, message)
        last = self.promised.get(destination, 0)
        if number != last + 1:
            raise Violation("promise-gap", f"expected {last + 1} next, found {promise} in append {append.frame.number}")
        self.promised[destination] = number
        return promise


@dataclass(slots=True)
class Inbox:
    """Records that land in a topic that is no journal, read on and on."""

    shard: Shard
    records: list[Stored] = field(default_factory=list[Stored])
    messages: list[object] = field(default_factory=list[object])
    """Each record's message; None where it is unreadable, or JSON for users."""


class Tapes:
    """Every journal, inbox and topic for users."""

    def __init__(self, broker: MemoryBroker, topics: Topics, codec: Codec) -> None:
        self.broker = broker
        self.topics = topics
        self.codec = codec
        homes = [(context, partition) for context in CONTEXTS for partition in range(topics.partitions[context])]
        self.journals = {home: Tape(home, topics.journal(*home), codec) for home in homes}
        self.by_shard = {tape.shard: tape for tape in self.journals.values()}
        self.inboxes = {home: Inbox(topics.inbox(*home)) for home in homes}
        self.inbox_of = {inbox.shard: home for home, inbox in self.inboxes.items()}
        self.replies = Inbox(topics.user("replies"))
        self.dead_letters = Inbox(topics.user("dead-letters"))
        partitions = len(broker.topic(topics.user("stimuli").topic).partitions)
        self.stimuli = [Inbox(topics.user("stimuli", partition)) for partition in range(partitions)]
        self.promises: dict[tuple[Home, str], list[Promise]] = defaultdict(list)
        """Source and destination → promises; number n at index n - 1."""
        self._homes: dict[str, Home] = {}
        self._changes = -1
        """The broker's count of changes when everything was read last."""

    def read(self) -> tuple[list[Commit], list[tuple[Inbox, int]]]:
        """What is new: appends that count, publishing's first, and for each other topic where its new records begin."""
        commits: list[Commit] = []
        landed: list[tuple[Inbox, int]] = []
        # Nine looks of ten come when nothing has landed since the last.
        if self.broker.changes == self._changes:
            return commits, landed
        for tape in self.journals.values():
            new = self._new(tape.shard, tape.next_offset)
            if new:
                commits += tape.read(new, self._homes)
        for commit in commits:
            for promise in commit.promises:
                self.promises[commit.home, promise.destination].append(promise)
        for inbox in (*self.inboxes.values(), self.replies, self.dead_letters, *self.stimuli):
            new = self._new(inbox.shard, len(inbox.records))
            if new:
                landed.append((inbox, len(inbox.records)))
                inbox.records += new
                decodes = inbox.shard in self.inbox_of
                inbox.messages += [self._message(stored) if decodes else None for stored in new]
        self._changes = self.broker.changes
        return commits, landed

    def _new(self, shard: Shard, next_offset: int) -> Sequence[Stored]:
        partition = self.broker.partition(shard)
        if partition.first > next_offset:
            raise Violation("trimmed", f"expected {shard} from offset {next_offset}, found it from {partition.first}")
        return partition.records[next_offset - partition.first :]

    def _message(self, stored: Stored) -> object:
        try:
            return self.codec.decode(stored.value)
        except Exception:  # noqa: BLE001 - anybody may write anything; what comes of it is the checkers' matter
            return None


def unfolded(fact: Fact) -> list[Fact]:
    """The fact, or its checkpoints one by one."""
    event = fact.event
    if not isinstance(event, CheckpointsCoalesced):
        return [fact]
    return [Fact(fact.home, fact.number, fact.stream, fact.revision, step, fact.time_ms) for step in event.steps]


def name(home: Home) -> str:
    """The home as destinations name it."""
    return f"{home[0]}/{home[1]}"


def source_of(stored: Stored) -> tuple[str, int]:
    """Source and number of a record of an inbox; ("", 0) for a client's."""
    headers = dict(stored.headers)
    try:
        return headers.get("source", b"").decode("utf-8", "replace"), int(headers.get("number", b"0"))
    except ValueError:
        return "", 0


def home_of(source: str) -> Home | None:
    """The shard that a source names; None for a client and for the ingress."""
    context, _, partition = source.partition("@")[0].rpartition("/")
    return (context, int(partition)) if context in CONTEXTS else None
