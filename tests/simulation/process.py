"""One process of a simulated run: an engine of the production composition, its connection, its clock, its memory.

It dies at once, at any step: every task that its code ever made is cancelled in one go, and what they still try in
their `finally` reaches nothing. What it had sent may land all the same, later.

What would surprise: a process that is paused makes no step at all, but what it had sent lands, answers reach it, and
its timers go off; so it wakes up with all that it believed, and finds out one after the other.
"""

import asyncio
import random
from collections.abc import Coroutine, Mapping, Sequence
from contextvars import copy_context
from pathlib import Path
from typing import Protocol, TypeVar

from interlock.log.group import MemoryPositions, Positions, ReadingGroup
from interlock.log.memory import FixedAssignment, MemoryBroker, MemoryLog
from interlock.log.port import Extent, LogError, Reader, Record, Shard, Stored, Unavailable
from interlock.processors.ports import Bounds, Codec
from interlock.projections.files import ViewHeld
from interlock.projections.store import StoreAway
from interlock.runtime.backend import Backend
from interlock.runtime.engine import Engine, Parts, Unfit
from interlock.runtime.roles import Role
from interlock.runtime.settings import Settings
from interlock.testing.virtual_time import LoopClock
from tests.simulation.chores import Chores
from tests.simulation.disks import SnapshotsOnDisk
from tests.simulation.sky import Sky
from tests.simulation.trace import IN_PROCESS, Trace

T = TypeVar("T")

RETRY_S = 1.0
"""How long a process that could not start waits until its supervisor starts it again."""


class Surroundings(Protocol):
    """What a process finds in its world."""

    @property
    def seed(self) -> int:
        """The run's."""
        ...

    @property
    def settings(self) -> Settings:
        """The installation's."""
        ...

    @property
    def broker(self) -> MemoryBroker:
        """Where the log is."""
        ...

    @property
    def sky(self) -> Sky:
        """What happens between process and log."""
        ...

    @property
    def trace(self) -> Trace:
        """Where it says what it does."""
        ...

    @property
    def codec(self) -> Codec:
        """The one codec of the release."""
        ...

    @property
    def positions(self) -> MemoryPositions:
        """The group offsets of the topic of stimuli."""
        ...

    def assigned(self, process: str, topic: str) -> frozenset[int]:
        """The shards of a topic that a process is told to be its own."""
        ...

    def stand(self, process: str, *, still: bool) -> None:
        """Lets a process make no step, or lets it go on."""
        ...

    def tasks_of(self, process: str) -> Sequence["asyncio.Task[object]"]:
        """Every task that its code has made and that has not ended."""
        ...


class Gate:
    """A connection whose process can be stopped and continued, also for those who call from outside of it. Implements
    `Log`, and `Positions` for the ingress."""

    def __init__(self, log: MemoryLog, positions: Positions) -> None:
        self.dead = False
        self.running = asyncio.Event()
        self.running.set()
        self._log = log
        self._positions = positions

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
        """A reader that reads while the process runs."""
        return _GatedReader(self, self._log.reader(shard, offset))

    async def end(self, shard: Shard) -> int:
        """The log's, once the process runs."""
        await self.running.wait()
        return await self._log.end(shard)

    async def extent(self, shard: Shard) -> Extent:
        """The log's, once the process runs."""
        await self.running.wait()
        return await self._log.extent(shard)

    async def load(self, shards: frozenset[Shard]) -> Mapping[Shard, int]:
        """The offsets of those that have one."""
        await self.running.wait()
        return await self._positions.load(shards)

    async def store(self, offsets: Mapping[Shard, int]) -> frozenset[Shard]:
        """Keeps offsets, unless the process is dead."""
        await self.running.wait()
        if self.dead:
            raise Unavailable("expected a process that lives, found it dead")
        return await self._positions.store(offsets)

    async def close(self) -> None:
        """Closes the connection."""
        await self._log.close()


