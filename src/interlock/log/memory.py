"""A log in memory, for simulation and tests, with faults on demand.

A `MemoryBroker` holds the topics; each simulated process has a `MemoryLog` of its own on it, and may lose that
without losing the other. Only the loop's time and futures are used, no thread and no global chance: on a loop
with virtual time a run takes no real time, and the same calls give the same log.

What would surprise: `send` and `read` always let other tasks run first, even where nothing has to be waited for, as a
real log would; a landing that was promised goes ahead although its sender was cancelled or its `MemoryLog` closed.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from interlock.log.faults import Answer, AskOutcome, Faults, NoFaults, SendOutcome
from interlock.log.port import (
    BatchTooLarge,
    Doubt,
    Extent,
    LogError,
    NoSuchShard,
    NotNow,
    OffsetGone,
    Record,
    Refused,
    Shard,
    Stored,
    TopicFault,
    TopicSpec,
    Unavailable,
    batch_bytes,
)
from interlock.log.waiters import Waiters

BATCH_BYTES_MAX = 1 << 20
"""As in the other backends: what Kafka's brokers take by default."""

READ_RECORDS_MAX = 10_000
"""The most records that one `read` returns; a simulation sets it low, so that batches are read in pieces."""

SEND_S = 10.0
"""After how many seconds a `send` without an answer is in doubt."""


class _Changes:
    """How many there have been in the topics of one broker."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class _Partition:
    """The records of one shard that are kept, from offset `first` on."""

    __slots__ = ("_changes", "first", "records", "time_ms", "waiters")

    def __init__(self, changes: _Changes) -> None:
        self._changes = changes
        self.first = 0
        self.records: list[Stored] = []
        self.time_ms = 0
        self.waiters = Waiters()

    @property
    def extent(self) -> Extent:
        return Extent(self.first, self.first + len(self.records))

    def land(self, batch: Sequence[Record], now_ms: int) -> int:
        """Appends the batch and returns its first offset."""
        base = self.first + len(self.records)
        self._changes.count += 1
        self.time_ms = max(self.time_ms, now_ms)
        self.records.extend(
            Stored(base + index, self.time_ms, record.key, record.value, tuple(record.headers))
            for index, record in enumerate(batch)
        )
        self.waiters.wake()
        return base

    def trim(self, first: int) -> None:
        """Drops what is before `first`."""
        self._changes.count += 1
        del self.records[: first - self.first]
        self.first = first
        self.waiters.wake()


class _Topic:
    """One life of a topic: made anew under the same name it is another object with another id."""

    __slots__ = ("id", "partitions", "spec")

    def __init__(self, spec: TopicSpec, number: int, changes: _Changes) -> None:
        self.spec = spec
        self.id = f"{spec.name}#{number}"
        self.partitions = [_Partition(changes) for _ in range(spec.partitions)]


class MemoryBroker:
    """The topics, which outlive every `MemoryLog` on them. `now_ms` is the log's clock (milliseconds since 1970)."""

    def __init__(self, now_ms: Callable[[], int] | None = None) -> None:
        self.now_ms = now_ms or _wall_clock_ms
        self.on_landing: Callable[[Shard, int, Sequence[Record]], None] | None = None
        """Told of each batch that lands, with its first offset, before any reader is; must not raise."""
        self._changes = _Changes()
        self._topics: dict[str, _Topic] = {}
        self._made = 0

    @property
    def changes(self) -> int:
        """Batches that have landed, trims, and topics made and deleted: as long as it stands, so do all records."""
        return self._changes.count

    def create(self, spec: TopicSpec) -> bool:
        """Makes the topic; False if there is one of that name already."""
        if spec.name in self._topics:
            return False
        if spec.partitions < 1:
            raise ValueError(f"expected {spec.name} to have at least one partition, found {spec.partitions}")
        self._made += 1
        self._changes.count += 1
        self._topics[spec.name] = _Topic(spec, self._made, self._changes)
        return True

    def delete(self, topic: str) -> None:
        """Deletes the topic with its records. What is still on its way to it never lands."""
        found = self.topic(topic)
        del self._topics[topic]
        self._changes.count += 1
        for each in found.partitions:
            each.waiters.wake()

    def trim(self, shard: Shard, first: int) -> None:
        """Drops the records before offset `first`; does nothing where they are gone already."""
        found = self.partition(shard)
        if first > found.extent.end:
            raise OffsetGone(shard, first, found.extent)
        if first > found.first:
            found.trim(first)

    def topic(self, name: str) -> _Topic:
        """The topic as it is now; raises `NoSuchShard`."""
        found = self._topics.get(name)
        if found is None:
            raise NoSuchShard(f"expected a topic {name}, found none; create it first")
        return found

    def partition(self, shard: Shard) -> _Partition:
        """The partition as it is now; raises `NoSuchShard`."""
        # Every read, sending and look comes by here.
        topic = self._topics.get(shard.topic) or self.topic(shard.topic)
        partitions = topic.partitions
        if not 0 <= shard.partition < len(partitions):
            raise NoSuchShard(f"expected {shard.topic} to have a partition {shard.partition}, found {len(partitions)}")
        return partitions[shard.partition]

    def holds(self, shard: Shard, partition: _Partition) -> bool:
        """Whether `partition` is still the one behind `shard`."""
        topic = self._topics.get(shard.topic)
        return topic is not None and topic.partitions[shard.partition] is partition


