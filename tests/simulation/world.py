"""The whole engine on a memory log and virtual time, with faults from a seed.

Several processes, each an `Engine` of the production composition with a connection of its own to one broker. The world
crashes, pauses and restarts them, moves shards between them (also so that two believe they own one), and lets the log
lose and delay acknowledgements. Afterwards the journals are judged (`tests/support/histories.py`).
"""

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path

from interlock.domain.executions.execution.decide import Invocation
from interlock.log.faults import AskOutcome, FaultRates, RandomFaults, SendOutcome
from interlock.log.group import MemoryPositions, ReadingGroup
from interlock.log.memory import FixedAssignment, MemoryBroker, MemoryLog
from interlock.log.port import Extent, LogError, Reader, Record, Shard, Stored
from interlock.processors.ports import Bounds
from interlock.runtime.backend import Backend
from interlock.runtime.engine import Engine, Parts
from interlock.runtime.roles import Role
from interlock.runtime.settings import Settings
from interlock.runtime.topics import topic_specs, topics_of
from interlock.schemas.codec import AvroCodec
from interlock.testing.virtual_time import LoopClock

STORMY = FaultRates(
    acknowledged_late=0.01,
    acknowledgement_lost=0.01,
    lands_late=0.01,
    never_lands=0.01,
    lands_twice=0.01,
    refused=0.003,
    ask_late=0.01,
    unavailable=0.01,
    latency_s=(0.0, 0.01),
    delay_s=(0.01, 4.0),
)
CALM = FaultRates(latency_s=(0.0, 0.01))
WORKERS: tuple[Role, ...] = ("publishing", "routing", "executions")
PROCESSES = 3


class Weather:
    """Faults of one process's connection; calm once the world says so."""

    def __init__(self, chance: random.Random, world: "World") -> None:
        self._stormy = RandomFaults(chance, STORMY)
        self._calm = RandomFaults(chance, CALM)
        self._world = world

    def on_send(self, shard: Shard, batch: Sequence[Record]) -> SendOutcome:
        """By the weather."""
        return (self._calm if self._world.calm else self._stormy).on_send(shard, batch)

    def on_ask(self, shard: Shard) -> AskOutcome:
        """By the weather."""
        return (self._calm if self._world.calm else self._stormy).on_ask(shard)


class PausableLog:
    """A connection whose process can be stopped and continued: whatever it was about to do happens late."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log
        self.running = asyncio.Event()
        self.running.set()

    @property
    def batch_bytes_max(self) -> int:
        """As the log's."""
        return self._log.batch_bytes_max

    async def send(self, shard: Shard, batch: Sequence[Record]) -> int:
        """Sends once the process runs, and hears of it once it runs."""
        await self.running.wait()
        try:
            return await self._log.send(shard, batch)
        finally:
            await self.running.wait()

    def reader(self, shard: Shard, offset: int) -> Reader:
        """A reader that stands still with its process."""
        return _PausableReader(self, self._log.reader(shard, offset))

    async def end(self, shard: Shard) -> Extent:
        """As the log's, once the process runs."""
        await self.running.wait()
        return await self._log.end(shard)

    async def close(self) -> None:
        """Closes the connection."""
        await self._log.close()


class _PausableReader:
    def __init__(self, log: PausableLog, reader: Reader) -> None:
        self._log = log
        self._reader = reader

    async def read(self, wait_s: float) -> Sequence[Stored]:
        await self._log.running.wait()
        records = await self._reader.read(wait_s)
        await self._log.running.wait()
        return records

    async def close(self) -> None:
        await self._reader.close()


