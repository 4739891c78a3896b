"""The program as separate processes on three real brokers, killed at random moments, processes and brokers alike."""

import asyncio
import json
import random
import time
from pathlib import Path

import pytest

from interlock.domain.executions.execution.events import ExecutionCompleted
from interlock.log.journal import JournalReader
from interlock.log.kafka.log import KafkaLog
from interlock.log.port import LogError, Record
from interlock.projections.recorded import decode_append
from interlock.runtime.settings import Settings
from interlock.runtime.topics import topics_of
from interlock.schemas.codec import AvroCodec
from tests.support import deliveries, histories
from tests.support.fleet import Fleet, Member
from tests.support.kafka import Brokers

pytestmark = pytest.mark.kafka

SHARDS = {"INTERLOCK_ROUTING_SHARDS": "2", "INTERLOCK_EXECUTIONS_SHARDS": "2", "INTERLOCK_STIMULI_PARTITIONS": "2"}
ROLES = ("routing", "executions", "publishing", "projector", "api")
OUTSTANDING_MIN = 10


class Load:
    """Writes stimuli at a pace, as any client does, and follows which runs have completed."""

    def __init__(self, log: KafkaLog, settings: Settings, chance: random.Random) -> None:
        self.sent = 0
        self.completed: set[str] = set()
        self.moved = asyncio.Event()
        self._log = log
        self._topics = topics_of(settings)
        self._codec = AvroCodec()
        self._chance = chance

    async def write(self, count: int, seconds: float) -> None:
        """So many distinct stimuli over so many seconds, some of them twice; again after a doubt."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while self.sent < count:
            due = min(count, int((loop.time() - began) / seconds * count) + 1)
            if due <= self.sent:
                await asyncio.sleep(seconds / count)
                continue
            batch = [self._stimulus(number) for number in range(self.sent, due)]
            batch += [one for one in batch if self._chance.random() < 0.05]
            shard = self._topics.user("stimuli", self._chance.randrange(2))
            try:
                await self._log.send(shard, batch)
            except LogError:
                await asyncio.sleep(0.1)
                continue
            self.sent = due
            self.moved.set()

    async def follow(self, partition: int) -> None:
        """Reads the journal of a shard of executions for ever."""
        reader = JournalReader(self._log, self._topics.journal("executions", partition))
        while True:
            try:
                appends = await reader.read(1.0)
            except LogError:
                await asyncio.sleep(0.1)
                continue
            for append in appends:
                for one in decode_append(append, self._codec):
                    if isinstance(one.event, ExecutionCompleted):
                        self.completed.add(one.stream)
                        self.moved.set()

    async def until(self, outstanding_min: int) -> None:
        """Waits until so many runs are outstanding; a pace at which so many never are is a mistake of the test."""
        async with asyncio.timeout(60.0):
            while self.sent - len(self.completed) < outstanding_min:
                self.moved.clear()
                await self.moved.wait()

    async def done(self, count: int, timeout_s: float) -> None:
        """Waits until so many have completed."""
        async with asyncio.timeout(timeout_s):
            while len(self.completed) < count:
                self.moved.clear()
                await self.moved.wait()

    def _stimulus(self, number: int) -> Record:
        body = {
            "type": "Event",
            "name": "chore.asked",
            "data": number,
            "idempotencyKey": f"chore-{number}",
            "correlation": f"c{number}",
        }
        return Record(b"any key", json.dumps(body).encode())


async def _kill_some(fleet: Fleet, brokers: Brokers, load: Load, kills: int, broker_kills: int, until_s: float) -> None:
    """Kills processes in turn over the roles, and brokers in between, each while runs are outstanding."""
    chance = random.Random(7)
    order = [ROLES[index % len(ROLES)] for index in range(kills)]
    broker_turns = {round((index + 1) * kills / (broker_kills + 1)) for index in range(broker_kills)}
    began = time.monotonic()
    restarting: list[asyncio.Task[None]] = []
    for index, role in enumerate(order):
        await asyncio.sleep(max(0.0, began + until_s * index / kills - time.monotonic()))
        await load.until(OUTSTANDING_MIN)
        if index in broker_turns:
            await asyncio.to_thread(brokers.wait_in_sync)
            node = chance.choice(list(brokers.nodes))
            await asyncio.to_thread(brokers.kill, node)
            restarting.append(asyncio.create_task(asyncio.to_thread(brokers.restart, node)))
        member: Member = chance.choice(fleet.of(role))
        await member.kill()
        await member.start()
    await asyncio.gather(*restarting)


async def _killed(
    folder: Path, brokers: Brokers, *, stimuli: int, kills: int, broker_kills: int, seconds: float
) -> None:
    settings = Settings(routing_shards=2, executions_shards=2, stimuli_partitions=2)
    url = f"kafka://{brokers.bootstrap}"
    fleet = Fleet(url, folder, app="tests.support.chores", settings=SHARDS | {"INTERLOCK_SESSION_TIMEOUT_MS": "3000"})
    code, output = await fleet.run("topics", "create")
    assert code == 0, output
    for role in ("publishing", "routing", "executions", "routing", "executions", "projector", "api"):
        fleet.add(role)
    await fleet.start()
    code, output = await fleet.run("publish", "tests.support.chores:chores")
    assert code == 0, output
    log = KafkaLog(url)
    load = Load(log, settings, random.Random(11))
    following = [asyncio.create_task(load.follow(partition)) for partition in range(2)]
    try:
        await asyncio.gather(
            load.write(stimuli, seconds), _kill_some(fleet, brokers, load, kills, broker_kills, seconds)
        )
        await load.done(stimuli, 120.0)
        found = await histories.read(log, topics_of(settings), AvroCodec())
        histories.check_revisions(found)
        histories.check_starts(found)
        histories.check_each_by_its_authority(found, "chore.asked")
        arrived = await deliveries.read(log, topics_of(settings), found)
        deliveries.check_promises(arrived)
        deliveries.check_marks(arrived)
        deliveries.check_answers(arrived)
        assert len(histories.started(found)) == stimuli
        assert set(histories.outcomes(found).values()) == {"ExecutionCompleted"}
        assert len(histories.outcomes(found)) == stimuli
        killed = {role: sum(one.kills for one in fleet.of(role)) for role in ROLES}
        assert min(killed.values()) >= kills // len(ROLES), killed
    finally:
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
        await log.close()
        codes = await fleet.close()
    assert codes == [0] * len(codes)


@pytest.mark.timeout(290)
async def test_a_dozen_kills_lose_and_double_nothing(kafka_cluster: Brokers, tmp_path: Path) -> None:
    """Proves: STM-04, EXE-02, CHK-01, CHK-02, OWN-01, LOG-01."""
    await _killed(tmp_path, kafka_cluster, stimuli=2000, kills=12, broker_kills=1, seconds=40.0)


@pytest.mark.soak
@pytest.mark.timeout(1500)
async def test_fifty_kills_lose_and_double_nothing(kafka_cluster: Brokers, tmp_path: Path) -> None:
    """Proves: STM-04, EXE-02, CHK-01, CHK-02, OWN-01, LOG-01."""
    await _killed(tmp_path, kafka_cluster, stimuli=2000, kills=50, broker_kills=3, seconds=400.0)
