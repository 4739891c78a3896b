"""The embedded log: one SQLite file on a local disk, shared by the processes of one machine.

    send ──► encode ──► writer thread: one transaction and one flush for all that arrived ──► tail ──► readers
    read ──► tail, while the reader is near the end; else the file, on a thread of its own
    other processes' appends: seen by the writer thread, which looks every 2 to 20 ms while a reader waits

Always true: what a `send` was told to have landed is flushed; a batch is inside one transaction, so it is there as a
whole or not at all; the time of a shard's records never falls.

What would surprise: the topics that are to be compacted keep every record here, which is what compaction allows.
"""

import asyncio
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from interlock.log.group import ReadingGroup
from interlock.log.port import (
    BatchTooLarge,
    Doubt,
    Extent,
    NotNow,
    OffsetGone,
    Record,
    Refused,
    Shard,
    Stored,
    TopicFault,
    TopicSpec,
    Unavailable,
)
from interlock.log.sqlite.admin import create_topics, delete_topic, find_faults, topic_uuid, trim_shard
from interlock.log.sqlite.codec import encode
from interlock.log.sqlite.file import BUSY_S, open_log
from interlock.log.sqlite.group import Landed, Send
from interlock.log.sqlite.lease import LEASE_S, LeaseKeeper, SqliteAssignment
from interlock.log.sqlite.positions import SqlitePositions
from interlock.log.sqlite.read import Found, Reads
from interlock.log.sqlite.tail import Tail
from interlock.log.sqlite.writer import Writer

BATCH_BYTES_MAX = 1 << 20
"""What Kafka's brokers take by default, so that what fits here fits there."""

SEND_S = 10.0
"""After how many seconds a `send` without an answer is in doubt; longer than a transaction waits for its lock."""

QUEUE_BYTES_MAX = 64 << 20
"""How many bytes may wait to be written; what comes on top is told to come later."""

SWITCH_INTERVAL_S = 0.0005
"""How long Python lets a busy thread run before it gives way, in seconds. With the usual 5 ms, a busy uvloop that polls
in between kept the writer thread waiting for seconds; with this it waited 5 ms at most, and nothing else got slower."""

_T = TypeVar("_T")


