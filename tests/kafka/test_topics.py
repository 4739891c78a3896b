"""Topics: what `create` makes passes `check`, and `check` finds each way in which a topic could lose or mislead."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from interlock.log.kafka.log import KafkaLog
from interlock.log.kafka.topics import faults_of, in_sync, new_topic, replication
from interlock.log.kafka.wire_cluster import PartitionState, TopicState
from interlock.log.port import TopicFault, TopicSpec, Unavailable
from interlock.runtime.clock import wall_ms
from tests.kafka.conftest import OpenLog
from tests.support.kafka import Brokers

BATCH = 1 << 20

WRONG = {
    "cleanup.policy": "compact",
    "retention.ms": "604800000",
    "retention.bytes": "1000000",
    "message.timestamp.type": "CreateTime",
    "unclean.leader.election.enable": "true",
    "max.message.bytes": "100000",
}


async def make(log: KafkaLog, name: str, settings: Mapping[str, str], replicas: int = 1) -> None:
    """A topic as somebody else might have made it."""
    client: Any = AIOKafkaAdminClient(bootstrap_servers=",".join(log.settings.bootstrap))
    await client.start()
    try:
        answer = await client.create_topics([NewTopic(name, 1, replicas, topic_configs=dict(settings))])
        assert [error[1] for error in answer.topic_errors] == [0]
    finally:
        await client.close()


async def faults_of_known(log: KafkaLog, specs: Sequence[TopicSpec]) -> Sequence[TopicFault]:
    """The faults, once every broker has heard of topics that were made behind the log's back."""
    async with asyncio.timeout(30):
        while True:
            faults = await log.check(specs)
            if "topic" not in [fault.setting for fault in faults]:
                return faults


@pytest.mark.kafka
async def test_what_create_makes_passes_check_and_is_left_alone_afterwards(log: KafkaLog) -> None:
    """Proves: LOG-07."""
    prefix = log.settings.prefix
    specs = [
        TopicSpec(name=f"{prefix}.executions.journal", partitions=3),
        TopicSpec(name=f"{prefix}.executables", partitions=1, compacted=True),
    ]
    assert [fault.setting for fault in await log.check(specs)] == ["topic", "topic"]
    assert await log.create(specs) == [spec.name for spec in specs]
    assert await log.check(specs) == []
    assert await log.create(specs) == []


@pytest.mark.kafka
@pytest.mark.parametrize("setting", sorted(WRONG))
async def test_check_finds_each_wrong_setting_and_says_what_to_do(log: KafkaLog, setting: str) -> None:
    """Proves: LOG-07."""
    name = f"{log.settings.prefix}.journal"
    right = dict(new_topic(TopicSpec(name=name, partitions=1), 1, log.batch_bytes_max).settings)
    await make(log, name, right | {setting: WRONG[setting]})
    [fault] = await faults_of_known(log, [TopicSpec(name=name, partitions=1)])
    assert (fault.topic, fault.setting, fault.found) == (name, setting, WRONG[setting])
    assert setting in fault.remedy
    assert name in fault.remedy


@pytest.mark.kafka
async def test_check_finds_another_partition_count(log: KafkaLog) -> None:
    """Proves: LOG-07 (keys belong to shards by the count, so another one would part them from their history)."""
    name = f"{log.settings.prefix}.journal"
    await log.create([TopicSpec(name=name, partitions=2)])
    [fault] = await log.check([TopicSpec(name=name, partitions=3)])
    assert (fault.setting, fault.expected, fault.found) == ("partitions", "3", "2")


@pytest.mark.kafka
async def test_on_three_brokers_one_replica_is_a_fault(kafka_cluster: Brokers, open_log: OpenLog) -> None:
    """Proves: LOG-07 (three replicas, two in sync)."""
    log = open_log(kafka_cluster.bootstrap, ask_s=20.0)
    prefix = log.settings.prefix
    good, thin, weak = (TopicSpec(name=f"{prefix}.{each}", partitions=1) for each in ("good", "thin", "weak"))
    await log.create([good])
    right = dict(new_topic(thin, 3, log.batch_bytes_max).settings)
    await make(log, thin.name, right)
    await make(log, weak.name, right | {"min.insync.replicas": "1"}, replicas=3)
    faults = await faults_of_known(log, [good, thin, weak])
    assert [(fault.topic, fault.setting) for fault in faults] == [
        (thin.name, "replication"),
        (weak.name, "min.insync.replicas"),
    ]


@pytest.mark.kafka
async def test_topics_that_are_made_while_a_broker_is_down_get_all_their_replicas(
    kafka_cluster: Brokers, open_log: OpenLog
) -> None:
    """A cluster of three with one down is not a cluster of two: it is made and checked for what it will be again.

    Proves: LOG-07.
    """
    log = open_log(kafka_cluster.bootstrap, ask_s=20.0)
    before = TopicSpec(name=f"{log.settings.prefix}.before", partitions=3)
    await log.create([before])
    assert abs(await log.clock_skew_s(wall_ms)) < 1.0
    await asyncio.to_thread(kafka_cluster.kill, 2)
    meanwhile = TopicSpec(name=f"{log.settings.prefix}.meanwhile", partitions=3)
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(Unavailable):  # as long as the cluster has not noticed that the broker is down
                await log.create([meanwhile])
                break
    assert await log.check([before, meanwhile]) == []
    assert {len(each.replicas) for each in (await log.cluster.topic(meanwhile.name)).partitions.values()} == {3}
    assert abs(await log.clock_skew_s(wall_ms)) < 1.0


def test_one_or_two_brokers_hold_one_replica_and_three_or_more_hold_three() -> None:
    assert [replication(brokers) for brokers in (1, 2, 3, 5)] == [1, 1, 3, 3]
    assert [in_sync(brokers) for brokers in (1, 2, 3, 5)] == [1, 1, 2, 2]


def test_a_setting_that_may_not_be_seen_is_a_fault_too() -> None:
    """Proves: LOG-07 (what can't be checked is not taken for right)."""
    spec = TopicSpec(name="t", partitions=1)
    state = TopicState("t", 0, "id", {0: PartitionState(1, 0, (1,), (1,))})
    faults = list(faults_of(spec, state, {}, 1, BATCH))
    assert {fault.setting for fault in faults} == set(new_topic(spec, 1, BATCH).settings)
    assert all("describe" in fault.remedy for fault in faults)
