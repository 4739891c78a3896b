"""The broker, the processes on it, and which of them should own what.

Several processes, each an `Engine` of the production composition with a connection of its own to one broker in memory.
Three own shards, one holds the views and answers callers.

What would surprise: who should own a shard is the world's to say, and it may say it to two, or to one that is dead. A
crash is noticed late, as by a group's session timeout.
"""

import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import Coroutine, Sequence
from contextvars import Context
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from interlock.log.group import MemoryPositions
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Shard
from interlock.runtime.engine import Engine
from interlock.runtime.roles import Role
from interlock.runtime.settings import Settings
from interlock.runtime.topics import topic_specs, topics_of
from interlock.schemas.codec import AvroCodec
from interlock.testing.virtual_time import LoopClock, SeededLoop
from tests.simulation.checks import Shift
from tests.simulation.items import CLIENT, HOLDER, SHARDS, WORKERS
from tests.simulation.plan import Plan
from tests.simulation.process import Process
from tests.simulation.sky import Sky
from tests.simulation.trace import IN_PROCESS, Trace

ROLES_OF_WORKERS: Final[tuple[Role, ...]] = ("publishing", "routing", "executions")
ROLES_OF_HOLDER: Final[tuple[Role, ...]] = ("projector", "reconciler", "api")
RECONCILE_S: Final = 25.0
"""Often enough for a few passes in each run, of the view and of what each owner of routing decides by."""
REFERENCE_S: Final = 20
"""Short enough for references of test runs to expire while users still name them."""
ALL_VERSIONS: Final = 1_000_000
"""More versions than any plan has."""


@cache
def _codec() -> AvroCodec:
    """One for all runs of an interpreter, since it has no state and takes a while to make."""
    return AvroCodec()


