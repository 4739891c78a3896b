"""E13: a start takes a snapshot and what came behind it, and a process that is still at it is alive and not ready.

What is left to do of this case: how long that takes with a million events (`make bench` measures it with 130,000,
docs/guides/performance.md). Here the records that a start reads behind a snapshot are counted.
"""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from interlock.domain.messages import Publish
from interlock.log.memory import MemoryBroker, MemoryLog, MemoryReader
from interlock.log.port import Shard, Stored
from interlock.processors.ports import Bounds
from interlock.runtime.engine import Engine
from interlock.runtime.snapshot_files import SnapshotFiles
from tests.api.service import WAIT_S, serving
from tests.cases.engines import engine_on
from tests.cases.offers import definition, event

pytestmark = pytest.mark.cases

PUBLISHES = 30


async def publish(engine: Engine, number: int) -> None:
    command = Publish(
        command_id=f"c{number}",
        shell="default",
        document=definition("orders", event("order.placed"), version=f"v{number}"),
        slot=None,
        expect_revision=None,
        requested_by="ada",
        requested_at_ms=1,
    )
    assert (await engine.gateway.publish(command, wait_s=WAIT_S)).status == "done"


async def ready(engine: Engine) -> None:
    async with asyncio.timeout(WAIT_S):
        while engine.waiting():  # noqa: ASYNC110 - what is awaited are many tasks of an engine
            await asyncio.sleep(0.01)


async def test_a_start_folds_what_is_behind_the_snapshot_and_all_where_there_is_none_that_may_be_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Proves: LOG-01."""
    caplog.set_level(logging.INFO, "interlock.processors.snapshots")
    broker, bounds = MemoryBroker(), Bounds(snapshot_records=50)
    snapshots = SnapshotFiles(tmp_path / "snapshots")

    def said(words: str) -> list[str]:
        return [each.getMessage() for each in caplog.records if words in each.getMessage()]

    async with engine_on(broker, tmp_path, snapshots=snapshots, bounds=bounds) as engine:
        for number in range(PUBLISHES):
            await publish(engine, number)
        before = engine.replica.position
        assert not said("found no "), "a journal that grows has no snapshot to expect"
    caplog.clear()

    async with engine_on(broker, tmp_path, snapshots=snapshots, bounds=bounds) as engine:
        await ready(engine)
        taken = said("interlock.publishing.journal/0 is folded from append")
        assert len(taken) >= 2, "the shard and the replica"
        numbers = [int(each.partition("from append ")[2].split()[0]) for each in taken]
        # An orderly end leaves less than a tenth of what is between two snapshots; an append has a record at least.
        assert before - min(numbers) < bounds.snapshot_records // 10
        assert not said("found no ")
        await publish(engine, PUBLISHES)
        slot = engine.replica.authority.slot("default", "orders", "default")
        assert slot is not None
        assert slot.revision == PUBLISHES + 1
    caplog.clear()

    for path in (tmp_path / "snapshots").iterdir():
        path.write_bytes(path.read_bytes()[:-20])
    async with engine_on(broker, tmp_path, snapshots=snapshots, bounds=bounds) as engine:
        await ready(engine)
        assert not said("found no ")
        refused = [each for each in caplog.records if "is folded from its beginning" in each.getMessage()]
        assert refused
        assert {each.levelno for each in refused} == {logging.WARNING}
        slot = engine.replica.authority.slot("default", "orders", "default")
        assert slot is not None
        assert slot.revision == PUBLISHES + 1
    caplog.clear()

    for path in (tmp_path / "snapshots").iterdir():
        path.unlink()
    async with engine_on(broker, tmp_path, snapshots=snapshots, bounds=bounds) as engine:
        await ready(engine)
        lacking = [each for each in caplog.records if "found no " in each.getMessage()]
        assert {each.levelno for each in lacking} == {logging.WARNING}
        names = [each.getMessage().partition("found no ")[2].partition(":")[0] for each in lacking]
        assert sorted(names) == ["publishing-0", "replica-whole", "routing-0", "routing-1"]


async def test_what_a_start_reads_depends_on_the_cadence_of_snapshots_and_not_on_the_journals_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every record that anybody reads of the journal while a start goes on: its shard, the replica and the views.

    Proves: LOG-01.
    """
    journal, places = Shard("interlock.publishing.journal", 0), set[int]()
    reader_of = MemoryLog.reader

    def counting(self: MemoryLog, shard: Shard, offset: int) -> MemoryReader:
        reader = reader_of(self, shard, offset)
        read = reader.read

        async def counted(wait_s: float) -> Sequence[Stored]:
            records = await read(wait_s)
            if shard == journal:
                places.update(each.offset for each in records)
            return records

        monkeypatch.setattr(reader, "read", counted)
        return reader

    monkeypatch.setattr(MemoryLog, "reader", counting)
    broker, bounds = MemoryBroker(), Bounds(snapshot_records=50)
    snapshots = SnapshotFiles(tmp_path / "snapshots")
    for start in range(3):
        held = broker.partition(journal).extent.end if start else 0
        places.clear()
        async with engine_on(broker, tmp_path, snapshots=snapshots, bounds=bounds) as engine:
            await ready(engine)
            before = {each for each in places if each < held}
            assert len(before) <= bounds.snapshot_records
            assert held > 5 * start * bounds.snapshot_records or start == 0, "expected a journal that grows"
            for number in range(start * PUBLISHES, (start + 1) * PUBLISHES):
                await publish(engine, number)


async def test_a_process_that_is_not_ready_is_alive(tmp_path: Path) -> None:
    """Proves: OPS-03 (live and ready are two questions)."""
    async with serving(tmp_path) as service:
        while (answer := await service.http.get("/health/ready")).status_code != 200:
            assert answer.json()["problems"]
            assert (await service.http.get("/health/live")).status_code == 200
        service.log.away = True
        while (await service.http.get("/health/ready")).status_code == 200:
            pass
        assert (await service.http.get("/health/live")).status_code == 200