class MemoryLog:
    """One process's connection to a `MemoryBroker`; implements `Log` and `LogAdmin`.

    `now_ms` is the process's own clock, which may differ from the broker's; `faults` decides what goes wrong.
    """

    def __init__(
        self,
        broker: MemoryBroker | None = None,
        *,
        faults: Faults | None = None,
        now_ms: Callable[[], int] | None = None,
        batch_bytes_max: int = BATCH_BYTES_MAX,
        read_records_max: int = READ_RECORDS_MAX,
        send_s: float = SEND_S,
    ) -> None:
        self.broker = broker or MemoryBroker(now_ms)
        self._faults: Faults = faults or NoFaults()
        self._now_ms = now_ms or self.broker.now_ms
        self._batch_bytes_max = batch_bytes_max
        self._read_records_max = read_records_max
        self._send_s = send_s
        # Dictionaries, because sets iterate in the order of addresses and a simulation must repeat itself.
        self._sending: dict[asyncio.Future[int], Shard] = {}
        self._readers: dict[MemoryReader, None] = {}
        self._closed = False

    @property
    def batch_bytes_max(self) -> int:
        """The largest batch in bytes that `send` takes."""
        return self._batch_bytes_max

    async def send(self, shard: Shard, batch: Sequence[Record]) -> int:
        """Appends the batch as `Log.send` says, unless the faults want it otherwise."""
        found = self._partition_to_send_to(shard, batch)
        outcome = self._faults.on_send(shard, batch)
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._plan(outcome, shard, found, tuple(batch), answer)
        doubt = Doubt(f"expected an answer from {shard} within {self._send_s} s, found none; read the log")
        timer = _after(self._send_s, partial(_fail, answer, doubt))
        self._sending[answer] = shard
        try:
            return await answer
        finally:
            timer.cancel()
            self._sending.pop(answer, None)

    def reader(self, shard: Shard, offset: int) -> "MemoryReader":
        """A reader whose first `read` begins at `offset`."""
        reader = MemoryReader(self, shard, offset, self._read_records_max)
        self._readers[reader] = None
        return reader

    async def end(self, shard: Shard) -> int:
        """The offset behind what can be read now."""
        return (await self.extent(shard)).end

    async def extent(self, shard: Shard) -> Extent:
        """What can be read now."""
        await self.ask(shard)
        return self.broker.partition(shard).extent

    async def ask(self, shard: Shard) -> None:
        """Passes after the delay that the faults want; raises `Unavailable` where they want that. For readers."""
        outcome: AskOutcome = self._faults.on_ask(shard)
        await asyncio.sleep(outcome.delay_s)
        if self._closed:
            raise Unavailable(f"expected an open log to ask about {shard}, found it closed")
        if outcome.unavailable:
            raise Unavailable(f"expected an answer about {shard}, found a fault; ask again later")

    def forget(self, reader: "MemoryReader") -> None:
        """Called by a reader that is closed."""
        self._readers.pop(reader, None)

    async def close(self) -> None:
        """Ends what is under way as `Doubt`, and waiting readers as `Unavailable`; the broker stays."""
        self._closed = True
        for answer, shard in list(self._sending.items()):
            _fail(answer, Doubt(f"expected an answer from {shard}, found the log closed meanwhile; read the log"))
        for reader in list(self._readers):
            reader.wake()

    async def create(self, topics: Sequence[TopicSpec]) -> Sequence[str]:
        """Makes those that are missing and returns their names; leaves existing ones as they are."""
        return [spec.name for spec in topics if self.broker.create(spec)]

    async def check(self, topics: Sequence[TopicSpec]) -> Sequence[TopicFault]:
        """Every topic that is missing, or not as its specification says."""
        return [fault for spec in topics for fault in self._faults_of(spec)]

    async def topic_id(self, topic: str) -> str:
        """The topic's id, which counts up with each topic that is made; raises `NoSuchShard`."""
        return self.broker.topic(topic).id

    async def clock_skew_s(self, now_ms: Callable[[], int]) -> float:
        """The broker's clock minus the given one, in seconds."""
        return (self.broker.now_ms() - now_ms()) / 1000

    async def trim(self, shard: Shard, first: int) -> None:
        """Drops the records before offset `first`; raises `OffsetGone` where that is behind the end, `NoSuchShard`."""
        self.broker.trim(shard, first)

    async def delete(self, topic: str) -> None:
        """Deletes the topic with its records; raises `NoSuchShard`."""
        self.broker.delete(topic)

    def _partition_to_send_to(self, shard: Shard, batch: Sequence[Record]) -> _Partition:
        if self._closed:
            raise NotNow(f"expected an open log to send to {shard}, found it closed")
        if not batch:
            raise Refused(f"expected at least one record for {shard}, found none")
        try:
            for name in (name for record in batch for name, _ in record.headers if not name.isascii()):
                name.encode()
        except UnicodeEncodeError as error:
            raise Refused(f"expected header names for {shard} that have a UTF-8 form, found: {error}") from error
        size = batch_bytes(batch)
        if size > self._batch_bytes_max:
            raise BatchTooLarge(f"expected at most {self._batch_bytes_max} bytes for {shard}, found {size}")
        return self.broker.partition(shard)

    def _plan(
        self,
        outcome: SendOutcome,
        shard: Shard,
        found: _Partition,
        batch: Sequence[Record],
        answer: asyncio.Future[int],
    ) -> None:
        """Sets on its way what `outcome` wants, landings before answers where both are due at once."""
        for index, landing_s in enumerate(outcome.landings_s):
            told = answer if outcome.answer is Answer.LANDED and index == outcome.told else None
            _after(landing_s, partial(self._land, shard, found, batch, told, outcome.answer_after_s))
        if outcome.answer is Answer.LANDED:
            return
        error = (
            Refused(f"expected {shard} to take a batch, found it refused by a fault")
            if outcome.answer is Answer.REFUSED
            else Doubt(f"expected an answer from {shard}, found it lost by a fault; read the log")
        )
        _after(outcome.answer_after_s, partial(_fail, answer, error))

    def _land(
        self,
        shard: Shard,
        found: _Partition,
        batch: Sequence[Record],
        told: asyncio.Future[int] | None,
        answer_after_s: float,
    ) -> None:
        if not self.broker.holds(shard, found):
            # The topic was deleted meanwhile, and perhaps made anew: the batch belongs to its former life.
            if told is not None:
                _fail(told, Doubt(f"expected {shard} to be there still, found it deleted; read the log"))
            return
        base = found.land(batch, self.broker.now_ms())
        if self.broker.on_landing is not None:
            self.broker.on_landing(shard, base, batch)
        if told is None:
            return
        if answer_after_s > 0:
            _after(answer_after_s, partial(_tell, told, base))
        else:
            _tell(told, base)

    def _faults_of(self, spec: TopicSpec) -> Iterator[TopicFault]:
        try:
            found = self.broker.topic(spec.name).spec
        except NoSuchShard:
            yield TopicFault(
                topic=spec.name, setting="topic", expected="present", found="missing", remedy="run `topics create`"
            )
            return
        for setting, expected, actual in (
            ("partitions", spec.partitions, found.partitions),
            ("compacted", spec.compacted, found.compacted),
        ):
            if expected != actual:
                yield TopicFault(
                    topic=spec.name,
                    setting=setting,
                    expected=str(expected),
                    found=str(actual),
                    remedy="set what was recorded when it was made, or use another prefix",
                )