class Chores:
    """Activities that take some virtual time and sometimes raise."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def serves(self, activity: str) -> bool:
        """All of them."""
        return True

    async def invoke(self, invocation: Invocation) -> str:
        """Gives back who asked."""
        if self._chance.random() < 0.7:
            await asyncio.sleep(self._chance.expovariate(2.0))
        return json.dumps({"by": invocation.activity, "attempt": invocation.attempt})


class Process:
    """One process of the world: its connection, its engine, and the shards that it is told to own."""

    def __init__(self, world: "World", name: str, roles: Sequence[Role], data: Path) -> None:
        self.name = name
        self.world = world
        self.roles = roles
        self.data = data
        self.assignments: dict[str, FixedAssignment] = {}
        self.log: PausableLog | None = None
        self.engine: Engine | None = None

    async def start(self) -> None:
        """Starts it with what the world assigns to it now; tries again while the log is away."""
        world = self.world
        while True:
            clock = LoopClock(asyncio.get_running_loop(), offset_ms=world.chance.randint(-500, 500))
            memory = MemoryLog(world.broker, faults=Weather(world.chance, world), now_ms=clock.now_ms, send_s=5.0)
            self.log = PausableLog(memory)
            self.assignments = {}
            backend = Backend(
                log=self.log,
                admin=memory,
                assign=self._assign,
                stimuli=self._stimuli,
                close=self.log.close,
                makes_topics=False,
            )
            parts = Parts(
                backend=backend,
                codec=world.codec,
                clock=clock,
                ids=world.new_id,
                invoker=Chores(world.chance),
                chance=world.chance,
                bounds=Bounds(read_wait_s=1.0, unit_messages_max=world.chance.choice((1, 3, 512))),
            )
            self.engine = Engine(world.settings.model_copy(update={"data": self.data}), self.roles, parts)
            try:
                await self.engine.start()
            except LogError:
                await self.engine.close()
                await asyncio.sleep(1.0)
            else:
                return

    async def crash(self) -> None:
        """Nothing that it does is heard any more; what it had sent may still land."""
        assert self.log is not None
        assert self.engine is not None
        await self.log.close()
        self.log.running.set()
        await self.engine.close()

    async def restart(self) -> None:
        """Crashes it and starts it again a little later."""
        await self.crash()
        await asyncio.sleep(self.world.chance.expovariate(0.5))
        await self.start()
        self.world.place()

    async def pause(self, seconds: float) -> None:
        """Stops it for so long; it wakes up with all that it believed."""
        assert self.log is not None
        log = self.log
        log.running.clear()
        await asyncio.sleep(seconds)
        log.running.set()

    def _assign(self, topic: str, partitions: int) -> FixedAssignment:
        assignment = FixedAssignment(frozenset())
        self.assignments[topic] = assignment
        self.world.partitions[topic] = partitions
        return assignment

    def _stimuli(self, topic: str, partitions: int) -> ReadingGroup:
        assert self.log is not None
        return ReadingGroup(self.log, {topic: self._assign(topic, partitions)}, self.world.positions)


class World:
    """The broker, the processes, and what happens to them."""

    def __init__(self, seed: int, data: Path, *, checkpoints: str = "immediate") -> None:
        self.chance = random.Random(seed)
        self.clock = LoopClock(asyncio.get_running_loop())
        self.broker = MemoryBroker(self.clock.now_ms)
        self.codec = AvroCodec()
        self.positions = MemoryPositions()
        self.partitions: dict[str, int] = {}
        self.settings = Settings(
            log="memory:",
            checkpoints="coalesced" if checkpoints == "coalesced" else "immediate",
            routing_shards=2,
            executions_shards=2,
            stimuli_partitions=2,
        )
        self.topics = topics_of(self.settings)
        self.calm = False
        for spec in topic_specs(self.settings):
            self.broker.create(spec)
        self.processes = [Process(self, f"p{i}", WORKERS, data / f"p{i}") for i in range(PROCESSES)]
        self.holder = Process(self, "holder", ("projector",), data / "holder")
        self.quiet = MemoryLog(self.broker)
        """A connection without faults, for the world's own eyes."""

    def new_id(self) -> str:
        """An id from the seed."""
        return f"{self.chance.getrandbits(128):032x}"

    async def start(self) -> None:
        """Starts every process and places every shard."""
        await asyncio.gather(*(process.start() for process in (*self.processes, self.holder)))
        self.place()

    def place(self, *, overlap: bool = False) -> None:
        """Gives each shard to one process by chance; with `overlap`, now and then to a second one too."""
        for topic, partitions in self.partitions.items():
            held: dict[str, set[int]] = {process.name: set() for process in self.processes}
            for partition in range(partitions):
                owners = 2 if overlap and self.chance.random() < 0.4 else 1
                for process in self.chance.sample(self.processes, owners):
                    held[process.name].add(partition)
            for process in self.processes:
                if topic in process.assignments:
                    process.assignments[topic].assign(frozenset(held[process.name]))

    async def storm(self, seconds: float) -> None:
        """Crashes, pauses and moves for so long."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        troubles: list[asyncio.Task[None]] = []
        busy: set[str] = set()

        async def trouble(process: Process) -> None:
            busy.add(process.name)
            try:
                if self.chance.random() < 0.5:
                    await process.restart()
                else:
                    await process.pause(self.chance.uniform(0.5, 15.0))
            finally:
                busy.discard(process.name)

        while loop.time() < until:
            await asyncio.sleep(self.chance.expovariate(0.4))
            free = [one for one in (*self.processes, self.holder) if one.name not in busy]
            if free and self.chance.random() < 0.6:
                troubles.append(asyncio.create_task(trouble(self.chance.choice(free))))
            else:
                self.place(overlap=True)
        await asyncio.gather(*troubles)
        self.calm = True
        self.place()

    async def close(self) -> None:
        """Ends every process in order."""
        await asyncio.gather(*(one.engine.close() for one in (*self.processes, self.holder) if one.engine is not None))
        await self.quiet.close()
