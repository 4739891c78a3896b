"""The engine of a rehearsal: production's composition with every role, on a log in memory and a virtual clock.

It may die and start again, on the same log and the same files of views. Ids and chance come from the seed.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import httpx
from starlette.applications import Starlette

from interlock.api.app import create_app
from interlock.api.queries import open_queries
from interlock.log.faults import AskOutcome, FaultRates, RandomFaults, SendOutcome
from interlock.log.group import MemoryPositions, ReadingGroup
from interlock.log.memory import FixedAssignment, MemoryBroker, MemoryLog
from interlock.log.port import Record, Shard
from interlock.processors.executions.invoker import Invoker
from interlock.processors.ports import Bounds
from interlock.runtime import compose
from interlock.runtime.backend import Backend
from interlock.runtime.engine import Engine
from interlock.runtime.roles import ROLES
from interlock.runtime.settings import Settings
from interlock.testing.patience import PATIENCE_S, PatientGroup, PatientLog
from interlock.testing.virtual_time import LoopClock


class Weather:
    """Faults of the engine's connection to the log, which may change at any time; implements `Faults`."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.rates = FaultRates()

    def on_send(self, shard: Shard, batch: Sequence[Record]) -> SendOutcome:
        """By the rates of now."""
        return RandomFaults(self._chance, self.rates).on_send(shard, batch)

    def on_ask(self, shard: Shard) -> AskOutcome:
        """By the rates of now."""
        return RandomFaults(self._chance, self.rates).on_ask(shard)


class Stage:
    """One log, and the engine that is on it now. To be made on the loop that it lives on."""

    def __init__(self, invoker: Invoker, settings: Settings, seed: int | str) -> None:
        self._invoker = invoker
        self._settings = settings
        self._ids = random.Random(f"ids {seed}")
        self._chance = random.Random(f"engine {seed}")
        self._positions = MemoryPositions()
        self.clock = LoopClock(asyncio.get_running_loop())
        self.weather = Weather(random.Random(f"weather {seed}"))
        self.broker = MemoryBroker(self.clock.now_ms)
        self.broker.on_landing = self._count
        self.landed = 0
        """How many batches the log has taken."""
        self.engine: Engine | None = None
        self._app: Starlette | None = None
        self._log: MemoryLog | None = None

    async def start(self) -> None:
        """Returns once the engine serves. Raises what its start raises."""
        log = self._log = MemoryLog(self.broker, faults=self.weather, now_ms=self.clock.now_ms)
        bounds = Bounds(look_s=PATIENCE_S)
        made = compose.build(
            self._settings, ROLES, self._invoker, backend=self._backend(log, bounds.read_wait_s), bounds=bounds
        )
        parts = replace(made.parts, clock=self.clock, ids=self.new_id, chance=self._chance)
        engine = self.engine = Engine(self._settings, ROLES, parts)
        await engine.start()
        self._app = create_app(engine, open_queries(self._settings.data / "views", parts.codec))

    async def crash(self) -> None:
        """Nothing that the engine does is heard any more; what it had sent may still land."""
        if self._log is not None:
            await self._log.close()
        await self.close()

    async def close(self) -> None:
        """Ends the engine in order; does nothing where there is none."""
        if self._app is not None:
            self._app.state.context.stop()
            self._app.state.context.close()
            self._app = None
        if self.engine is not None:
            engine, self.engine = self.engine, None
            await engine.close()

    async def answer(self, request: httpx.Request) -> httpx.Response:
        """What the API answers; a refused connection where no engine runs."""
        if self._app is None:
            raise httpx.ConnectError("expected an engine that runs, found it down; call `restart`", request=request)
        transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
        answer = await transport.handle_async_request(request)
        await answer.aread()
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content, request=request)

    def new_id(self) -> str:
        """An id from the seed."""
        return f"{self._ids.getrandbits(128):032x}"

    def _count(self, shard: Shard, base: int, batch: Sequence[Record]) -> None:
        self.landed += 1

    def _backend(self, memory: MemoryLog, idle_s: float) -> Backend:
        log = PatientLog(memory)

        def stimuli(topic: str, partitions: int) -> PatientGroup:
            assignment = FixedAssignment(frozenset(range(partitions)))
            return PatientGroup(ReadingGroup(log, {topic: assignment}, self._positions), idle_s=idle_s)

        return Backend(
            log=log,
            admin=memory,
            assign=lambda _, partitions: FixedAssignment(frozenset(range(partitions))),
            stimuli=stimuli,
            close=log.close,
            makes_topics=True,
        )


def settings_of(data: Path, checkpoints: Literal["immediate", "coalesced"]) -> Settings:
    """Settings for a rehearsal: neither the environment nor a file changes what a test finds."""
    return Settings.model_construct(
        log="memory:",
        data=data,
        checkpoints=checkpoints,
        routing_shards=2,
        executions_shards=2,
        stimuli_partitions=1,
        # A minute would do nothing more here than an hour, and a year has half a million of them.
        reconcile_s=3600.0,
    )
