"""Topics as journals need them: made, checked, recognised; and how far the brokers' clocks are from ours.

`create` never changes a topic that is there, and `check` names every setting by which records could be lost, shards
could move, or times could mislead.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from interlock.log.kafka import wire
from interlock.log.kafka import wire_group as admin_wire
from interlock.log.kafka.cluster import UNKNOWN_TOPIC, CallFailed, Cluster, unavailable
from interlock.log.kafka.extent import Extents
from interlock.log.kafka.send import PRODUCE
from interlock.log.kafka.topics import CHECKED, clock_topic, faults_of, new_topic
from interlock.log.kafka.wire_cluster import TopicState
from interlock.log.port import NoSuchShard, OffsetGone, Record, Refused, Shard, TopicFault, TopicSpec, Unavailable

T = TypeVar("T")

logger = logging.getLogger(__name__)

CLOCK_SAMPLES = 3
"""The quickest of so many answers is used: the shorter the way, the smaller the error of half a round trip."""

EXISTS = 36
TRY_AGAIN = frozenset({5, 7, 14, 15, 16, 41, 89})

RETRY_S = 0.1


class KafkaAdmin:
    """Implements `port.LogAdmin` on the connections of a `KafkaLog`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._settings = cluster.settings

    async def create(self, topics: Sequence[TopicSpec]) -> Sequence[str]:
        """Makes those that are missing, waits until every broker knows them, and returns their names.

        Raises `Refused` with the broker's reason (not allowed, a policy forbids it), `Unavailable`.
        """
        size = await self._size()
        wanted = [new_topic(spec, size, self._settings.batch_bytes_max) for spec in topics]
        made = await self._make([*wanted, clock_topic(self._settings.prefix, size)])
        await self._await_known(made)
        asked = {spec.name for spec in topics}
        return [name for name in made if name in asked]

    async def check(self, topics: Sequence[TopicSpec]) -> Sequence[TopicFault]:
        """Every fault of the topics; none means that journals are safe here. Raises `Unavailable`, `Refused`."""
        size = await self._size()
        try:
            state = await self._cluster.ask_any(wire.metadata(spec.name for spec in topics))
            call = admin_wire.describe_topics([spec.name for spec in topics], CHECKED)
            described = await self._ask_any(call)
        except CallFailed as error:
            raise unavailable("the settings of topics", error) from error
        states = {each.name: each for each in state.topics}
        faults: list[TopicFault] = []
        for spec in topics:
            found = described.get(spec.name)
            if found is not None and found.code == 29:
                raise Refused(f"expected to be allowed to describe the configs of {spec.name}, found not")
            settings: Mapping[str, str] = found.settings if found is not None and found.code == 0 else {}
            faults.extend(faults_of(spec, states.get(spec.name), settings, size, self._settings.batch_bytes_max))
        return faults

    async def topic_id(self, topic: str) -> str:
        """Kafka's uuid of the topic in its text form. Raises `NoSuchShard`, `Unavailable`."""
        self._cluster.suspect(topic)
        try:
            return (await self._cluster.topic(topic)).id
        except NoSuchShard:
            raise
        except (CallFailed, Refused) as error:
            raise unavailable(f"the id of {topic}", error) from error

    async def clock_skew_s(self, now_ms: Callable[[], int]) -> float:
        """The brokers' clock minus the given one, in seconds: of all brokers the one that is furthest away.

        Measured with records in a small topic of its own, whose time the broker sets; exact to half a round trip.
        Brokers that are away are left out. Raises `Unavailable` where none answers, `Refused` where that topic may
        not be made or written.
        """
        name = clock_topic(self._settings.prefix, 1).name
        self._cluster.suspect(name)
        problem = f"no partition of {name} has a leader"
        skews: list[float] = []
        try:
            leaders = {state.leader: number for number, state in (await self._clock()).partitions.items()}
        except CallFailed as error:
            raise unavailable("the brokers' clock", error) from error
        for node, partition in leaders.items():
            try:
                skews.append(await self._skew_s(node, Shard(name, partition), now_ms))
            except (CallFailed, Unavailable) as error:
                problem = str(error)
        if not skews:
            raise Unavailable(f"the brokers' clock can't be read now: {problem}")
        return max(skews, key=abs)

    async def _clock(self) -> TopicState:
        """The topic that times are measured with, made where it is missing."""
        name = clock_topic(self._settings.prefix, 1).name
        try:
            return await self._cluster.topic(name)
        except NoSuchShard:
            await self._make([clock_topic(self._settings.prefix, await self._size())])
            return await self._cluster.topic(name)

    async def trim(self, shard: Shard, first: int, extents: Extents) -> None:
        """Drops the records before offset `first`. Raises `OffsetGone` where that is behind the end, and as `end`."""
        extent = await extents.of(shard)
        if first > extent.end:
            raise OffsetGone(shard, first, extent)
        if first <= extent.first:
            return
        try:
            node = await self._cluster.leader(shard)
            call = admin_wire.delete_records(shard, first, self._settings.ask_s)
            code = await self._cluster.call(node, call, timeout_s=2 * self._settings.ask_s)
        except CallFailed as error:
            raise unavailable(f"{shard} to be trimmed", error) from error
        if code != 0:
            self._cluster.suspect(shard.topic)
            raise Unavailable(f"expected {shard} to be trimmed up to {first}, found {wire.error_name(code)}")

    async def delete(self, topic: str) -> None:
        """Deletes the topic with its records. Raises `NoSuchShard`, `Refused`, `Unavailable`."""
        try:
            code = await self._ask_any(admin_wire.delete_topic(topic, self._settings.ask_s))
        except CallFailed as error:
            raise unavailable(f"{topic} to be deleted", error) from error
        self._cluster.forget(topic)
        if code == UNKNOWN_TOPIC:
            raise NoSuchShard(f"expected a topic {topic} to delete, found none")
        if code in TRY_AGAIN:
            raise Unavailable(f"{topic} can't be deleted now: {wire.error_name(code)}")
        if code != 0:
            raise Refused(f"expected to delete topic {topic}, found {wire.error_name(code)}")

    async def _skew_s(self, node: int, shard: Shard, now_ms: Callable[[], int]) -> float:
        """One broker's clock minus the given one."""
        best: tuple[float, float] | None = None
        for _ in range(CLOCK_SAMPLES):
            began, sent_ms = time.monotonic(), now_ms()
            batch = wire.build_batch([Record(b"clock", b"")], sent_ms)
            answers = await self._cluster.call(
                node, wire.produce({shard: batch}, self._settings.send_s), timeout_s=self._settings.send_s, lane=PRODUCE
            )
            took_s = time.monotonic() - began
            landed = answers[shard]
            if landed.code == 29:
                raise Refused(f"expected to be allowed to write to {shard.topic}, found not; grant it to this user")
            if landed.code != 0 or landed.time_ms < 0:
                self._cluster.suspect(shard.topic)
                raise Unavailable(
                    f"expected the time of a record in {shard} (message.timestamp.type=LogAppendTime), found "
                    f"{wire.error_name(landed.code)}"
                )
            # Both cut their time to milliseconds, so on average both were half of one later.
            skew_s = (landed.time_ms - sent_ms) / 1000 - took_s / 2
            if best is None or took_s < best[0]:
                best = (took_s, skew_s)
        assert best is not None
        return best[1]

    async def _ask_any(self, call: wire.Call[T]) -> T:
        # The broker that is asked passes changes on to the controller, and answers after `ask_s` at the latest.
        return await self._cluster.ask_any(call, timeout_s=2 * self._settings.ask_s)

    async def _size(self) -> int:
        """How many brokers the cluster has, those included that are down: they come back, and topics stay as made."""
        try:
            living = await self._cluster.brokers()
        except CallFailed as error:
            raise unavailable("the brokers", error) from error
        try:
            registered = await self._cluster.ask_any(wire.registered_brokers())
        except CallFailed as error:
            logger.info("only brokers that are up can be counted (Kafka 4.0 and later tells all): %s", error)
            return len(living)
        return len(living.keys() | registered)

    async def _make(self, topics: Sequence[admin_wire.NewTopic]) -> list[str]:
        """Makes what is missing of `topics` and returns the names."""
        made: list[str] = []
        left = list(topics)
        problem = "no broker was asked"
        loop = asyncio.get_running_loop()
        until = loop.time() + 2 * self._settings.ask_s
        while left and loop.time() < until:
            try:
                answers = await self._ask_any(admin_wire.create_topics(left, self._settings.ask_s))
            except CallFailed as error:
                raise unavailable("topics", error) from error
            again: list[admin_wire.NewTopic] = []
            for topic in left:
                answer = answers.get(topic.name, admin_wire.TopicAnswer(-1, "no answer"))
                if answer.code == 0:
                    made.append(topic.name)
                elif answer.code in TRY_AGAIN:
                    problem = f"{topic.name}: {wire.error_name(answer.code)} {answer.message}"
                    again.append(topic)
                elif answer.code != EXISTS:
                    raise Refused(
                        f"expected to make topic {topic.name} with {topic.partitions} partitions and "
                        f"{topic.replication} replicas, found {wire.error_name(answer.code)} {answer.message}"
                    )
            left = again
            if left:
                await asyncio.sleep(RETRY_S)
        if left:
            raise Unavailable(f"topics can't be made now: {problem}")
        return made

    async def _await_known(self, names: Sequence[str]) -> None:
        """Waits until every broker that answers knows leaders for the topics, so that the first use meets no gap."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._settings.ask_s
        for node in await self._cluster.brokers() if names else ():
            while loop.time() < until:
                try:
                    state = await self._cluster.call(node, wire.metadata(names), timeout_s=self._settings.ask_s)
                except CallFailed:
                    break
                if all(_is_led(topic) for topic in state.topics):
                    break
                await asyncio.sleep(RETRY_S)
        for name in names:
            self._cluster.suspect(name)


def _is_led(topic: TopicState) -> bool:
    return topic.error == 0 and bool(topic.partitions) and all(each.leader >= 0 for each in topic.partitions.values())
