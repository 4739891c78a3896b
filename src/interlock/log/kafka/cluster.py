"""What a process knows of a Kafka cluster: connections to its brokers, and who leads which shard.

Always true:

- a call that ends in `NotReached` was not sent, and one that ends in `NoAnswer` may have been carried out;
- a broker that hangs holds up only the calls to it: connections are opened side by side, and each has its *lane*, so
  that a long poll never stands before a write;
- what a broker tells of a leader is not replaced by what an older broker remembers (leader epochs, KIP-320).

Nothing is connected before the first call. Use it from one event loop.
"""

import asyncio
import random
import time
from collections.abc import Mapping
from typing import Any, TypeVar

from aiokafka.errors import IncompatibleBrokerVersion, KafkaError

from interlock.log.kafka import wire
from interlock.log.kafka.settings import KafkaSettings, host_and_port
from interlock.log.kafka.wire_cluster import TopicState
from interlock.log.port import LogError, NoSuchShard, Refused, Shard, Unavailable

T = TypeVar("T")

ASK = "ask"
"""The lane of short questions."""

UNKNOWN_TOPIC = 3
INVALID_TOPIC = 17
TOPIC_FORBIDDEN = 29

REFRESH_PAUSE_S = 0.05
"""Metadata is asked for at most this often, however many callers find it stale."""

UNKNOWN_TOPIC_S = 1.0
"""A topic counts as missing after this long: brokers learn of a new one some milliseconds after it was made."""


class CallFailed(LogError):
    """A call to a broker had no usable answer."""


class NotReached(CallFailed):
    """The request was not sent: no connection, or no leader."""


class NoAnswer(CallFailed):
    """The request was sent and may have been carried out, but its answer did not come."""


