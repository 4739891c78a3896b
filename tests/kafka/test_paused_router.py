"""A router process that sleeps through a republish and wakes up after "active" was answered decides nothing by the
publication that was retired. On both logs, with the program as separate processes."""

import asyncio
import json
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.log.kafka.log import KafkaLog
from interlock.log.port import Record
from interlock.log.sqlite.log import SqliteLog
from interlock.processors.ports import Topics
from interlock.runtime.settings import Settings
from interlock.runtime.topics import topics_of
from interlock.schemas.codec import AvroCodec
from tests.support import histories
from tests.support.fleet import Fleet
from tests.support.histories import Histories

ENVIRONMENT = {
    "INTERLOCK_ROUTING_SHARDS": "2",
    "INTERLOCK_EXECUTIONS_SHARDS": "2",
    "INTERLOCK_STIMULI_PARTITIONS": "2",
    "INTERLOCK_SESSION_TIMEOUT_MS": "2000",
}


def _settings(url: str) -> Settings:
    return Settings(log=url, routing_shards=2, executions_shards=2, stimuli_partitions=2)


async def _feed(log: SqliteLog | KafkaLog, topics: Topics, going: Callable[[], bool], sent: list[int]) -> None:
    """Writes stimuli one after the other for as long as it should."""
    while going():
        number = len(sent)
        body = {"type": "Event", "name": "chore.asked", "data": number, "idempotencyKey": str(number)}
        body["correlation"] = f"c{number}"
        await log.send(topics.user("stimuli", number % 2), [Record(b"", json.dumps(body).encode())])
        sent.append(number)
        await asyncio.sleep(0.02)


async def _sleep_through(url: str, log: SqliteLog | KafkaLog, folder: Path) -> None:
    topics = topics_of(_settings(url))
    fleet = Fleet(url, folder, app="tests.support.chores", settings=ENVIRONMENT)
    code, output = await fleet.run("topics", "create")
    assert code == 0, output
    sleeper = fleet.add("routing")
    for role in ("publishing", "executions", "projector", "api"):
        fleet.add(role)
    await fleet.start()
    code, output = await fleet.run("publish", "tests.support.chores:chores")
    assert code == 0, output
    feeding, sent = True, list[int]()
    feeder = asyncio.create_task(_feed(log, topics, lambda: feeding, sent))
    try:
        # It owns every routing shard and is in the middle of work when it stops; the other one takes over.
        sleeper.send(signal.SIGSTOP)
        other = fleet.add("routing")
        await other.start()
        code, output = await fleet.run("publish", "tests.support.chores:chores_v2", "--json")
        assert code == 0, output
        answered_ms = time.time_ns() // 1_000_000
        publication = str(json.loads(output)["publicationId"])
        sleeper.send(signal.SIGCONT)
        goal = len(sent) + 50
        # The two go on side by side for a while.
        await _until(lambda: len(sent) >= goal)
        feeding = False
        await feeder
        found = await _until_all_ended(log, topics, len(sent))
        histories.check_revisions(found)
        histories.check_starts(found)
        histories.check_each_by_its_authority(found, "chore.asked")
        histories.check_after_active(found, answered_ms, publication)
    finally:
        feeding = False
        await feeder
        codes = await fleet.close()
    assert codes == [0] * len(codes)


async def _until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(60.0):
        while not done():  # noqa: ASYNC110 - what is awaited is another process's doing
            await asyncio.sleep(0.05)


async def _until_all_ended(log: SqliteLog | KafkaLog, topics: Topics, count: int) -> Histories:
    """Reads the journals again and again until so many runs have ended."""
    async with asyncio.timeout(60.0):
        while True:
            found = await histories.read(log, topics, AvroCodec())
            if len(histories.outcomes(found)) >= count:
                return found
            await asyncio.sleep(0.5)


@pytest.mark.acceptance
@pytest.mark.timeout(150)
async def test_on_the_embedded_log(tmp_path: Path) -> None:
    """Proves: PRJ-04, PUB-16, OWN-01."""
    path = tmp_path / "log.sqlite"
    log = SqliteLog(path)
    try:
        await _sleep_through(f"sqlite:///{path}", log, tmp_path)
    finally:
        await log.close()


@pytest.mark.kafka
@pytest.mark.timeout(150)
async def test_on_kafka(kafka_bootstrap: str, tmp_path: Path) -> None:
    """Proves: PRJ-04, PUB-16, OWN-01."""
    prefix = f"paused{random.randrange(10**9)}"
    url = f"kafka://{kafka_bootstrap}?prefix={prefix}"
    log = KafkaLog(url)
    try:
        await _sleep_through(url, log, tmp_path)
    finally:
        await log.close()