class _GatedReader:
    def __init__(self, gate: Gate, reader: Reader) -> None:
        self._gate = gate
        self._reader = reader

    @property
    def next_offset(self) -> int:
        return self._reader.next_offset

    async def read(self, wait_s: float) -> Sequence[Stored]:
        await self._gate.running.wait()
        records = await self._reader.read(wait_s)
        await self._gate.running.wait()
        return records

    async def close(self) -> None:
        await self._reader.close()


class Process:
    """A process by name, through all its lives."""

    def __init__(self, world: Surroundings, name: str, roles: Sequence[Role], data: Path, *, versions: int) -> None:
        self.name = name
        self.roles = tuple(roles)
        self.data = data
        self.versions = versions
        """Its release has the code of the versions below this."""
        self.is_up = asyncio.Event()
        """Set while its engine runs: from the end of its start to its stop or death."""
        self.trouble = asyncio.Lock()
        """Held by whatever goes wrong with it now: one thing at a time."""
        self.snapshots = SnapshotsOnDisk(name, world.sky)
        """What it keeps of what it folded, through its lives."""
        self.engines: list[Engine] = []
        """Its engine and, for a while, the twin of it."""
        self.clock = LoopClock(asyncio.get_running_loop())
        self._world = world
        self._lives = 0
        self._pauses = 0
        """Reasons why it stands still now."""
        self._life: _Life | None = None

    @property
    def up(self) -> bool:
        """Whether its engine was started and has not ended since."""
        return self.is_up.is_set()

    # ---- life -----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Starts it, as its supervisor does: again and again, until it runs. Returns early where it is killed."""
        while True:
            starting = self.in_process(self._start())
            await asyncio.wait([starting])
            if starting.cancelled():
                return
            error = starting.exception()
            if error is None:
                self.is_up.set()
                self._world.trace.add(self.name, "is up")
                return
            if not isinstance(error, LogError | Unfit | ViewHeld | StoreAway):
                raise error
            self._world.trace.add(self.name, f"can't start: {error}")
            await self._close_engines()
            await asyncio.sleep(RETRY_S)

    def kill(self) -> None:
        """Ends it in this very step; `bury` has to follow."""
        self._world.trace.add(self.name, "DIES")
        self.is_up.clear()
        if self._life is not None:
            self._life.gate.dead = True
            self._life.gate.running.set()
        for engine in self.engines:
            engine.ending = True
        for task in self._world.tasks_of(self.name):
            task.cancel()

    async def bury(self) -> None:
        """Waits until nothing of it is left, as an operating system would see to."""
        if self._life is not None:
            await self._life.memory.close()
        tasks = self._world.tasks_of(self.name)
        if tasks:
            await asyncio.wait(tasks)
        await self._close_engines()

    async def stop(self) -> None:
        """Ends it in order."""
        self._world.trace.add(self.name, "is stopped")
        self.is_up.clear()
        closing = self.in_process(self._close_engines())
        await asyncio.wait([closing])
        if not closing.cancelled():
            closing.result()

    async def pause(self, seconds: float) -> None:
        """Lets it stand still for so long."""
        if self._life is None:
            return
        gate = self._life.gate
        self._stand_still(gate, seconds)
        try:
            await asyncio.sleep(seconds)
        finally:
            # Also where the run ends meanwhile: what waits for it has to end then.
            self._wake_up(gate)

    def stall(self, seconds: float) -> None:
        """Lets it stand still for so long once the step that it makes has ended, as one that waits for its disk."""
        if self._life is not None:
            gate = self._life.gate
            self._stand_still(gate, seconds)
            asyncio.get_running_loop().call_later(seconds, self._wake_up, gate)

    def assign(self, topic: str, shards: frozenset[int]) -> None:
        """Tells it which shards of a topic are its own now."""
        for name, assignment in [] if self._life is None else self._life.assignments:
            if name == topic and assignment.current() != shards:
                assignment.assign(shards)

    async def twin(self, seconds: float) -> None:
        """Lets a second engine run beside the first for so long, over the same connection."""
        life = self._life
        if not self.up or life is None:
            return
        self._world.trace.add(self.name, "has two engines")
        engine = self._engine(life, ends_connection=False)
        self.engines.append(engine)
        try:
            starting = self.in_process(engine.start())
            await asyncio.wait([starting])
            if not starting.cancelled():
                error = starting.exception()
                if error is not None and not isinstance(error, LogError | Unfit):
                    raise error
                await asyncio.sleep(seconds)
        finally:
            if self._life is life and engine in self.engines:
                self.engines.remove(engine)
                await asyncio.wait([self.in_process(engine.close())])
                self._world.trace.add(self.name, "has one engine")

    def in_process(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Runs it as the process's own code, which dies with it."""
        context = copy_context()
        context.run(IN_PROCESS.set, self.name)
        return asyncio.get_running_loop().create_task(work, context=context)

    # ---- within ---------------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        self._lives += 1
        chance = random.Random(f"{self._world.seed} {self.name} {self._lives}")
        memory = MemoryLog(
            self._world.broker,
            faults=self._world.sky.over(self.name, chance),
            now_ms=self.clock.now_ms,
            read_records_max=chance.choices((1, 7, 10_000), (1, 3, 8))[0],
            send_s=5.0,
        )
        self._life = _Life(chance, memory, Gate(memory, self._world.positions))
        engine = self._engine(self._life, ends_connection=True)
        self.engines.append(engine)
        await engine.start()

    def _stand_still(self, gate: Gate, seconds: float) -> None:
        self._world.trace.add(self.name, f"stands still for {seconds:g} s")
        self._pauses += 1
        gate.running.clear()
        self._world.stand(self.name, still=True)

    def _wake_up(self, gate: Gate) -> None:
        self._pauses -= 1
        if not self._pauses:
            self._world.stand(self.name, still=False)
            gate.running.set()
            self._world.trace.add(self.name, "wakes up")

    def _engine(self, life: "_Life", *, ends_connection: bool) -> Engine:
        world = self._world
        backend = Backend(
            log=life.gate,
            admin=life.memory,
            assign=lambda topic, _: life.assign(topic, world.assigned(self.name, topic)),
            stimuli=lambda topic, _: ReadingGroup(
                life.gate,
                {topic: life.assign(topic, world.assigned(self.name, topic))},
                life.gate,
            ),
            close=life.gate.close if ends_connection else _nothing,
            makes_topics=False,
        )
        parts = Parts(
            backend=backend,
            codec=world.codec,
            clock=self.clock,
            ids=life.new_id,
            invoker=Chores(world.seed, lambda: self.versions),
            chance=life.chance,
            bounds=Bounds(
                read_wait_s=life.chance.choice((0.5, 2.0, 5.0)),
                unit_messages_max=life.chance.choice((1, 3, 512, 512)),
                snapshot_records=life.chance.choice((1, 10, 100)),
                look_s=2.0,
            ),
            snapshots=self.snapshots,
        )
        return Engine(world.settings.model_copy(update={"data": self.data}), self.roles, parts)

    async def _close_engines(self) -> None:
        engines, self.engines = self.engines, []
        for engine in reversed(engines):
            await engine.close()


class _Life:
    """What a process has between a start and its end."""

    def __init__(self, chance: random.Random, memory: MemoryLog, gate: Gate) -> None:
        self.chance = chance
        self.memory = memory
        self.gate = gate
        self.assignments: list[tuple[str, FixedAssignment]] = []

    def new_id(self) -> str:
        """An id from the life's own chance."""
        return f"{self.chance.getrandbits(128):032x}"

    def assign(self, topic: str, shards: frozenset[int]) -> FixedAssignment:
        """Joins those that share a topic."""
        assignment = FixedAssignment(shards)
        self.assignments.append((topic, assignment))
        return assignment


async def _nothing() -> None:
    """A twin ends without ending the connection that it shares."""