class Cluster:
    """The connections of one process to one cluster."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.settings = settings
        # Addresses given by the user stand in as brokers with negative numbers until real ones are known.
        self._seeds = {-2 - index: host_and_port(each) for index, each in enumerate(settings.bootstrap)}
        self._brokers: Mapping[int, tuple[str, int]] = {}
        self._connections: dict[tuple[int, str], wire.Connection] = {}
        self._opening: dict[tuple[int, str], asyncio.Task[wire.Connection]] = {}
        self._topics: dict[str, TopicState] = {}
        self._stale: set[str] = set()
        self._refreshing: asyncio.Task[None] | None = None
        self._refreshed_at = -1e9
        self._failed_at: dict[int, float] = {}
        self._context = settings.ssl_context()
        self.closed = False
        """Whether `close` was called; nothing is connected any more then."""

    async def call(self, node: int, call: wire.Call[T], *, timeout_s: float, lane: str = ASK) -> T:
        """Asks one broker and waits for its answer. Raises `NotReached` or `NoAnswer`."""
        return await self._call(await self.reach(node, lane), node, call, timeout_s, lane)

    async def reach(self, node: int, lane: str) -> wire.Connection:
        """The connection of a lane, made where there is none. Raises `NotReached`."""
        connection = self._connections.get((node, lane))
        if connection is not None and connection.connected():
            return connection
        if node not in self._brokers or node in self._failed_at:
            await self._refresh()  # it may have another address by now
        return await self._connect(node, lane)

    async def _call(self, connection: wire.Connection, node: int, call: wire.Call[T], timeout_s: float, lane: str) -> T:
        if not connection.connected():
            raise NotReached(f"the connection to broker {node} broke before {call.name} was sent")
        try:
            async with asyncio.timeout(timeout_s):
                answer = await connection.send(call.request)
        except (IncompatibleBrokerVersion, NotImplementedError) as error:
            raise NotReached(f"{call.name} is not for broker {node}: {error}") from error
        except TimeoutError as error:
            # Answers come in order, so nothing behind this one would come either.
            self.disconnect(node, lane)
            self._failed_at[node] = time.monotonic()
            raise NoAnswer(f"broker {node} did not answer {call.name} within {timeout_s} s") from error
        except (KafkaError, OSError) as error:
            raise NoAnswer(
                f"the connection to broker {node} broke before it answered {call.name}: {error!r}"
            ) from error
        return call.parse(answer)

    def disconnect(self, node: int, lane: str) -> None:
        """Closes the connection of a lane, if there is one."""
        connection = self._connections.pop((node, lane), None)
        if connection is not None:
            connection.close()

    async def leader(self, shard: Shard) -> int:
        """The broker that leads the shard. Raises `NoSuchShard`, `Refused` (forbidden), `NotReached` (no leader)."""
        topic = self._topics.get(shard.topic)
        if topic is None or shard.topic in self._stale:
            topic = await self.topic(shard.topic)
        partition = topic.partitions.get(shard.partition)
        if partition is None:
            if shard.partition >= 0 and not topic.partitions:
                self._stale.add(shard.topic)
                raise NotReached(f"{shard.topic} is being made and has no partitions yet")
            raise NoSuchShard(
                f"expected partition {shard.partition} of {shard.topic}, found {len(topic.partitions)} partitions"
            )
        if partition.leader < 0:
            self._stale.add(shard.topic)
            raise NotReached(f"{shard} has no leader now (replicas {partition.replicas}, in sync {partition.in_sync})")
        return partition.leader

    async def topic(self, name: str) -> TopicState:
        """What is known of a topic, asked for anew where it is in question. Raises as `leader` does."""
        began = time.monotonic()
        while True:
            known = self._topics.get(name)
            if known is None or name in self._stale or known.error == UNKNOWN_TOPIC:
                unknown = self._topics.setdefault(name, TopicState(name, UNKNOWN_TOPIC, "", {}))
                await self._refresh()
                # Another one who waited for the same answer may have given up, and dropped it.
                known = self._topics.get(name, unknown)
            if known.error == TOPIC_FORBIDDEN:
                self._stale.add(name)
                raise Refused(f"expected to be allowed to use topic {name}, found that this user is not; grant it")
            if known.error not in (UNKNOWN_TOPIC, INVALID_TOPIC):
                return known
            if known.error == INVALID_TOPIC or time.monotonic() - began > UNKNOWN_TOPIC_S:
                self._topics.pop(name, None)
                raise NoSuchShard(f"expected a topic {name}, found none; create it first")

    def known_id(self, topic: str) -> str:
        """The topic's id as it was told last; "" where it was not."""
        known = self._topics.get(topic)
        return "" if known is None else known.id

    def suspect(self, topic: str) -> None:
        """Has the leaders of a topic asked for anew before they are used again."""
        self._stale.add(topic)

    def forget(self, topic: str) -> None:
        """Drops what is known of a topic that was deleted."""
        self._topics.pop(topic, None)

    async def brokers(self) -> Mapping[int, tuple[str, int]]:
        """The brokers by id, asked for now. Raises `NotReached`."""
        await self._refresh()
        return self._brokers

    async def ask_any(self, call: wire.Call[T], *, timeout_s: float | None = None) -> T:
        """Asks one broker after the other, each for `timeout_s` (`connect_s` where None), until one answers.

        Raises `NotReached`.
        """
        problem: CallFailed | None = None
        for node in self._candidates():
            try:
                connection = await self._connect(node, ASK)
                return await self._call(connection, node, call, timeout_s or self.settings.connect_s, ASK)
            except CallFailed as error:
                problem = error
        addresses = ", ".join(self.settings.bootstrap)
        raise NotReached(f"expected a broker to answer at {addresses} or beside them, found none: {problem}")

    async def close(self) -> None:
        """Closes all connections; calls under way end in `NoAnswer`."""
        self.closed = True
        tasks: list[asyncio.Task[Any]] = [*self._opening.values()]
        if self._refreshing is not None:
            tasks.append(self._refreshing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        # A socket is closed by the loop's next turns; without them it would be found open at the loop's end.
        await asyncio.sleep(0)

    def _candidates(self) -> list[int]:
        """Whom to ask: those that did not fail lately first, in random order to spread the load."""
        nodes = [*self._brokers, *self._seeds]
        random.shuffle(nodes)
        nodes.sort(key=lambda node: (self._failed_at.get(node, -1e9), node < 0))
        return nodes

    async def _connect(self, node: int, lane: str) -> wire.Connection:
        key = (node, lane)
        connection = self._connections.get(key)
        if connection is not None and connection.connected():
            return connection
        opening = self._opening.get(key)
        if opening is None:
            if self.closed:
                raise NotReached("the log is closed")
            opening = asyncio.create_task(self._open(key))
            self._opening[key] = opening
            opening.add_done_callback(lambda done: self._opened(key, done))
        try:
            # Others may wait for the same connection, so a caller that is cancelled must not end the attempt.
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            if self.closed:
                raise NotReached("the log is closed") from None
            raise

    async def _open(self, key: tuple[int, str]) -> wire.Connection:
        node, _lane = key
        address = self._brokers.get(node) or self._seeds.get(node)
        if address is None:
            raise NotReached(f"broker {node} is not known to the cluster now")
        try:
            async with asyncio.timeout(self.settings.connect_s):
                connection = await wire.open_connection(*address, self.settings, self._context)
        except (OSError, KafkaError, TimeoutError) as error:
            self._failed_at[node] = time.monotonic()
            raise NotReached(f"broker {node} at {address[0]}:{address[1]} can't be reached: {error!r}") from error
        self._failed_at.pop(node, None)
        self._connections[key] = connection
        return connection

    def _opened(self, key: tuple[int, str], done: asyncio.Task[wire.Connection]) -> None:
        del self._opening[key]
        if not done.cancelled():
            done.exception()  # taken, so that nobody is warned of an attempt whose callers have gone

    async def _refresh(self) -> None:
        """Asks for all topics in use; callers that come while it is on its way share the answer."""
        if self._refreshing is None:
            if self.closed:
                raise NotReached("the log is closed")
            self._refreshing = asyncio.create_task(self._ask_metadata())
            self._refreshing.add_done_callback(self._after_refresh)
        await asyncio.shield(self._refreshing)

    def _after_refresh(self, done: asyncio.Task[None]) -> None:
        self._refreshing = None
        if not done.cancelled():
            done.exception()

    async def _ask_metadata(self) -> None:
        pause = self._refreshed_at + REFRESH_PAUSE_S - time.monotonic()
        if pause > 0:
            await asyncio.sleep(pause)
        names = list(self._topics)
        try:
            state = await self.ask_any(wire.metadata(names))
        finally:
            self._refreshed_at = time.monotonic()
        self._brokers = state.brokers
        for topic in state.topics:
            self._stale.discard(topic.name)
            self._topics[topic.name] = _newer(self._topics.get(topic.name), topic)


def _newer(known: TopicState | None, told: TopicState) -> TopicState:
    """What was told, except for partitions of which a later leader is known already."""
    if known is None or known.id != told.id:
        return told
    partitions = {
        number: known.partitions[number]
        if number in known.partitions and known.partitions[number].epoch > state.epoch
        else state
        for number, state in told.partitions.items()
    }
    return TopicState(told.name, told.error, told.id, partitions)


def unavailable(what: str, error: LogError) -> Unavailable:
    """A failed question as the port names it."""
    return Unavailable(f"{what} can't be asked now: {error}")
