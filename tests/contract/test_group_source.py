"""The source of an ingress: shared out between processes, at least once, from positions that the log keeps."""

import asyncio
from collections.abc import Callable

import pytest

from interlock.log.group import MemoryPositions, ReadingGroup
from interlock.log.kafka.log import KafkaLog
from interlock.log.memory import FixedAssignment
from interlock.log.port import Assignment, Log, Record, Shard
from interlock.log.sqlite.log import SqliteLog
from interlock.log.sqlite.positions import SqlitePositions
from tests.contract.backends import Backend

pytestmark = [pytest.mark.contract]

HANG_S = 30.0
PARTITIONS = 3

OpenSource = Callable[[str], tuple[Log, ReadingGroup]]


@pytest.fixture
def open_source(backend: Backend) -> OpenSource:
    """Opens a log and a source on it that reads one topic, as another process would."""
    kept_in_memory = MemoryPositions()

    def opened(topic: str) -> tuple[Log, ReadingGroup]:
        log = backend.open().log
        if isinstance(log, KafkaLog):
            return log, log.group_source([topic], "ingress")
        if isinstance(log, SqliteLog):
            assignment: Assignment = log.assignment(topic)
            return log, ReadingGroup(log, {topic: assignment}, SqlitePositions(log.path, "ingress"))
        return log, ReadingGroup(log, {topic: FixedAssignment(frozenset(range(PARTITIONS)))}, kept_in_memory)

    return opened


async def send(log: Log, topic: str, partition: int, *values: str) -> None:
    await log.send(Shard(topic, partition), [Record(b"", value.encode()) for value in values])


async def poll(source: ReadingGroup, count: int) -> dict[int, list[str]]:
    """Polls until so many records have come: their values by partition."""
    found: dict[int, list[str]] = {}
    async with asyncio.timeout(HANG_S):
        while sum(map(len, found.values())) < count:
            for shard, records in await source.poll(HANG_S):
                found.setdefault(shard.partition, []).extend(record.value.decode() for record in records)
    return found


async def test_what_was_not_committed_is_polled_again_by_who_comes_next(
    backend: Backend, open_source: OpenSource
) -> None:
    """Proves: LOG-02, LOG-03"""
    topic = await backend.topic(PARTITIONS)
    log, source = open_source(topic)
    for partition in range(PARTITIONS):
        await send(log, topic, partition, "a", "b", "c")
    assert await poll(source, 9) == {partition: ["a", "b", "c"] for partition in range(PARTITIONS)}
    kept = {Shard(topic, 0): 3, Shard(topic, 1): 1}
    assert await source.commit(kept) == kept.keys()
    await source.close()
    _, after = open_source(topic)
    assert await poll(after, 5) == {1: ["b", "c"], 2: ["a", "b", "c"]}
    kept = {Shard(topic, partition): 3 for partition in range(PARTITIONS)}
    assert await after.commit(kept) == kept.keys()
    await after.close()
    _, last = open_source(topic)
    await send(log, topic, 2, "d")
    assert await poll(last, 1) == {2: ["d"]}
    await last.close()


async def test_a_record_ends_a_poll_that_waits(backend: Backend, open_source: OpenSource) -> None:
    topic = await backend.topic(PARTITIONS)
    log, source = open_source(topic)
    async with asyncio.timeout(HANG_S):
        while not source.shards:
            assert await source.poll(0.05) == []
        polling = asyncio.create_task(source.poll(HANG_S * 2))
        await asyncio.sleep(0)
        await send(log, topic, 1, "now")
        [(shard, records)] = await polling
    assert (shard, [record.value for record in records]) == (Shard(topic, 1), [b"now"])
    assert await source.poll(0) == []
    await source.close()


async def test_a_poll_that_is_cancelled_loses_nothing(backend: Backend, open_source: OpenSource) -> None:
    topic = await backend.topic(PARTITIONS)
    log, source = open_source(topic)
    found: list[str] = []
    async with asyncio.timeout(HANG_S):
        for number in range(5):
            polling = asyncio.create_task(source.poll(HANG_S))
            await asyncio.sleep(0)
            await send(log, topic, number % PARTITIONS, str(number))
            polling.cancel()
            [polled] = await asyncio.gather(polling, return_exceptions=True)
            if not isinstance(polled, BaseException):  # it was faster
                found.extend(record.value.decode() for _, records in polled for record in records)
        while len(found) < 5:
            found.extend(record.value.decode() for _, records in await source.poll(1.0) for record in records)
    assert sorted(found) == ["0", "1", "2", "3", "4"]
    await source.close()


@pytest.mark.backends("sqlite", "kafka")
async def test_who_lost_a_shard_can_not_commit_it(backend: Backend, open_source: OpenSource) -> None:
    """Two share the topic: each polls its part only, and neither moves the position of the other's."""
    topic = await backend.topic(PARTITIONS)
    log, first = open_source(topic)
    for partition in range(PARTITIONS):
        await send(log, topic, partition, "a")
    await poll(first, PARTITIONS)
    _, second = open_source(topic)
    async with asyncio.timeout(HANG_S):
        while not (first.shards and second.shards) or first.shards & second.shards:
            await asyncio.gather(first.poll(0.05), second.poll(0.05))
    everything = {Shard(topic, partition): 1 for partition in range(PARTITIONS)}
    assert await first.commit(everything) == first.shards
    assert await second.commit(everything) == second.shards
    assert first.shards | second.shards == everything.keys()
    await first.close()
    await second.close()
