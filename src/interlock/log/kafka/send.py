"""Sending batches: one request is one try, and the broker's answer decides what the caller is told.

The life of a batch:

    queued ─► sent ─┬► offset ─────────────────────────────► landed
      ▲             ├► refused for what it is ─────────────► `Refused`
      │             ├► turned away before it was written ──► queued again, until `send_s` has passed ─► `NotNow`
      │             └► anything else, or no answer ────────► `Doubt`
      └ not reached: nothing was sent

A broker that turns a batch away before it writes answers without a base offset; one that wrote it, and then lost its
followers or its leadership, answers with one (Kafka's `ReplicaManager` and `DelayedProduce`). So a change of leader or
a broker that restarts in order is waited out, and only a batch whose fate is unknown is in doubt.

There is one request at a time on the way to each broker, because a broker answers those of one connection one by one.
What comes meanwhile gathers into the next: batches for other shards beside each other, batches for the same shard
one behind the other in a single record batch, as long as it fits.
"""

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from itertools import chain

from interlock.log.kafka import wire
from interlock.log.kafka.cluster import CallFailed, Cluster, NotReached
from interlock.log.port import (
    BATCH_OVERHEAD_BYTES,
    BatchTooLarge,
    Doubt,
    LogError,
    NoSuchShard,
    NotNow,
    Record,
    Refused,
    Shard,
    batch_bytes,
)

PRODUCE = "produce"
"""The lane of writes."""

REQUEST_BYTES_MAX = 8 << 20
"""What one request carries at most for all shards together, so that none waits long behind the others."""

BROKER_WAIT_FRACTION = 0.7
"""The part of `send_s` that a leader waits for its followers. Then it answers for each shard by itself, so that one
shard without its followers does not put the others of the request in doubt."""

RETRY_FIRST_S = 0.01
RETRY_MAX_S = 0.25

TURNED_AWAY = frozenset({2, 3, 5, 6, 9, 19, 72, 74, 75, 89, 100})
"""Damaged on the way, unknown topic or partition, no leader, not the leader, no replica, too few in-sync replicas, no
listener, fenced or unknown leader epoch, throttled, unknown topic id: without a base offset nothing was written."""

TOO_LARGE = frozenset({10, 18})

NO_SUCH_SHARD = frozenset({17})

REFUSED = {
    29: "this user may not write to the topic; grant it",
    31: "this user may not write to the cluster; grant it",
    32: "the timestamp is out of the topic's bounds; set message.timestamp.type=LogAppendTime",
    43: "the topic's message format is too old",
    44: "a policy of the cluster forbids it",
    76: "the topic's compression is not supported",
    87: "the broker found a record that the topic does not take (a compacted topic needs keys)",
}


class _TurnedAway(Exception):
    """The batch was not written by this try; the message says why."""


class _Entry:
    """One batch of one caller."""

    __slots__ = ("answer", "bytes", "records", "sent", "shard")

    def __init__(self, shard: Shard, records: Sequence[Record], size: int) -> None:
        self.shard = shard
        self.records = records
        self.bytes = size
        self.sent = False
        """Whether it is in a request whose outcome is not known yet."""
        self.answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()


class _Lane:
    """What is queued for one broker, and the task that sends it while there is something."""

    __slots__ = ("queue", "task")

    def __init__(self) -> None:
        self.queue: deque[_Entry] = deque()
        self.task: asyncio.Task[None] | None = None