class SqliteLog:
    """A log in the file `path`, made if missing; implements `Log` and `LogAdmin`.

    `now_ms` is the log's clock, in milliseconds since 1970. In seconds: `send_s` bounds a send, `busy_s` its wait for
    other processes' transactions, `lease_s` how long a process that gives no sign keeps its partitions. Raises
    `WrongFile` where the file is something else or of a newer format, `Unavailable` where it can't be opened.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        batch_bytes_max: int = BATCH_BYTES_MAX,
        send_s: float = SEND_S,
        busy_s: float = BUSY_S,
        lease_s: float = LEASE_S,
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        self.path = Path(path)
        open_log(self.path)
        if sys.getswitchinterval() > SWITCH_INTERVAL_S:
            sys.setswitchinterval(SWITCH_INTERVAL_S)
        self.generation = 0
        """Rises when another process has committed something."""
        self.flushes = 0
        """How many transactions have appended something for this process."""
        self.waiting = 0
        """How many readers wait for records."""
        self._batch_bytes_max = batch_bytes_max
        self._send_s = send_s
        self._now_ms = now_ms or _wall_clock_ms
        self._tails: dict[Shard, Tail] = {}
        # In the order of their deadlines, as all have the same time.
        self._sending: dict[asyncio.Future[int], tuple[Shard, float]] = {}
        self._sweeping = False
        self._sending_bytes = 0
        self._busy_s = busy_s
        self._lease_s = lease_s
        self._keeper: LeaseKeeper | None = None
        self._writer: Writer | None = None
        self._reads = Reads(self.path)
        self._reading = ThreadPoolExecutor(max_workers=1, thread_name_prefix="interlock-log-reader")
        self._comparing = False
        self._compared_generation = 0
        self._closed = False

    @property
    def batch_bytes_max(self) -> int:
        """The largest batch in bytes that `send` takes."""
        return self._batch_bytes_max

    async def send(self, shard: Shard, batch: Sequence[Record]) -> int:
        """Appends the batch in the next transaction and returns the offset of its first record, once it is flushed."""
        if self._closed:
            raise NotNow(f"expected an open log to send to {shard}, found it closed")
        if not batch:
            raise Refused(f"expected at least one record for {shard}, found none")
        try:
            encoded = encode(batch)
        except UnicodeEncodeError as error:
            raise Refused(f"expected header names for {shard} that have a UTF-8 form, found: {error}") from error
        if encoded.size > self._batch_bytes_max:
            raise BatchTooLarge(f"expected at most {self._batch_bytes_max} bytes for {shard}, found {encoded.size}")
        if self._sending_bytes + encoded.size > QUEUE_BYTES_MAX and self._sending:
            raise NotNow(f"expected at most {QUEUE_BYTES_MAX} bytes to wait for the disk, found more; send less")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[int] = loop.create_future()
        self._sending[answer] = shard, loop.time() + self._send_s
        self._sending_bytes += encoded.size
        if not self._sweeping:
            self._sweeping = True
            loop.call_later(self._send_s, self._give_up_late, loop)
        self.writer.put(Send(shard, batch, encoded, answer))
        try:
            return await answer
        finally:
            self._sending_bytes -= encoded.size
            del self._sending[answer]

    def reader(self, shard: Shard, offset: int) -> "SqliteReader":
        """A reader whose first `read` begins at `offset`."""
        return SqliteReader(self, shard, offset, self._tail(shard))

    async def end(self, shard: Shard) -> int:
        """The offset behind what can be read now, by any process."""
        return (await self.extent(shard)).end

    async def extent(self, shard: Shard) -> Extent:
        """What can be read now, by any process."""
        extent = await self._ask(lambda: self._reads.extent(shard))
        self._tail(shard).observe(extent.end)
        return extent

    async def look(self, shard: Shard, offset: int) -> Found:
        """The extent and the next records from the file; for readers."""
        found = await self._ask(lambda: self._reads.read(shard, offset))
        self._tail(shard).observe(found.extent.end)
        return found

    def check_open(self) -> None:
        """Raises `Unavailable` where the log was closed."""
        if self._closed:
            raise Unavailable(f"expected {self.path} to be open, found it closed")

    async def wait(self, tail: Tail, wait_s: float) -> None:
        """Returns when the shard of `tail` may have grown, or after `wait_s` seconds; for readers."""
        self.waiting += 1
        self.writer.watch()
        try:
            await tail.waiters.wait(wait_s)
        finally:
            self.waiting -= 1

    async def close(self) -> None:
        """Ends what is under way as `Doubt` and waiting readers as `Unavailable`, and closes the file."""
        if self._closed:
            return
        if self._keeper is not None:
            await self._keeper.close()
        self._closed = True
        for answer, (shard, _) in list(self._sending.items()):
            if not answer.done():
                found = "the log closed meanwhile"
                answer.set_exception(Doubt(f"expected an answer from {shard}, found {found}; read the log"))
        for tail in self._tails.values():
            tail.waiters.wake()
        if self._writer is not None:
            await self._writer.stop()
        await asyncio.get_running_loop().run_in_executor(self._reading, self._reads.close)
        # Its thread has just done the last it had to do, so this waits for no more than its end.
        self._reading.shutdown()

    async def create(self, topics: Sequence[TopicSpec]) -> Sequence[str]:
        """Makes those that are missing and returns their names; leaves existing ones as they are."""
        return await self.write(lambda connection: create_topics(connection, topics))

    async def check(self, topics: Sequence[TopicSpec]) -> Sequence[TopicFault]:
        """Every way in which the file or a topic is not as it must be; raises `Unavailable`."""
        name = self.path.name
        return await self.ask(lambda connection: list(find_faults(connection, topics, name)))

    async def topic_id(self, topic: str) -> str:
        """The uuid that the topic was given when it was made; raises `NoSuchShard`, `Unavailable`."""
        return await self.ask(lambda connection: topic_uuid(connection, topic))

    async def clock_skew_s(self, now_ms: Callable[[], int]) -> float:
        """This process's part of the log's clock minus the given one: the log is told the time by who writes."""
        return (self._now_ms() - now_ms()) / 1000

    async def trim(self, shard: Shard, first: int) -> None:
        """Drops the records before offset `first`; raises `OffsetGone` where that is behind the end, `NoSuchShard`."""
        while await self.write(lambda connection: trim_shard(connection, shard, first)):
            pass
        self._tail(shard).clear()

    async def delete(self, topic: str) -> None:
        """Deletes the topic with its records; raises `NoSuchShard`."""
        await self.write(lambda connection: delete_topic(connection, topic))
        self._on_foreign()
        for shard, tail in self._tails.items():
            if shard.topic == topic:
                tail.clear()

    @property
    def writer(self) -> Writer:
        """The writer; started at the first use, as only then there is surely a loop."""
        if self._writer is None:
            self._writer = Writer(
                self.path,
                loop=asyncio.get_running_loop(),
                landed=self._on_landed,
                foreign=self._on_foreign,
                watched=lambda: self.waiting > 0,
                now_ms=self._now_ms,
                busy_s=self._busy_s,
            )
        return self._writer

    def assignment(self, topic: str, group: str | None = None) -> SqliteAssignment:
        """Joins those that share the partitions of `topic`; each `group` shares them anew. Needs a running loop."""
        if self._keeper is None:
            self._keeper = LeaseKeeper(self.writer, self.ask, lease_s=self._lease_s)
        return self._keeper.join(topic, group or f"{topic}.owners")

    def group_source(self, topics: Sequence[str], group: str) -> ReadingGroup:
        """The records of user topics, shared out between the processes of one group; implements `GroupSource`."""
        assignments = {topic: self.assignment(topic, f"{topic}.{group}") for topic in topics}
        return ReadingGroup(self, assignments, SqlitePositions(self.path, group))

    async def ask(self, question: Callable[[sqlite3.Connection], _T]) -> _T:
        """Puts a question to the file, in a transaction on the thread for reading; raises `Unavailable`."""
        return await self._ask(lambda: self._reads.ask(question))

    async def write(self, job: Callable[[sqlite3.Connection], _T]) -> _T:
        """Runs `job` in a transaction on the writer's thread; returns when it is flushed. Raises `Unavailable`.

        For small tables beside the log that belong to the same file.
        """
        self.check_open()
        return await self.writer.run(job)

    async def _ask(self, question: Callable[[], _T]) -> _T:
        self.check_open()
        return await asyncio.get_running_loop().run_in_executor(self._reading, question)

    def _tail(self, shard: Shard) -> Tail:
        tail = self._tails.get(shard)
        if tail is None:
            tail = self._tails[shard] = Tail()
        return tail

    def _give_up_late(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ends the sends whose time is over; one timer for all costs less than one each."""
        now = loop.time()
        for answer, (shard, deadline) in self._sending.items():
            if deadline > now:
                loop.call_at(deadline, self._give_up_late, loop)
                return
            if not answer.done():
                found = "none; read the log"
                answer.set_exception(Doubt(f"expected an answer from {shard} within {self._send_s} s, found {found}"))
        self._sweeping = False

    def _on_landed(self, group: Sequence[Landed]) -> None:
        self.flushes += 1
        for (shard, batch, encoded, answer), base, time_ms in group:
            tail = self._tails.get(shard)
            if tail is not None:
                tail.add(base, batch, time_ms, encoded.size)
            if not answer.done():
                answer.set_result(base)

    def _on_foreign(self) -> None:
        """Another process has committed something."""
        self.generation += 1
        self._compare()

    def _compare(self) -> None:
        """Finds out whether a reader waits for what others have committed."""
        if self.waiting and not self._comparing and not self._closed:
            self._comparing = True
            self._compared_generation = self.generation
            shards = [shard for shard, tail in self._tails.items() if tail.waiters]
            asyncio.get_running_loop().run_in_executor(self._reading, self._reads.ends, shards).add_done_callback(
                lambda ends: self._on_compared(shards, ends)
            )

    def _on_compared(self, shards: Sequence[Shard], ends: "asyncio.Future[dict[Shard, int]]") -> None:
        self._comparing = False
        if ends.cancelled():
            return
        error = ends.exception()
        for shard in shards:
            tail = self._tail(shard)
            # Where it could not be found out, or the shard is gone, the readers themselves shall see.
            if error is not None or shard not in ends.result():
                tail.waiters.wake()
            else:
                tail.observe(ends.result()[shard])
        if self._compared_generation != self.generation:
            self._compare()


