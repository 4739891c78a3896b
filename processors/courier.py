"""Delivers what appends promised: in order for each destination, at least once, the next batch after the one before.

Why a repetition is harmless: every promise to an inbox has its source and number, and the receiver drops what is not
above the number that its frames hold for that source. A batch in doubt is sent again, first thing, so nothing overtakes
it. One destination that is missing or away waits alone. What a crash leaves undelivered is found in the journal.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from interlock.domain.messages import RejectStimulus, Reply
from interlock.log.port import BATCH_OVERHEAD_BYTES, Log, LogError, Record, Shard
from interlock.log.weight import Load
from interlock.processors.ports import Bounds, Codec, Topics
from interlock.processors.unit import Outgoing

log = logging.getLogger(__name__)


class Waiting(NamedTuple):
    """What is promised and not delivered yet."""

    promises: int
    oldest_ms: int | None
    """When the oldest of them was decided, by the clock of the process that did; None where there is none."""


class Couriers:
    """One queue and one task for each destination that a shard delivers to."""

    def __init__(
        self,
        *,
        source: str,
        wire: Log,
        codec: Codec,
        topics: Topics,
        bounds: Bounds,
        delivered: Callable[[str, int], None],
    ) -> None:
        self._source = source.encode()
        self._log = wire
        self._codec = codec
        self._topics = topics
        self._bounds = bounds
        self._delivered = delivered
        self._queues: dict[str, deque[Outgoing]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    def put(self, outgoing: list[Outgoing]) -> None:
        """Takes promises of an append that counts; returns at once."""
        for promise in outgoing:
            queue = self._queues.setdefault(promise.destination, deque())
            queue.append(promise)
            task = self._tasks.get(promise.destination)
            if task is None or task.done():
                self._tasks[promise.destination] = asyncio.create_task(self._deliver(promise.destination, queue))
        if outgoing:
            self._idle.clear()

    @property
    def waiting(self) -> Waiting:
        """What is not delivered yet; looks at the head of each queue alone."""
        heads = [queue[0] for queue in self._queues.values() if queue]
        oldest_ms = min((int(dict(head.headers)["time"]) for head in heads), default=None)
        return Waiting(sum(map(len, self._queues.values())), oldest_ms)

    async def drained(self) -> None:
        """Waits until everything is delivered."""
        while any(self._queues.values()):
            self._idle.clear()
            await self._idle.wait()

    async def close(self) -> None:
        """Stops delivering; what is left stays promised in the journal."""
        tasks = [task for task in self._tasks.values() if not task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _deliver(self, destination: str, queue: deque[Outgoing]) -> None:
        shard = self._shard(destination)
        retry_ms = self._bounds.courier_retry_ms
        while queue:
            batch, count = self._batch(destination, queue)
            try:
                await self._log.send(shard, batch)
            except LogError as error:
                log.warning("delivery to %s waits %d ms, %d promises: %s", destination, retry_ms, len(queue), error)
                await asyncio.sleep(retry_ms / 1000)
                retry_ms = min(2 * retry_ms, self._bounds.courier_retry_ms_max)
                continue
            retry_ms = self._bounds.courier_retry_ms
            last = queue[0]
            for _ in range(count):
                last = queue.popleft()
            self._delivered(destination, last.number)
        self._idle.set()

    def _batch(self, destination: str, queue: deque[Outgoing]) -> tuple[list[Record], int]:
        bytes_max = self._log.batch_bytes_max - BATCH_OVERHEAD_BYTES
        batch: list[Record] = []
        load = Load()
        for promise in queue:
            record = self._record(destination, promise)
            if not load.took(record, bytes_max):
                break
            batch.append(record)
        return batch, len(batch)

    def _shard(self, destination: str) -> Shard:
        context, _, partition = destination.rpartition("/")
        if context in self._topics.partitions:
            return self._topics.inbox(context, int(partition))
        return self._topics.user(context, int(partition))

    def _record(self, destination: str, promise: Outgoing) -> Record:
        if for_users(destination):
            # Whoever reads it may ask views for what it knows of (PRJ-08).
            home = self._source.partition(b"@")[0]
            message = self._codec.decode(promise.value)
            more = [("position", b"%b:%d" % (home, promise.append))]
            if isinstance(message, Reply):
                more.append(("asked", message.asked.encode()))
            return Record(promise.key, plain(message), (*promise.headers, *more))
        return Record(promise.key, promise.value, (("source", self._source), *promise.headers))


def for_users(destination: str) -> bool:
    """Whether what goes there is made JSON for users, rather than delivered as it was promised."""
    return destination in ("replies/0", "dead-letters/0")


def plain(message: object) -> bytes:
    """What topics for users carry: JSON, as any client reads it."""
    match message:
        case Reply():
            found: dict[str, object] = {
                "commandId": message.command_id,
                "status": message.status,
                "body": json.loads(message.body),
            }
        case RejectStimulus():
            found = {
                "id": message.dead_letter_id,
                "reason": message.reason,
                "detail": message.detail,
                "excerpt": message.excerpt,
                "size": message.size,
                "rejectedAt": message.rejected_at_ms,
                "origin": {
                    "channel": message.origin.channel,
                    "topic": message.origin.topic,
                    "partition": message.origin.partition,
                    "offset": message.origin.offset,
                },
            }
        case _:
            raise AssertionError(f"expected a message for users, found {type(message).__name__}")
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
