"""The engine under load, seen by its caller.

The caller is any client: it writes stimuli to the topic for users, in batches of a hundred under load, and learns that
a run is over from the row in the executions view, by the same queries that the API asks. It lives in the engine's first
process, as the API does in `interlock up`; what it costs is counted with the engine.

Under load it looks at the view's positions every ten milliseconds. One run at a time, it is woken by the view, and
reads the newest rows each time, until its run is over.
"""

import asyncio
import time
from itertools import count
from multiprocessing.connection import Connection

import uvloop

from interlock.domain.executions.execution.state import Status
from interlock.domain.messages import Publish
from interlock.log.port import Log, Shard
from interlock.processors.executions.invoker import Invoker
from interlock.projections.executions.fold import VIEW as EXECUTIONS_VIEW
from interlock.projections.executions.query import SqliteExecutions
from interlock.projections.executions.store import EXECUTIONS
from interlock.projections.reader import ViewReader, WarmingUp
from interlock.runtime import compose, garbage
from interlock.runtime.backend import Backend
from interlock.runtime.engine import Engine
from interlock.runtime.gateway import Gateway
from interlock.runtime.topics import topic_specs, topics_of
from ops.bench.counting import Counter, flushes_of
from ops.bench.figures import Used, used
from ops.bench.process import Child, answer
from ops.bench.subject import Counts, Load
from ops.bench.work import CHUNK, Echo, Scenario, orders, payments

LOOK_S = 0.01
FOREIGN_LOOK_S = 0.001
"""How often the caller looks at the rows of another process, one run at a time."""
READY_SECONDS_MAX = 60.0
DONE_SECONDS_MAX = 300.0


