"""Engines on one log in memory, each as a process of its own would be: with other shards, with or without snapshots."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from interlock.activities import Activities
from interlock.log.faults import Faults
from interlock.log.group import MemoryPositions, ReadingGroup
from interlock.log.memory import FixedAssignment, MemoryBroker, MemoryLog
from interlock.processors.executions.invoker import Invoker
from interlock.processors.ports import Bounds, SnapshotStore
from interlock.runtime import compose
from interlock.runtime.backend import Backend
from interlock.runtime.engine import Engine
from interlock.runtime.roles import ROLES, Role
from interlock.runtime.settings import Settings

EXECUTIONS_SHARDS = 4


@asynccontextmanager
async def engine_on(
    broker: MemoryBroker,
    data: Path,
    *,
    invoker: Invoker | None = None,
    roles: tuple[Role, ...] = ROLES,
    executions: FixedAssignment | None = None,
    snapshots: SnapshotStore | None = None,
    bounds: Bounds | None = None,
    faults: Faults | None = None,
) -> AsyncGenerator[Engine, None]:
    """An engine from its start to its end; `executions` are the shards of that context that are this one's, `faults`
    those of its connection."""
    log = MemoryLog(broker, faults=faults)
    settings = Settings(
        log="memory:", data=data, routing_shards=2, executions_shards=EXECUTIONS_SHARDS, stimuli_partitions=1
    )

    def assign(topic: str, partitions: int) -> FixedAssignment:
        if executions is not None and ".executions." in topic:
            return executions
        return FixedAssignment(frozenset(range(partitions)))

    backend = Backend(
        log=log,
        admin=log,
        assign=assign,
        stimuli=lambda topic, partitions: ReadingGroup(
            log, {topic: FixedAssignment(frozenset(range(partitions)))}, MemoryPositions()
        ),
        close=log.close,
        makes_topics=True,
    )
    made = compose.build(settings, roles, invoker or Activities(()), backend=backend, bounds=bounds)
    engine = Engine(settings, roles, replace(made.parts, snapshots=snapshots))
    try:
        await engine.start()
        yield engine
    finally:
        await engine.close()
