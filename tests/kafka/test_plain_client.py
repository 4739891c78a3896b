"""A journal on a real broker as a plain Kafka client sees it."""

import random

import pytest

from examples.plain_client import counted, read
from interlock.log.kafka.log import KafkaLog
from interlock.log.port import Shard
from tests.support.appends import read_appends
from tests.support.takeovers import take_turns

pytestmark = pytest.mark.kafka


async def test_a_plain_consumer_tells_the_appends_that_count_as_the_engine_does(
    kafka_bootstrap: str, log: KafkaLog, shard: Shard
) -> None:
    """Proves: LOG-03"""
    assert await take_turns(log, shard, random.Random(1), appends=60) > 10
    records = await read(kafka_bootstrap, shard.topic, shard.partition)
    appends = await read_appends(log, shard)
    expected = [(one.base, [entry.value for entry in one.entries]) for one in appends]
    for last in (b"0" * 32, None):
        found = [(append[0].offset, [one.value for one in append[1:]]) for append in counted(records, last)]
        assert found == expected
