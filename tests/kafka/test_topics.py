"""Topics: what `create` makes passes `check`, and `check` finds each way in which a topic could lose or mislead."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from interlock.log.kafka import KafkaLog
from interlock.log.kafka_topics import faults_of, in_sync, new_topic, replication
from interlock.log.kafka_wire import PartitionState, TopicState
from interlock.log.port import TopicSpec
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
    [fault] = await log.check([TopicSpec(name=name, partitions=1)])
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
    faults = await log.check([good, thin, weak])
    assert [(fault.topic, fault.setting) for fault in faults] == [
        (thin.name, "replication"),
        (weak.name, "min.insync.replicas"),
    ]
    assert abs(await log.clock_skew_s()) < 1.0
    await asyncio.to_thread(kafka_cluster.wait_in_sync)


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
