"""Requests about a view, and what is reported of them whatever happens in between."""

import asyncio
from pathlib import Path

import pytest

from interlock.projections.files import ViewFiles
from interlock.projections.host import ViewHost
from interlock.projections.projector import ViewStopped
from interlock.projections.status import Status, Verified
from interlock.runtime.rebuilds import RebuildDesk, RebuildFiles, RebuildReport
from interlock.testing.virtual_time import LoopClock, run_virtual
from tests.projections.journals import Journals, live, projecting
from tests.projections.stories import whole_run


async def ended(directory: Path, host: ViewHost) -> RebuildReport:
    """What is reported of the request in the end."""
    clock = LoopClock(asyncio.get_running_loop())
    desk = asyncio.create_task(RebuildDesk(directory, {"executions": host}, clock, look_s=0.1).run())
    files = RebuildFiles(directory, "executions")
    try:
        async with asyncio.timeout(60):
            while files.request() is not None:
                await host.changed(0.1)
    finally:
        desk.cancel()
    report = files.latest()
    assert report is not None
    return report


def asked(directory: Path) -> None:
    request = RebuildReport(rebuild_id="r-1", requested_at_ms=1, compare=False)
    RebuildFiles(directory, "executions").ask(request)


def test_a_rebuild_that_goes_on_after_a_crash_and_swaps_before_anybody_has_looked_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves: PRJ-06."""
    status = ViewHost.status

    async def late(self: ViewHost) -> Status:
        """A log that takes longer to say where it ends than the rebuild takes."""
        while ViewFiles(tmp_path, "executions").generations() != [2]:
            await self.changed(1.0)
        return await status(self)

    async def main() -> None:
        journals = Journals()
        for number in range(40):
            await journals.commit("executions", *whole_run(f"run-{number}"))
        async with projecting(journals, tmp_path) as host:
            await live(host)
            cut = asyncio.create_task(host.rebuild())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        with pytest.raises(ViewStopped):
            await cut
        assert ViewFiles(tmp_path, "executions").generations() == [1, 2]
        asked(tmp_path)
        monkeypatch.setattr(ViewHost, "status", late)
        async with projecting(journals, tmp_path) as host:
            report = await ended(tmp_path, host)
            assert (report.state, report.message) == ("done", "")
            assert report.appends_done == report.appends_total == 41
            assert ViewFiles(tmp_path, "executions").generations() == [2]

    run_virtual(main())


def test_a_rebuild_that_a_verification_was_faster_than_waits_for_it_and_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild = ViewHost.rebuild
    verified: list[asyncio.Task[Verified]] = []

    async def slower(self: ViewHost, **options: bool) -> object:
        """A verification begins in the very moment in which the rebuild would."""
        if not verified:
            verified.append(asyncio.create_task(self.verify()))
            await asyncio.sleep(0)
        return await rebuild(self, **options)

    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        monkeypatch.setattr(ViewHost, "rebuild", slower)
        asked(tmp_path)
        async with projecting(journals, tmp_path) as host:
            await live(host)
            report = await ended(tmp_path, host)
            assert (report.state, report.message) == ("done", "")
            assert not (await verified[0]).differs

    run_virtual(main())
