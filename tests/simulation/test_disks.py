"""A disk that is full: what is written fails as a whole, what was there stays, and the next try finds it as it was.
One that is slow: what is written is there, and who wrote it hears of it late."""

import asyncio
import errno
import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from interlock.log.journal import Position
from interlock.log.port import Shard
from interlock.projections.store import Place, Store, StoreAway
from interlock.projections.views import VIEWS
from interlock.runtime.settings import Settings
from interlock.runtime.topics import topics_of
from interlock.testing.virtual_time import run_virtual
from tests.simulation.disks import SnapshotsOnDisk, views_on_disks_of
from tests.simulation.items import HOLDER, FullDiskItem, SlowDiskItem
from tests.simulation.sky import SLOW_DISK_S, Sky
from tests.simulation.trace import IN_PROCESS, Trace

FULL: Final = FullDiskItem(at_s=0.0, seed=1, process=HOLDER, for_s=1.0)
SLOW: Final = SlowDiskItem(at_s=0.0, seed=1, process=HOLDER, for_s=1.0)
SHARD: Final = Shard("journal", 0)


class AlwaysFull(random.Random):
    """Every write fails."""

    def random(self) -> float:
        return 0.0


class AlwaysSlow(random.Random):
    """Every write takes the longest time."""

    def random(self) -> float:
        return 1.0


def never(process: str, seconds: float) -> None:
    raise AssertionError(f"expected no slow disk, found that {process} waits {seconds} s for one")


async def blocks(text: bytes) -> AsyncIterator[bytes]:
    yield text


def a_sky() -> Sky:
    return Sky(topics_of(Settings(log="memory:")), Trace(), Counter())


def place(number: int) -> dict[Shard, Place]:
    return {SHARD: Place(Position(base=number, id=f"{number:032x}", number=number, events=number), "topic")}


def test_a_view_keeps_what_it_had_and_goes_on(tmp_path: Path) -> None:
    async def run() -> None:
        sky, store = a_sky(), Store(tmp_path / "view.1.sqlite", VIEWS[0])
        IN_PROCESS.set(HOLDER)
        with views_on_disks_of(sky, never):
            store.transact(lambda rows: None, place(1))
            sky.full_disks[FULL] = AlwaysFull()
            with pytest.raises(StoreAway, match="full"):
                store.transact(lambda rows: None, place(2))
            assert store.places() == place(1), "reading needs no room"
            sky.full_disks.clear()
            store.transact(lambda rows: None, place(2))
            assert store.places() == place(2)
        store.close()

    run_virtual(run())


def test_a_process_waits_for_its_slow_disk_after_what_it_wrote_and_for_nobody_elses(tmp_path: Path) -> None:
    async def run() -> None:
        sky, store, waited = a_sky(), Store(tmp_path / "view.1.sqlite", VIEWS[0]), list[tuple[str, float]]()
        sky.slow_disks[SLOW] = AlwaysSlow()
        with views_on_disks_of(sky, lambda process, seconds: waited.append((process, seconds))):
            IN_PROCESS.set(HOLDER)
            store.transact(lambda rows: None, place(1))
            assert waited == [(HOLDER, SLOW_DISK_S)]
            assert store.places() == place(1), "reading takes no time"
            IN_PROCESS.set("p0")
            store.transact(lambda rows: None, place(2))
        assert waited == [(HOLDER, SLOW_DISK_S)]
        store.close()
        loop = asyncio.get_running_loop()
        began_s, snapshots = loop.time(), SnapshotsOnDisk(HOLDER, sky)
        await snapshots.write("one", blocks(b"slowly"))
        assert (snapshots.held, loop.time() - began_s) == ({"one": b"slowly"}, SLOW_DISK_S)

    run_virtual(run())


def test_the_snapshot_before_it_stays_where_one_can_not_be_written() -> None:
    async def run() -> None:
        sky = a_sky()
        snapshots = SnapshotsOnDisk(HOLDER, sky)
        await snapshots.write("one", blocks(b"before"))
        sky.full_disks[FULL] = AlwaysFull()
        with pytest.raises(OSError, match="No space") as found:
            await snapshots.write("one", blocks(b"after"))
        assert found.value.errno == errno.ENOSPC
        assert snapshots.held == {"one": b"before"}
        another = SnapshotsOnDisk("p0", sky)
        await another.write("one", blocks(b"after"))
        assert another.held == {"one": b"after"}, "another process has a disk of its own"

    run_virtual(run())
