"""What is told of a topic that brokers don't know; no broker is needed."""

import asyncio

import pytest

from interlock.log.kafka import cluster as module
from interlock.log.kafka.cluster import UNKNOWN_TOPIC, Cluster
from interlock.log.kafka.settings import KafkaSettings
from interlock.log.kafka.wire_cluster import ClusterState, TopicState
from interlock.log.port import NoSuchShard


async def test_all_who_wait_for_the_same_answer_are_told_that_there_is_no_such_topic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first one gives up and forgets the topic; the others look behind it. A broker that is slow to learn of new
    topics made a shard stand still by that, and not only wait."""
    monkeypatch.setattr(module, "UNKNOWN_TOPIC_S", -1.0)
    cluster = Cluster(KafkaSettings(bootstrap=("none:1",)))

    async def none_there(*_: object, **__: object) -> ClusterState:
        return ClusterState({}, [TopicState("orders", UNKNOWN_TOPIC, "", {})])

    monkeypatch.setattr(cluster, "ask_any", none_there)
    told = await asyncio.gather(*(cluster.topic("orders") for _ in range(5)), return_exceptions=True)
    await cluster.close()
    assert [type(each) for each in told] == [NoSuchShard] * 5
