"""A true history, told by the engine itself on a memory log, which tests alter and let the judge look at.

    tell: one engine, a client ─► every batch in the order in which it landed ─► Story
    judged: the batches, altered, land on another broker in that order, and the judge looks after each

An append is kept as what was decided: its note, events and promises. Its ids, numbers, revisions and positions are made
anew when it is replayed, by the engine's own encoder, so that an altered history is whole but for what was altered.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from interlock.domain.progress import Progress
from interlock.log.frame import NOTHING, Entry, Frame, assemble
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Headers, Record, Shard
from interlock.runtime.engine import Engine
from interlock.runtime.settings import Settings
from interlock.runtime.topics import topic_specs, topics_of
from interlock.schemas.codec import AvroCodec
from interlock.testing.virtual_time import run_virtual
from tests.simulation.checks import Seen, Violation
from tests.simulation.checks.judge import Judge
from tests.simulation.checks.tape import Home
from tests.simulation.ledger import Command, Ledger, Told

CODEC = AvroCodec()
SETTINGS = Settings(log="memory:", routing_shards=2, executions_shards=2, stimuli_partitions=1, test_reference_s=60)
TOPICS = topics_of(SETTINGS)

T = TypeVar("T")


# ---- a history ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Written:
    """An event or a promise of an append, before it is numbered."""

    kind: str
    """event or intent"""
    key: str
    """The stream, or the shard key."""
    value: Any
    """The event or the message."""
    headers: Headers
    """What stands behind revision, number and destination: time, causation and so on."""
    destination: str = ""


@dataclass(slots=True)
class Decided:
    """An append that counts."""

    at_ms: int
    home: Home
    opened: bool
    owner: str
    progress: Progress
    written: list[Written]
    raw: Callable[[list[Record]], list[Record]] = field(default=list)
    """What is done to its records at last, before they land."""


@dataclass(slots=True)
class Landed:
    """Records that landed in a topic that is no journal."""

    at_ms: int
    shard: Shard
    records: list[Record]


@dataclass(slots=True)
class Asked:
    """A client has sent something."""

    at_ms: int
    what: Command | bytes
    shard: Shard | None


@dataclass(slots=True)
class Heard:
    """A client was told something; `number` is that of what it has sent."""

    number: int
    told: Told


Step = Decided | Landed | Asked | Heard


@dataclass(slots=True)
class Story:
    """A history that may be altered; `copy` it first."""

    steps: list[Step]

    def copy(self) -> "Story":
        """One whose alterations change nothing here."""
        return Story([_copied(step) for step in self.steps])

    def written(self, kind: type) -> list[tuple[Decided, Written]]:
        """Every event or promise of a type, with the append that it is in."""
        return [
            (step, one)
            for step in self.steps
            if isinstance(step, Decided)
            for one in step.written
            if type(one.value) is kind
        ]

    def edit(self, of: type, nth: int = 0, /, **changes: object) -> Written:
        """Changes fields of the nth event or promise of a type; of a promise also where it arrives."""
        _, one = self.written(of)[nth]
        before = CODEC.encode(one.value)
        one.value = replace(one.value, **changes)
        if one.kind == "intent":
            self.arrives_as(before, CODEC.encode(one.value))
        return one

    def arrives_as(self, before: bytes, after: bytes, shard: Shard | None = None) -> None:
        """Changes what lies in inboxes, or in one of them."""
        for step in self.steps:
            if isinstance(step, Landed) and shard in (None, step.shard):
                step.records = [replace(one, value=after) if one.value == before else one for one in step.records]

    def drop(self, kind: type, nth: int = 0) -> None:
        """Leaves the nth event or promise of a type out."""
        step, one = self.written(kind)[nth]
        step.written = [other for other in step.written if other is not one]

    def repeat(self, kind: type, nth: int = 0) -> Written:
        """Lets the nth event or promise of a type come again behind itself, in the same append."""
        step, one = self.written(kind)[nth]
        again = replace(one)
        step.written.insert(step.written.index(one) + 1, again)
        return again

    def decided(self, context: str) -> list[Decided]:
        """The appends of a context, in order."""
        return [step for step in self.steps if isinstance(step, Decided) and step.home[0] == context]

    def landed(self, kind: type) -> list[tuple[Landed, int]]:
        """Every record of an inbox that holds a message of a type, with its index in its batch."""
        name = CODEC.type_name(kind).encode()
        return [
            (step, index)
            for step in self.steps
            if isinstance(step, Landed)
            for index, record in enumerate(step.records)
            if dict(record.headers).get("type") == name
        ]

    def landed_message(self, kind: type[T], nth: int) -> T:
        """The message of the nth record of an inbox that holds one of a type."""
        step, index = self.landed(kind)[nth]
        message = CODEC.decode(step.records[index].value)
        assert isinstance(message, kind)
        return message


def _copied(step: Step) -> Step:
    if isinstance(step, Decided):
        return replace(step, written=[replace(one) for one in step.written])
    return replace(step, records=list(step.records)) if isinstance(step, Landed) else replace(step)


# ---- replaying ----------------------------------------------------------------------------------------------------


class Stage:
    """A broker on which a history lands, with a judge beside it."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.broker = MemoryBroker(lambda: self.now_ms)
        for spec in topic_specs(SETTINGS):
            self.broker.create(spec)
        self.ledger = Ledger()
        self.engines: list[Engine] = []
        self.views: Path | None = None
        self.log = MemoryLog(self.broker)
        self._last: dict[Home, tuple[str, int]] = defaultdict(lambda: (NOTHING, 0))
        self._events: dict[Home, int] = defaultdict(int)
        self._revisions: dict[str, int] = defaultdict(int)
        self._promised: dict[tuple[Home, str], int] = defaultdict(int)
        self._appends = 0

    def judge(self) -> Judge:
        """A judge of what lands here."""
        return Judge(
            Seen(
                log=self.log,
                topics=TOPICS,
                codec=CODEC,
                ledger=self.ledger,
                now_ms=lambda: self.now_ms,
                engines=lambda: self.engines,
                views=lambda: self.views,
                references_ms=SETTINGS.test_reference_s * 1000,
            )
        )

    def land(self, shard: Shard, records: Sequence[Record]) -> int:
        """Lets records land as they are."""
        return self.broker.partition(shard).land(records, self.now_ms)

    def play(self, step: Step) -> None:
        """Lets one step happen."""
        match step:
            case Decided():
                self.now_ms = step.at_ms
                self.land(TOPICS.journal(*step.home), step.raw(self.batch(step)))
            case Landed():
                self.now_ms = step.at_ms
                self.land(step.shard, step.records)
            case Asked():
                self.ledger.send("client", step.at_ms, step.what, step.shard)
            case Heard():
                self.ledger.sent[step.number].told.append(step.told)

    def batch(self, step: Decided) -> list[Record]:
        """An append's records, numbered behind what was numbered before."""
        follows, number = self._last[step.home]
        self._appends += 1
        frame = Frame(
            id=f"{self._appends:032x}",
            number=number + 1,
            follows=follows,
            end=self.broker.partition(TOPICS.journal(*step.home)).extent.end,
            owner=step.owner,
            opened=step.opened,
            size=1 + len(step.written),
            position=self._events[step.home],
        )
        self._last[step.home] = frame.id, frame.number
        entries = [self._entry(step.home, one) for one in step.written]
        return assemble(frame, CODEC.encode(step.progress), entries)

    def _entry(self, home: Home, one: Written) -> Entry:
        head: Headers = (("type", CODEC.type_name(one.value).encode()),)
        if one.kind == "event":
            self._events[home] += 1
            self._revisions[one.key] += 1
            head = (*head, ("revision", b"%d" % self._revisions[one.key]))
            return Entry("event", one.key.encode(), CODEC.encode(one.value), head + one.headers)
        self._promised[home, one.destination] += 1
        number = ("number", b"%d" % self._promised[home, one.destination])
        destination = ("destination", one.destination.encode())
        return Entry("intent", one.key.encode(), CODEC.encode(one.value), (destination, *head, number, *one.headers))


def judged(story: Story, *, ended: bool = True) -> str:
    """The rule that the judge finds broken, looking after each step; "" if none."""

    async def run() -> str:
        stage = Stage()
        judge = stage.judge()
        try:
            for step in story.steps:
                stage.play(step)
                await judge.look()
            if ended:
                await judge.ended()
        except Violation as violation:
            return violation.rule
        return ""

    return run_virtual(run())