class World:
    """Everything that one run happens in."""

    def __init__(self, plan: Plan, data: Path) -> None:
        loop = asyncio.get_running_loop()
        self.seed = plan.seed
        self.clock = LoopClock(loop)
        """True time, and the log's."""
        self.settings = Settings(
            log="memory:",
            checkpoints=plan.cadence,
            routing_shards=SHARDS,
            executions_shards=SHARDS,
            stimuli_partitions=SHARDS,
            reconcile_s=RECONCILE_S,
            test_reference_s=REFERENCE_S,
        )
        self.topics = topics_of(self.settings)
        self.codec = _codec()
        self.positions = MemoryPositions()
        self.broker = MemoryBroker(self.clock.now_ms)
        for spec in topic_specs(self.settings):
            self.broker.create(spec)
        self.trace = Trace(hide=str(data))
        self.faults: Counter[str] = Counter()
        """Faults that came true, by kind."""
        self.sky = Sky(self.topics, self.trace, self.faults)
        self.quiet = MemoryLog(self.broker)
        """A connection without faults, for the eyes of the simulation."""
        self.shared = MemoryLog(
            self.broker, faults=self.sky.over(CLIENT, random.Random(f"{plan.seed} {CLIENT}")), send_s=5.0
        )
        """The connection of clients of the log."""
        self.workers = [Process(self, name, ROLES_OF_WORKERS, data / name, versions=ALL_VERSIONS) for name in WORKERS]
        self.holder = Process(self, HOLDER, ROLES_OF_HOLDER, data / HOLDER, versions=ALL_VERSIONS)
        self.processes = {process.name: process for process in (*self.workers, self.holder)}
        self.owners: dict[tuple[str, int], tuple[str, ...]] = {}
        """Topic and shard → the processes that are told that it is theirs."""
        self.shifts: list[Shift] = []
        """How each process's clock was off, in the order in which it came to that."""
        self.tampered: set[str] = set()
        """Publications with rows in the trigger index that somebody has changed by hand."""
        self._standing: dict[str, None] = {}
        self._tasks: dict[str, dict[asyncio.Task[Any], None]] = {name: {} for name in self.processes}
        loop.set_task_factory(cast("Any", self._new_task))
        self.deal(random.Random(f"{plan.seed} first owners"))

    # ---- life -----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Starts every process."""
        await asyncio.gather(*(process.start() for process in self.processes.values()))

    async def close(self) -> None:
        """Ends every process in order."""
        await asyncio.gather(*(process.stop() for process in self.processes.values()))
        await self.shared.close()
        await self.quiet.close()

    def engines(self) -> Sequence[Engine]:
        """Those that run, by the names of their processes."""
        return [engine for process in self.processes.values() if process.up for engine in process.engines]

    def views(self) -> Path | None:
        """Where the views are, while somebody holds them."""
        return self.holder.data / "views" if self.holder.up else None

    def digest(self) -> str:
        """The same for two runs exactly if they have left the same records, bytes and times included."""
        found = hashlib.sha256()
        for spec in topic_specs(self.settings):
            for partition in range(spec.partitions):
                for stored in self.broker.partition(Shard(spec.name, partition)).records:
                    found.update(repr(stored).encode())
        return found.hexdigest()[:16]

    # ---- clocks ---------------------------------------------------------------------------------------------------

    def shift(self, process: Process, offset_ms: int) -> None:
        """A process's clock is off by so much from now on."""
        process.clock.offset_ms = offset_ms
        self.shifts.append(Shift(process.name, self.clock.now_ms(), offset_ms))

    def pass_by(self) -> None:
        """So much time passes at once that what a clock was ahead for is reached, for all machines alike."""
        ahead_ms = max((shift.offset_ms for shift in self.shifts), default=0)
        self.trace.add("plan", f"{ahead_ms} ms pass by at once")
        for clock in (self.clock, *(process.clock for process in self.processes.values())):
            clock.offset_ms = ahead_ms

    # ---- who should own what --------------------------------------------------------------------------------------

    def deal(self, chance: random.Random) -> None:
        """Gives each shard to one of the processes that are up; to any where none is."""
        up = [worker.name for worker in self.workers if worker.up] or list(WORKERS)
        for shard in self._shards():
            self.owners[shard] = (chance.choice(up),)
        self.tell()

    def replace(self, process: str, chance: random.Random) -> None:
        """Gives the shards of a process to others."""
        others = [worker.name for worker in self.workers if worker.up and worker.name != process]
        for shard, told in self.owners.items():
            if process in told and others:
                self.owners[shard] = (chance.choice(others),)
        self.tell()

    def settle(self) -> None:
        """Gives each shard to one process, in turns."""
        for index, shard in enumerate(self.owners):
            self.owners[shard] = (WORKERS[index % len(WORKERS)],)
        self.tell()

    def tell(self) -> None:
        """Tells every process what is its own now."""
        for worker in self.workers:
            for topic in {topic: None for topic, _ in self.owners}:
                worker.assign(topic, self.assigned(worker.name, topic))

    def assigned(self, process: str, topic: str) -> frozenset[int]:
        """The shards of a topic that a process is told to be its own."""
        return frozenset(shard for (name, shard), told in self.owners.items() if name == topic and process in told)

    def _shards(self) -> list[tuple[str, int]]:
        journals = [
            (self.topics.journal(context, shard).topic, shard)
            for context, shards in self.topics.partitions.items()
            for shard in range(shards)
        ]
        stimuli = self.topics.user("stimuli").topic
        return [*journals, *((stimuli, shard) for shard in range(self.settings.stimuli_partitions))]

    def stand(self, process: str, *, still: bool) -> None:
        """Lets a process make no step, or lets it go on."""
        if still:
            self._standing[process] = None
        else:
            self._standing.pop(process, None)
        standing = dict(self._standing)
        loop = cast("SeededLoop", asyncio.get_running_loop())
        loop.stand((lambda context: context.get(IN_PROCESS, "") in standing) if standing else None)

    # ---- whose tasks are whose ------------------------------------------------------------------------------------

    def tasks_of(self, process: str) -> Sequence["asyncio.Task[Any]"]:
        """Every task that a process's code has made and that has not ended, in the order in which they were made."""
        return [task for task in self._tasks[process] if not task.done()]

    def _new_task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], *, context: Context | None = None
    ) -> "asyncio.Task[Any]":
        task = asyncio.Task(coroutine, loop=loop, context=context)
        owner = IN_PROCESS.get() if context is None else context.get(IN_PROCESS, "")
        if owner:
            tasks = self._tasks[owner]
            if len(tasks) >= 1_000:
                self._tasks[owner] = tasks = {each: None for each in tasks if not each.done()}
            tasks[task] = None
        return task
