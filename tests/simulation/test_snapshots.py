"""What processes keep in snapshots, in runs with faults of every kind, is what a fold of the log is."""

import asyncio
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

import pytest

from interlock.domain.executions.shard import KeptExecutions
from interlock.domain.publishing.authority import Authority
from interlock.log.frame import Append, is_event
from interlock.log.journal import Position
from interlock.log.memory import MemoryLog
from interlock.log.port import Shard
from interlock.processors.counted import KeptBook
from interlock.processors.executions.handler import ExecutionsHandler, ExecutionsOptions
from interlock.processors.mail import recorded
from interlock.processors.ownership import Handler, Ownership
from interlock.processors.ports import Bounds
from interlock.processors.publishing.handler import PublishingHandler, PublishingOptions
from interlock.processors.routing.handler import RoutingHandler
from interlock.processors.snapshots import Keeper
from tests.simulation import run as module
from tests.simulation.checks.shadows import inside
from tests.simulation.chores import Chores
from tests.simulation.plan import Plan, draw
from tests.simulation.run import run
from tests.simulation.world import World
from tests.support.appends import read_appends

STEPS = 60


@dataclass
class Kept:
    """What was kept in a run, and the world in which it was."""

    worlds: list[World] = field(default_factory=list[World])
    snapshots: list[tuple[Shard, Position, tuple[object, ...]]] = field(
        default_factory=list[tuple[Shard, Position, tuple[object, ...]]]
    )


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    found = Kept()

    class Seen(World):
        def __init__(self, plan: Plan, data: Path) -> None:
            super().__init__(plan, data)
            found.worlds.append(self)

    write = Keeper.write

    def seen(keeper: Keeper, position: Position, *states: object) -> None:
        journal = inside(keeper, "_journal", Shard)
        found.snapshots.append((journal, position, states))
        write(keeper, position, *states)

    monkeypatch.setattr(module, "World", Seen)
    monkeypatch.setattr(Keeper, "write", seen)
    return found


@pytest.mark.simulation
@pytest.mark.parametrize("seed", [901, 902, 903, 904])
def test_a_snapshot_is_what_a_fold_from_the_beginning_is(kept: Kept, seed: int) -> None:
    """Proves: PRJ-06"""
    result = run(draw(seed, STEPS))
    assert result.violation is None, result.report()
    compared = asyncio.run(compare(kept))
    assert set(compared) == {"publishing", "routing", "executions", "replica"}
    assert sum(compared.values()) == len(kept.snapshots) > 50


async def compare(kept: Kept) -> dict[str, int]:
    """Compares all; gives how many of each kind there were."""
    (world,) = kept.worlds
    log = MemoryLog(world.broker)
    compared: dict[str, int] = {}
    appends: dict[Shard, list[Append]] = {}
    for journal, position, states in kept.snapshots:
        if journal not in appends:
            appends[journal] = await read_appends(log, journal)
        history = [append for append in appends[journal] if append.frame.number <= position.number]
        assert history[-1].frame.id == position.id, "a snapshot of an append that doesn't count"
        context = journal.topic.split(".")[1]
        kind = context if isinstance(states[0], KeptBook) else "replica"
        compared[kind] = compared.get(kind, 0) + 1
        if kind == "replica":
            assert states[0] == authority(world, journal, history).keep()
        else:
            right = folded(world, log, context, journal, history)
            for mine, other in zip(normal(states), normal(right), strict=True):
                for each in fields(cast("Any", other)):
                    told = f"{each.name} of {journal} after append {position.number}"
                    assert getattr(mine, each.name) == getattr(other, each.name), told
    return compared


def folded(world: World, log: MemoryLog, context: str, journal: Shard, history: list[Append]) -> tuple[object, ...]:
    """What an owner holds that has folded all of it."""
    handler = handler_of(world, context)
    ownership = Ownership(
        context=context,
        partition=journal.partition,
        source="",
        handler=handler,
        replica=None,
        wire=log,
        codec=world.codec,
        schemas=Nothing(),
        clock=world.clock,
        ids=lambda: "",
        topics=world.topics,
        bounds=Bounds(),
    )
    for append in history:
        ownership.fold(append)
    return ownership.kept()


class Nothing:
    """No schema of others."""

    async def find(self, fingerprint: str) -> str | None:
        return None


def handler_of(world: World, context: str) -> Handler:
    if context == "publishing":
        return PublishingHandler(PublishingOptions(routing_shards=1, projection_kinds=(), prepare_ms=1))
    if context == "routing":
        return RoutingHandler(0, Authority(), skew_ms=1, horizon_ms=world.settings.dedup_horizon_s * 1000)
    options = ExecutionsOptions(checkpoints="immediate", coalesce_wait_ms=1, output_bytes_max=1)
    return ExecutionsHandler(Authority(), Chores(0, lambda: 0), options)


def authority(world: World, journal: Shard, history: list[Append]) -> Authority:
    found = Authority()
    for append in history:
        for entry in append.entries:
            if is_event(entry):
                stream = entry.key.decode("utf-8", "surrogatepass")
                found.apply(stream, recorded(world.codec, journal, entry.offset, entry.value))
    return found


def normal(states: tuple[object, ...]) -> tuple[object, ...]:
    """In what order runs came to owe something is the owner's own affair: steps that are told by one event."""
    return tuple(
        replace(
            state,
            owed=tuple(sorted(state.owed)),
            unserved=tuple(sorted(state.unserved)),
            cancelling=tuple(sorted(state.cancelling)),
        )
        if isinstance(state, KeptExecutions)
        else state
        for state in states
    )