class Sender:
    """Sends the batches of all callers of one process."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._settings = cluster.settings
        self._lanes: dict[int, _Lane] = {}
        self._closed = False
        self._landed: dict[Shard, tuple[str, int]] = {}

    async def send(self, shard: Shard, batch: Sequence[Record]) -> int:
        """As `port.Log.send`."""
        if self._closed:
            raise NotNow(f"expected an open log to send to {shard}, found it closed")
        if not batch:
            raise Refused(f"expected at least one record for {shard}, found none")
        size = batch_bytes(batch)
        if size > self._settings.batch_bytes_max:
            raise BatchTooLarge(
                f"expected a batch for {shard} of at most {self._settings.batch_bytes_max} bytes, found {size}; "
                "split it, or move what is large out of it"
            )
        entry = _Entry(shard, batch, size)
        problem = f"no connection to the leader of {shard}"
        try:
            async with asyncio.timeout(self._settings.send_s):
                pause = RETRY_FIRST_S
                while True:
                    try:
                        base = await self._try(entry)
                    except (NotReached, _TurnedAway) as error:
                        problem = str(error)
                    else:
                        end = max(base + len(batch), self.landed(shard))
                        self._landed[shard] = (self._cluster.known_id(shard.topic), end)
                        return base
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, RETRY_MAX_S)
        except TimeoutError:
            if entry.sent:
                raise Doubt(
                    f"a batch of {len(batch)} records was sent to {shard} and not answered within "
                    f"{self._settings.send_s} s; only reading tells whether it landed"
                ) from None
            raise NotNow(
                f"a batch for {shard} was not written within {self._settings.send_s} s and is given up: {problem}"
            ) from None

    def landed(self, shard: Shard) -> int:
        """The offset behind the last batch that was told to have landed in this life of the topic, or 0."""
        topic_id, end = self._landed.get(shard, ("", 0))
        return end if topic_id == self._cluster.known_id(shard.topic) else 0

    async def close(self) -> None:
        """Ends what is on its way as `Doubt`, and what is queued as `NotNow`."""
        self._closed = True
        tasks = [lane.task for lane in self._lanes.values() if lane.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for lane in self._lanes.values():
            for entry in lane.queue:
                _fail(entry, NotNow(f"the log was closed before a batch was sent to {entry.shard}"))
            lane.queue.clear()

    async def _try(self, entry: _Entry) -> int:
        """Sends the batch once. Raises `NotReached`, `_TurnedAway`, `Refused` or `Doubt`."""
        node = await self._cluster.leader(entry.shard)
        if self._closed:
            raise NotNow(f"the log was closed before a batch was sent to {entry.shard}")
        lane = self._lanes.get(node)
        if lane is None:
            lane = self._lanes[node] = _Lane()
        if entry.answer.done():
            entry.answer = asyncio.get_running_loop().create_future()
        lane.queue.append(entry)
        if lane.task is None:
            lane.task = asyncio.create_task(self._pump(node, lane))
        return await entry.answer

    async def _pump(self, node: int, lane: _Lane) -> None:
        flight: dict[Shard, list[_Entry]] = {}
        try:
            while lane.queue:
                try:
                    await self._cluster.reach(node, PRODUCE)
                except NotReached as error:
                    self._turn_away(lane, error)
                    return
                flight = self._take(lane)
                if flight:
                    await self._fly(node, flight)
        except asyncio.CancelledError:
            for entry in chain(*flight.values()):
                _fail(entry, Doubt(f"the log was closed before {entry.shard} answered; only reading tells what landed"))
            raise
        finally:
            lane.task = None

    def _turn_away(self, lane: _Lane, error: NotReached) -> None:
        """Nothing was sent: its callers look for the leader again."""
        for entry in lane.queue:
            self._cluster.suspect(entry.shard.topic)
            _fail(entry, _TurnedAway(str(error)))
        lane.queue.clear()

    def _take(self, lane: _Lane) -> dict[Shard, list[_Entry]]:
        """What goes into the next request. Callers that have gone are left out: what they gave up never lands."""
        flight: dict[Shard, list[_Entry]] = {}
        sizes: dict[Shard, int] = {}
        left: deque[_Entry] = deque()
        total = 0
        for entry in lane.queue:
            if entry.answer.done():
                continue
            size = sizes.get(entry.shard, BATCH_OVERHEAD_BYTES) + entry.bytes - BATCH_OVERHEAD_BYTES
            if size > self._settings.batch_bytes_max or (flight and total + entry.bytes > REQUEST_BYTES_MAX):
                # Later ones of this shard, however small, stay behind it.
                sizes[entry.shard] = self._settings.batch_bytes_max
                left.append(entry)
                continue
            sizes[entry.shard] = size
            total += entry.bytes
            entry.sent = True
            flight.setdefault(entry.shard, []).append(entry)
        lane.queue = left
        return flight

    async def _fly(self, node: int, flight: dict[Shard, list[_Entry]]) -> None:
        """One request, and its outcome for everybody in it."""
        now_ms = int(time.time() * 1000)
        wait_s = self._settings.send_s * BROKER_WAIT_FRACTION
        batches = _build(flight, now_ms)
        if not batches:
            return
        try:
            call = wire.produce(batches, wait_s)
            answer = await self._cluster.call(node, call, timeout_s=self._settings.send_s, lane=PRODUCE)
        except NotReached as error:
            self._fail_all(flight, _TurnedAway(str(error)))
        except CallFailed as error:
            self._fail_all(flight, Doubt(f"{error}; only reading tells what landed"))
        except Exception as error:  # noqa: BLE001 - an answer that can't be read: whatever it is, nobody may hang
            self._fail_all(flight, Doubt(f"the answer of broker {node} can't be read: {error!r}"))
        else:
            for shard, entries in flight.items():
                self._settle(shard, entries, answer.get(shard))

    def _fail_all(self, flight: dict[Shard, list[_Entry]], error: Exception) -> None:
        for shard, entries in flight.items():
            self._cluster.suspect(shard.topic)
            for entry in entries:
                _fail(entry, error)

    def _settle(self, shard: Shard, entries: Sequence[_Entry], landed: wire.Landed | None) -> None:
        """Tells the callers of one shard what became of their part of the batch."""
        if landed is not None and landed.code == 0 and landed.base >= 0:
            base = landed.base
            for entry in entries:
                if not entry.answer.done():
                    entry.answer.set_result(base)
                base += len(entry.records)
            return
        self._cluster.suspect(shard.topic)
        error = _outcome(shard, landed)
        for entry in entries:
            _fail(entry, error)


def _build(flight: dict[Shard, list[_Entry]], now_ms: int) -> dict[Shard, bytearray]:
    """The record batches of a request. What has no bytes is refused, and its shard taken out of `flight`."""
    batches: dict[Shard, bytearray] = {}
    for shard, entries in list(flight.items()):
        try:
            batches[shard] = wire.build_batch(chain.from_iterable(entry.records for entry in entries), now_ms)
        except (UnicodeEncodeError, TypeError):
            del flight[shard]
            for entry in entries:
                _fail(entry, _why_not_built(entry, now_ms))
    return batches


def _why_not_built(entry: _Entry, now_ms: int) -> Exception:
    """Refuses the batch that has no bytes; those that had gathered with it are sent again."""
    try:
        wire.build_batch(entry.records, now_ms)
    except (UnicodeEncodeError, TypeError) as error:
        return Refused(f"expected records for {entry.shard} with names in UTF-8 and bytes as values, found: {error}")
    return _TurnedAway(f"a batch for {entry.shard} that had gathered with this one can't be written")


def _outcome(shard: Shard, landed: wire.Landed | None) -> LogError | _TurnedAway:
    """What an answer without a usable offset means."""
    if landed is None or landed.code == 0:
        return Doubt(f"the answer for {shard} holds no offset; only reading tells whether the batch landed")
    code, name = landed.code, wire.error_name(landed.code)
    if landed.base < 0:
        if code in TURNED_AWAY:
            return _TurnedAway(f"the leader of {shard} turned the batch away: {name}")
        if code in TOO_LARGE:
            return BatchTooLarge(f"expected a batch that {shard} takes, found {name}; raise its max.message.bytes")
        if code in NO_SUCH_SHARD:
            return NoSuchShard(f"expected a topic {shard.topic}, found {name}")
        if code in REFUSED:
            return Refused(f"the leader of {shard} refused the batch: {name}: {REFUSED[code]}")
    return Doubt(f"the leader of {shard} answered {name}; only reading tells whether the batch landed")


def _fail(entry: _Entry, error: Exception) -> None:
    if isinstance(error, _TurnedAway):
        entry.sent = False
    if not entry.answer.done():
        entry.answer.set_exception(error)
