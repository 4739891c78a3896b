"""E18: records that nobody needs any more are cut off from the head of a journal; whoever is past them goes on.

Who may trim, and below what, comes with backups and retention; here the log's own tool does it.
"""

from pathlib import Path

import pytest

from interlock.domain.messages import Publish
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.processors.ports import Bounds
from interlock.projections.executions.fold import VIEW
from interlock.projections.projector import ViewStopped
from interlock.runtime.engine import Engine
from interlock.runtime.snapshot_files import SnapshotFiles
from interlock.testing.virtual_time import run_virtual
from tests.cases.engines import engine_on
from tests.cases.offers import definition, event
from tests.projections.journals import Journals, live, projecting
from tests.projections.stories import whole_run
from tests.support.appends import read_appends

pytestmark = pytest.mark.cases


def test_a_view_goes_on_where_the_head_is_gone_below_its_place(tmp_path: Path) -> None:
    """Proves: PRJ-07."""

    async def main() -> None:
        journals = Journals()
        bases = [(await journals.commit("executions", *whole_run(f"run-{number}"))).base for number in range(6)]
        async with projecting(journals, tmp_path) as host:
            await live(host)
            before = host.digest()
        journals.broker.trim(journals.shard("executions"), bases[-1])
        async with projecting(journals, tmp_path) as host:
            await live(host)
            assert (host.error, host.digest()) == ("", before)
            journals.broker.trim(journals.shard("executions"), bases[-1] + 1)  # and while it runs
            await journals.commit("executions", *whole_run("later"))
            await live(host)
            assert (host.error, host.digest() == before) == ("", False)

    run_virtual(main())


def test_a_view_that_would_need_what_is_gone_says_so(tmp_path: Path) -> None:
    """Proves: PRJ-06 (never a part of the rows for the whole)."""

    async def main() -> None:
        journals = Journals()
        bases = [(await journals.commit("executions", *whole_run(f"run-{number}"))).base for number in range(3)]
        journals.broker.trim(journals.shard("executions"), bases[-1])
        async with projecting(journals, tmp_path, VIEW) as host:
            while not host.error:
                await host.changed(1.0)
            assert not host.caught_up
            assert "executions.journal" in host.error
            with pytest.raises(ViewStopped):
                await host.rebuild()

    run_virtual(main())


async def test_shards_and_replicas_begin_at_their_snapshots_where_the_head_is_gone(tmp_path: Path) -> None:
    """Proves: LOG-01."""
    broker = MemoryBroker()
    snapshots, bounds = SnapshotFiles(tmp_path / "snapshots"), Bounds(snapshot_records=10)

    async def publish(engine: Engine, number: int) -> int:
        command = Publish(
            command_id=f"c{number}",
            shell="default",
            document=definition("orders", event("order.placed"), version=f"v{number}"),
            requested_by="ada",
            requested_at_ms=1,
            slot=None,
            expect_revision=None,
        )
        answered = await engine.gateway.publish(command, wait_s=20)
        assert answered.status == "done", answered
        return number

    async with engine_on(broker, tmp_path, snapshots=snapshots, bounds=bounds) as engine:
        for number in range(5):
            await publish(engine, number)
        journal = engine.topics.journal("publishing", 0)
    kept = sorted(path.name for path in (tmp_path / "snapshots").iterdir())
    assert "publishing-0.snapshot" in kept
    appends = await read_appends(MemoryLog(broker), journal)
    broker.trim(journal, appends[-3].base)
    async with engine_on(broker, tmp_path, snapshots=snapshots, bounds=bounds) as engine:
        await publish(engine, 5)
        assert (engine.faults(), engine.replica.position > appends[-1].frame.number) == ([], True)
        slot = engine.replica.authority.slot("default", "orders", "default")
        assert slot is not None
        assert slot.revision == 6