class EngineSubject:
    """The engine of a scenario; implements `Subject`."""

    def __init__(self, scenario: Scenario, invoker: Invoker | None = None) -> None:
        self._invoker = invoker or Echo()
        self._scenario = scenario
        self.settings = scenario.settings()
        """Those of each of its processes."""
        self._names = (f"order-{number}" for number in count(1))
        self._others: list[Child] = []
        self._reader = ViewReader(self.settings.data / "views", EXECUTIONS_VIEW)
        self._query = SqliteExecutions(self._reader)
        self._seen: set[str] = set()
        self._backend: Backend | None = None
        self._engine: Engine | None = None
        self._counter: Counter | None = None
        self._flushes_of_others = 0

    # ---- life -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Starts every process, and publishes the workflow."""
        self._backend = compose.open_backend(self.settings)
        await self._backend.admin.create(topic_specs(self.settings))
        for number in range(1, len(self._scenario.processes)):
            self._others.append(Child(f"engine {number}", serve, self._scenario, number))
        self._engine = compose.build(self.settings, self._scenario.processes[0], self._invoker, backend=self._backend)
        await self._engine.start()
        for child in self._others:
            await child.ask_async("start")
        await until_ready(self._engine)
        await self._until_filled()
        answered = await self._engine.gateway.publish(
            Publish(
                command_id="bench",
                shell="default",
                document=self._scenario.document(),
                slot=None,
                expect_revision=None,
                requested_by="bench",
                requested_at_ms=time.time_ns() // 1_000_000,
            ),
            self.settings.publish_wait_s,
        )
        if answered.status != "done":
            raise AssertionError(f"expected the workflow to be published, found {answered}")
        self._counter = Counter(self._backend.log, topic_specs(self.settings))

    async def close(self) -> None:
        """Ends every process."""
        for child in self._others:
            await child.ask_async("close")
            child.end()
        if self._engine is not None:
            await self._engine.close()
        self._reader.close()

    @property
    def log(self) -> Log:
        """What it runs on."""
        assert self._backend is not None, "expected start first"
        return self._backend.log

    @property
    def gateway(self) -> Gateway:
        """How its callers reach it without the topic for users."""
        assert self._engine is not None, "expected start first"
        return self._engine.gateway

    # ---- what is measured -------------------------------------------------------------------------------------

    async def load(self, runs: int) -> Load:
        """So many runs as fast as they go."""
        names = [next(self._names) for _ in range(runs)]
        batches = [orders(names[start : start + CHUNK]) for start in range(0, runs, CHUNK)]
        if self._scenario.waits:
            paid = [payments(names[start : start + CHUNK]) for start in range(0, runs, CHUNK)]
            batches = [batch for pair in zip(batches, paid, strict=True) for batch in pair]
        completed = self._completed() + runs
        events = self._events() + runs * self._scenario.events_min
        began, cpu_s = time.perf_counter(), await self._cpu_s()
        for batch in batches:
            await self.log.send(self._stimuli, batch)
        while self._events() < events:
            await _look_again(began)
        await self.until_completed(completed)
        seconds = time.perf_counter() - began
        return Load(runs, seconds, await self._cpu_s() - cpu_s)

    async def until_completed(self, runs: int) -> None:
        """Returns once so many runs are completed, since the beginning."""
        began = time.perf_counter()
        while self._completed() < runs:
            await _look_again(began)

    async def single(self) -> float:
        """One run from its stimulus to its row; where it waits, the payment is written once it is seen to wait."""
        self._seen = {row.execution_id for row in self._query.executions("default", limit=8)}
        name = [next(self._names)]
        began = time.perf_counter()
        await self.log.send(self._stimuli, orders(name))
        if self._scenario.waits:
            await self._until("waiting")
            await self.log.send(self._stimuli, payments(name))
        await self._until("completed")
        return time.perf_counter() - began

    async def mark(self) -> None:
        """Begins to count anew."""
        assert self._counter is not None, "expected start before mark"
        await self._counter.mark()
        self._flushes_of_others = await self._flushed_by_others()

    async def counts(self) -> Counts:
        """What was written to the log since `mark`."""
        assert self._counter is not None, "expected start before counts"
        found = await self._counter.counts()
        return found._replace(flushes=found.flushes + await self._flushed_by_others() - self._flushes_of_others)

    async def memory_mb(self) -> float:
        """The most that its processes held together."""
        return sum([used().memory_mb, *[one.memory_mb for one in await self._used_by_others()]])

    # ---- within -----------------------------------------------------------------------------------------------

    @property
    def _stimuli(self) -> Shard:
        return topics_of(self.settings).user("stimuli")

    async def _until_filled(self) -> None:
        """Returns once the view can be asked."""
        until = time.monotonic() + READY_SECONDS_MAX
        while True:
            try:
                self._completed()
            except WarmingUp:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(LOOK_S)
            else:
                return

    def _events(self) -> int:
        """How many events of executions are in the rows."""
        with self._reader.snapshot() as snapshot:
            return sum(position.events for position in snapshot.positions().values())

    def _completed(self) -> int:
        with self._reader.snapshot() as snapshot:
            return snapshot.count(EXECUTIONS, "status", "shell = 'default' AND status = 'completed'").get(
                "completed", 0
            )

    async def _until(self, status: Status) -> None:
        """Returns once the newest run, which was not there before, has a status."""
        assert self._engine is not None, "expected start first"
        view = self._engine.views.get(EXECUTIONS_VIEW.name)
        while True:
            # More than one row, as another run may have been started in the same millisecond.
            for row in self._query.executions("default", limit=4):
                if row.execution_id not in self._seen and row.status == status:
                    return
            if view is None:
                await asyncio.sleep(FOREIGN_LOOK_S)
            else:
                await view.changed(1.0)

    async def _cpu_s(self) -> float:
        return used().cpu_s + sum(one.cpu_s for one in await self._used_by_others())

    async def _flushed_by_others(self) -> int:
        return sum([await child.ask_async("flushes") for child in self._others])

    async def _used_by_others(self) -> list[Used]:
        return [await child.ask_async("used") for child in self._others]


async def _look_again(began: float) -> None:
    if time.perf_counter() > began + DONE_SECONDS_MAX:
        raise AssertionError(f"expected all runs to be over within {DONE_SECONDS_MAX} s, found some that are not")
    await asyncio.sleep(LOOK_S)


def serve(connection: Connection, scenario: Scenario, number: int) -> None:
    """The main function of a further process of the engine."""
    garbage.look_seldom()
    uvloop.run(_serve(connection, scenario, number))


async def _serve(connection: Connection, scenario: Scenario, number: int) -> None:
    engine = compose.build(scenario.settings(), scenario.processes[number], Echo())

    async def questions(question: str, *_: object) -> object:
        if question == "used":
            return used()
        if question == "flushes":
            return flushes_of(engine.parts.backend.log)
        if question == "start":
            await engine.start()
            await until_ready(engine)
        elif question == "close":
            await engine.close()
        return None

    await answer(connection, questions)


async def until_ready(engine: Engine, seconds_max: float = READY_SECONDS_MAX) -> None:
    """Returns once the engine serves, with every shard of its contexts."""
    until = time.monotonic() + seconds_max
    while (waiting := engine.waiting()) or not _placed(engine):
        if time.monotonic() > until or engine.faults():
            raise AssertionError(f"expected the engine to be ready, found {waiting}, {engine.faults()}")
        await asyncio.sleep(LOOK_S)


def _placed(engine: Engine) -> bool:
    """Whether every shard of its contexts is here: in a scenario each context has one process."""
    return all(len(host.processors) == engine.topics.partitions[host.context] for host in engine.hosts)