class MemoryReader:
    """A place in one shard of a `MemoryBroker`; implements `Reader`."""

    def __init__(self, log: MemoryLog, shard: Shard, offset: int, read_records_max: int) -> None:
        self._log = log
        self._shard = shard
        self._offset = offset
        self._read_records_max = read_records_max

    @property
    def next_offset(self) -> int:
        """Where `read` goes on."""
        return self._offset

    async def read(self, wait_s: float) -> Sequence[Stored]:
        """The next records, or () after `wait_s` seconds without any, as `Reader.read` says."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        while True:
            await self._log.ask(self._shard)
            found = self._log.broker.partition(self._shard)
            extent = found.extent
            if not extent.first <= self._offset <= extent.end:
                raise OffsetGone(self._shard, self._offset, extent)
            if self._offset < extent.end:
                start = self._offset - extent.first
                records = found.records[start : start + self._read_records_max]
                self._offset += len(records)
                return records
            remaining_s = deadline - loop.time()
            if remaining_s <= 0:
                return ()
            await found.waiters.wait(remaining_s)

    def wake(self) -> None:
        """Lets a read that waits look again, as the log is being closed."""
        try:
            self._log.broker.partition(self._shard).waiters.wake()
        except NoSuchShard:
            return

    async def close(self) -> None:
        """Lets go of the place."""
        self._log.forget(self)


class FixedAssignment:
    """An assignment that only `assign` changes; implements `Assignment`."""

    def __init__(self, partitions: frozenset[int]) -> None:
        self._partitions = partitions
        self._waiters = Waiters()

    def assign(self, partitions: frozenset[int]) -> None:
        """Makes `partitions` this process's, instead of those before."""
        self._partitions = partitions
        self._waiters.wake()

    def current(self) -> frozenset[int]:
        """The partitions that are this process's now."""
        return self._partitions

    async def changed(self, known: frozenset[int]) -> frozenset[int]:
        """Waits until `current()` differs from `known`, then returns it."""
        while self._partitions == known:
            await self._waiters.wait()
        return self._partitions

    async def close(self) -> None:
        """Leaves: nothing is this process's any more."""
        self.assign(frozenset())


def _after(after_s: float, call: Callable[[], None]) -> asyncio.Handle:
    """Calls in `after_s` seconds. What is due at once goes in the order of the calls, which timers don't promise."""
    loop = asyncio.get_running_loop()
    return loop.call_later(after_s, call) if after_s > 0 else loop.call_soon(call)


def _tell(answer: asyncio.Future[int], base: int) -> None:
    if not answer.done():
        answer.set_result(base)


def _fail(answer: asyncio.Future[int], error: LogError) -> None:
    if not answer.done():
        answer.set_exception(error)


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000