class SqliteReader:
    """A place in one shard of a `SqliteLog`; implements `Reader`."""

    def __init__(self, log: SqliteLog, shard: Shard, offset: int, tail: Tail) -> None:
        self._log = log
        self._shard = shard
        self._offset = offset
        self._tail = tail
        self._tail.readers += 1
        self._closed = False
        # How often others had committed, and this process appended here, when nothing was left to be read.
        self._seen_generation = -1
        self._seen_appends = -1

    @property
    def next_offset(self) -> int:
        """Where `read` goes on."""
        return self._offset

    async def read(self, wait_s: float) -> Sequence[Stored]:
        """The next records, or () after `wait_s` seconds without any, as `Reader.read` says."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        must_look = wait_s <= 0
        while True:
            self._log.check_open()
            records = self._tail.read(self._offset)
            if records:
                self._seen_appends = self._tail.appends
                return self._pass(records)
            unseen = self._seen_generation != self._log.generation or self._seen_appends != self._tail.appends
            # Whoever asks for the end may see another process's append before the writer's thread tells of it, which
            # then wakes nobody any more.
            if unseen or must_look or self._tail.seen_end > self._offset:
                must_look = False
                records = await self._look()
                if records:
                    return self._pass(records)
                continue
            remaining_s = deadline - loop.time()
            if remaining_s <= 0:
                return ()
            await self._log.wait(self._tail, remaining_s)

    async def close(self) -> None:
        """Lets go of the place."""
        if not self._closed:
            self._closed = True
            self._tail.readers -= 1

    async def _look(self) -> Sequence[Stored]:
        # Noted before the look: what is committed during it counts as not yet seen.
        generation, appends = self._log.generation, self._tail.appends
        found = await self._log.look(self._shard, self._offset)
        if not found.extent.first <= self._offset <= found.extent.end:
            raise OffsetGone(self._shard, self._offset, found.extent)
        if not found.records:
            self._seen_generation, self._seen_appends = generation, appends
        return found.records

    def _pass(self, records: Sequence[Stored]) -> Sequence[Stored]:
        self._offset = records[-1].offset + 1
        return records


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000
