"""Journals in memory with real appends, and views over them, for the tests of this folder."""

import itertools
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from interlock.domain.decider import Change
from interlock.log.faults import Faults
from interlock.log.frame import NOTHING, Append, Entry, Frame, assemble
from interlock.log.journal import Journal
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Log, Shard, Stored, TopicSpec
from interlock.projections.executions.fold import VIEW as EXECUTIONS
from interlock.projections.host import ViewHost
from interlock.projections.recorded import Recorded, decode_append
from interlock.projections.view import View
from interlock.schemas.codec import AvroCodec

CONTEXTS = ("publishing", "routing", "executions")
CODEC = AvroCodec()


def topic_of(context: str) -> str:
    """The journal topic of a context."""
    return f"interlock.{context}.journal"


def event_entry(stream: str, revision: int, event: object, *, time_ms: int = 1_000) -> Entry:
    """An event as the engine writes it."""
    headers = (
        ("type", CODEC.type_name(event).encode()),
        ("revision", b"%d" % revision),
        ("time", b"%d" % time_ms),
        ("causation", b"cause"),
        ("correlation", b"request"),
        ("actor", b"somebody"),
    )
    return Entry("event", stream.encode(), CODEC.encode(event), headers)


def intent_entry() -> Entry:
    """An intent, which no view looks at."""
    return Entry("intent", b"routing", b"not an event", (("type", b"messages.RoutingReached"),))


@dataclass
class Journals:
    """The journals of all contexts, each with so many shards, and their writers."""

    partitions: int = 1
    faults: Faults | None = None
    broker: MemoryBroker = field(default_factory=lambda: MemoryBroker(lambda: 1_000))

    def __post_init__(self) -> None:
        for context in CONTEXTS:
            self.broker.create(TopicSpec(name=topic_of(context), partitions=self.partitions))
        self.log = MemoryLog(self.broker)
        self._writers: dict[Shard, Journal] = {}
        self._revisions: defaultdict[str, int] = defaultdict(int)
        self._ids = (f"{number:032x}" for number in itertools.count(1))

    def shards(self, view: View) -> tuple[Shard, ...]:
        """The shards of a view's journals."""
        return tuple(Shard(topic_of(each), number) for each in view.contexts for number in range(self.partitions))

    def shard(self, context: str, partition: int = 0) -> Shard:
        """A shard of a context's journal."""
        return Shard(topic_of(context), partition)

    async def commit(self, context: str, *changes: Change, partition: int = 0, time_ms: int = 1_000) -> Append:
        """One append with these events, an intent behind them."""
        entries = [self._entry(change, time_ms) for change in changes]
        return await (await self._writer(self.shard(context, partition))).append(b"", [*entries, intent_entry()])

    async def void(self, context: str, *changes: Change, partition: int = 0) -> None:
        """An append that doesn't count, since it follows none that does."""
        shard = self.shard(context, partition)
        entries = [event_entry(change.stream, 1, change.event) for change in changes]
        frame = Frame(
            id=next(self._ids),
            number=1,
            follows="f" * 32,
            end=10**9,
            owner="a stranger",
            opened=False,
            size=1 + len(entries),
            position=0,
        )
        await self.log.send(shard, assemble(frame, b"", entries))
        # The writer's end is behind what it doesn't know; it has to learn of it by opening anew.
        self._writers.pop(shard, None)

    async def raw(self, shard: Shard, entries: Sequence[Entry]) -> None:
        """One append with these entries as they are."""
        await (await self._writer(shard)).append(b"", entries)

    def recreate(self, context: str) -> None:
        """Deletes the topic and makes it anew."""
        topic = topic_of(context)
        self.broker.delete(topic)
        self.broker.create(TopicSpec(name=topic, partitions=self.partitions))
        for shard in [each for each in self._writers if each.topic == topic]:
            del self._writers[shard]

    def host(self, view: View, directory: Path, log: Log | None = None) -> ViewHost:
        """The view over these journals, not started; by a log of its own if one is given."""
        return ViewHost(
            view,
            directory,
            log=log or MemoryLog(self.broker, faults=self.faults),
            topic_ids=self.log,
            codec=CODEC,
            shards=self.shards(view),
        )

    def _entry(self, change: Change, time_ms: int) -> Entry:
        self._revisions[change.stream] += 1
        return event_entry(change.stream, self._revisions[change.stream], change.event, time_ms=time_ms)

    async def _writer(self, shard: Shard) -> Journal:
        writer = self._writers.get(shard)
        if writer is None:
            writer = self._writers[shard] = await Journal.open(
                self.log,
                shard,
                ids=lambda: next(self._ids),
                fold=lambda append: None,
                note=lambda: b"",
                still_assigned=_yes,
            )
        return writer


@asynccontextmanager
async def projecting(journals: Journals, directory: Path, view: View = EXECUTIONS) -> AsyncGenerator[ViewHost, None]:
    """The view while it is projected; `executions` unless another one is named."""
    host = journals.host(view, directory)
    await host.start()
    try:
        yield host
    finally:
        await host.close()


async def live(host: ViewHost) -> None:
    """Returns when the view holds everything that is in the journals."""
    while not host.caught_up or (await host.status()).lag != 0:
        assert not host.error
        await host.changed(1.0)


def recorded(*changes: Change) -> list[Recorded]:
    """Events as a fold gets them, each the next of its stream."""
    revisions: defaultdict[str, int] = defaultdict(int)
    entries: list[Entry] = []
    for change in changes:
        revisions[change.stream] += 1
        entries.append(event_entry(change.stream, revisions[change.stream], change.event))
    frame = Frame(
        id="0" * 31 + "1",
        number=1,
        follows=NOTHING,
        end=0,
        owner="owner",
        opened=False,
        size=1 + len(entries),
        position=0,
    )
    batch = assemble(frame, b"", entries)
    stored = tuple(Stored(at, 1_000, each.key, each.value, each.headers) for at, each in enumerate(batch[1:], 1))
    return decode_append(Append(frame, b"", 0, 1_000, stored), CODEC)


async def _yes() -> bool:
    return True
