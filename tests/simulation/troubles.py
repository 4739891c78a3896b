"""What goes wrong in a simulated run, beside single batches and weather: processes, owners, clocks, views, releases."""

import asyncio
import random
import shutil
from typing import Final, cast

from interlock.projections.host import RebuildUnderWay
from interlock.projections.store import StoreAway
from interlock.testing.virtual_time import SeededLoop
from tests.simulation.items import (
    WORKERS,
    BatchItem,
    ClockItem,
    CrashItem,
    DoubleItem,
    DropItem,
    FullDiskItem,
    Item,
    JumpItem,
    LagItem,
    MoveItem,
    PauseItem,
    ReleaseItem,
    ReorderItem,
    SlowDiskItem,
    TamperItem,
    TwinItem,
    WeatherItem,
)
from tests.simulation.process import Process
from tests.simulation.tampering import harm_a_row
from tests.simulation.world import World

NOTICE_MAX_S: Final = 6.0
"""A dead or silent process is noticed by then, as by the session timeout of a group."""


class Troubles:
    """Carries out what goes wrong."""

    def __init__(self, world: World) -> None:
        self.crashes = 0
        self._world = world

    async def do(self, item: Item) -> None:
        """Carries an item out, to the end of its trouble. Items whose process has trouble already wait for its end."""
        world = self._world
        chance = random.Random(item.seed)
        match item:
            case BatchItem():
                world.sky.armed.append(item)
            case WeatherItem():
                world.sky.weather.append(item)
                await asyncio.sleep(item.for_s)
                if item in world.sky.weather:
                    world.sky.weather.remove(item)
            case ReorderItem():
                world.sky.slow_inboxes.append(item)
                await asyncio.sleep(item.for_s)
                if item in world.sky.slow_inboxes:
                    world.sky.slow_inboxes.remove(item)
            case LagItem():
                world.sky.lags.append(item)
                await asyncio.sleep(item.for_s)
                if item in world.sky.lags:
                    world.sky.lags.remove(item)
            case FullDiskItem():
                world.sky.full_disks[item] = random.Random(item.seed)
                await asyncio.sleep(item.for_s)
                world.sky.full_disks.pop(item, None)
            case SlowDiskItem():
                world.sky.slow_disks[item] = random.Random(item.seed)
                await asyncio.sleep(item.for_s)
                world.sky.slow_disks.pop(item, None)
            case MoveItem():
                world.deal(chance)
                self._count(item, "shards move")
            case DoubleItem():
                await self._double(item, chance)
            case DropItem():
                await self._drop(item)
            case TamperItem():
                await self._tamper(item, chance)
            case JumpItem():
                await self._jump(item, world.processes[item.process])
            case CrashItem() | PauseItem() | TwinItem() | ClockItem() | ReleaseItem():
                await self._to_process(item, world.processes[item.process], chance)
            case _:
                raise AssertionError(f"expected an item that somebody carries out, found {item}")

    async def _to_process(
        self, item: CrashItem | PauseItem | TwinItem | ClockItem | ReleaseItem, process: Process, chance: random.Random
    ) -> None:
        if isinstance(item, ClockItem):
            self._count(item, f"{process.name}'s clock goes from {process.clock.offset_ms} to {item.offset_ms} ms")
            self._world.shift(process, item.offset_ms)
            return
        async with process.trouble:
            match item:
                case CrashItem():
                    await self._crash(item, process, chance)
                case PauseItem():
                    await self._pause(item, process, chance)
                case TwinItem():
                    self._count(item, process.name)
                    await process.twin(item.for_s)
                case ReleaseItem():
                    self._count(item, f"{process.name} knows versions below {item.versions}")
                    await process.stop()
                    process.versions = item.versions
                    await process.start()

    async def _jump(self, item: JumpItem, process: Process) -> None:
        """What else goes wrong with the process may go wrong meanwhile."""
        self._count(item, f"{process.name}'s clock is {item.offset_ms / 60_000:+.1f} minutes off")
        self._world.shift(process, item.offset_ms)
        right = asyncio.create_task(self._set_right(item, process))
        if item.restarts:
            async with process.trouble:
                await process.stop()
                await process.start()
        await right

    async def _set_right(self, item: JumpItem, process: Process) -> None:
        await asyncio.sleep(item.for_s)
        self._world.shift(process, 0)

    async def _crash(self, item: CrashItem, process: Process, chance: random.Random) -> None:
        loop = cast("SeededLoop", asyncio.get_running_loop())
        dead = loop.create_future()

        def die(steps: int, task: "asyncio.Task[object] | None") -> None:
            process.kill()
            # The run may have ended meanwhile, because a rule was broken.
            if not dead.done():
                dead.set_result(None)

        loop.at_step(loop.steps + 1 + item.steps, die)
        await dead
        self.crashes += 1
        self._count(item, process.name)
        await process.bury()
        noticed_s = chance.uniform(0.0, NOTICE_MAX_S)
        if noticed_s < item.down_s:
            await asyncio.sleep(noticed_s)
            self._world.deal(chance)
            await asyncio.sleep(item.down_s - noticed_s)
        else:
            await asyncio.sleep(item.down_s)
        if item.deletes:
            shutil.rmtree(process.data / "views", ignore_errors=True)
        await process.start()
        if chance.random() < 0.7:
            self._world.deal(chance)

    async def _pause(self, item: PauseItem, process: Process, chance: random.Random) -> None:
        self._count(item, process.name)
        pausing = asyncio.create_task(process.pause(item.for_s))
        if item.replaced and process.name in WORKERS:
            await asyncio.sleep(item.for_s * chance.random())
            self._world.replace(process.name, chance)
        await pausing

    async def _double(self, item: DoubleItem, chance: random.Random) -> None:
        """Some shards get a second owner; after a while the first or the second is left."""
        world = self._world
        doubled: list[tuple[str, int]] = []
        for shard, owners in list(world.owners.items()):
            if chance.random() < 0.5 or not doubled:
                others = [name for name in WORKERS if name not in owners]
                if others:
                    world.owners[shard] = (*owners, chance.choice(others))
                    doubled.append(shard)
        self._count(item, ", ".join(f"{topic}/{partition}" for topic, partition in doubled))
        world.tell()
        await asyncio.sleep(item.for_s)
        for shard in doubled:
            world.owners[shard] = (chance.choice(world.owners[shard]),)
        world.tell()

    async def _drop(self, item: DropItem) -> None:
        holder = self._world.holder
        # It may have died again by the time that this is told of its start; what a dead one is given never ends.
        while not holder.up:
            await holder.is_up.wait()
        self._count(item, item.view)
        dropping = holder.in_process(holder.engines[0].views[item.view].drop())
        await asyncio.wait([dropping])
        if not dropping.cancelled():
            error = dropping.exception()
            if error is not None and not isinstance(error, RebuildUnderWay | StoreAway):
                raise error

    async def _tamper(self, item: TamperItem, chance: random.Random) -> None:
        """As soon as there is a row to harm."""
        holder = self._world.holder
        while True:
            row = harm_a_row(holder.data / "views", item.harm, chance) if holder.up else None
            if row is not None:
                self._world.tampered.add(str(row[0]))
                self._count(item, f"a row is {item.harm}: {row}")
                return
            await asyncio.sleep(1.0)

    def _count(self, item: Item, what: str) -> None:
        self._world.sky.count(item.fault, what)
