"""Requests to rebuild a view (`interlock.runtime.requests`), and how the holder serves them."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from interlock.log.port import Unavailable
from interlock.processors.ports import Clock
from interlock.projections.host import RebuildUnderWay, ViewHost
from interlock.projections.projector import ViewStopped
from interlock.projections.status import Rebuilt
from interlock.runtime.requests import RequestDesk, RequestFiles, State

log = logging.getLogger(__name__)

REPORT_S: Final = 0.25
"""How often the holder reports how far a rebuild is: a person waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildReport:
    """A rebuild that was asked for, and how it goes."""

    rebuild_id: str
    requested_at_ms: int
    compare: bool
    """Whether digests of the rows before and after are taken where they swap."""
    state: State = "requested"
    ended_at_ms: int | None = None
    appends_done: int = 0
    appends_total: int = 0
    replaced_digest: str = ""
    rebuilt_digest: str = ""
    message: str = ""
    """Why it failed."""

    @property
    def identity(self) -> str:
        """Tells one request from the next."""
        return self.rebuild_id


class RebuildFiles(RequestFiles[RebuildReport]):
    """The request to rebuild a view, and its report."""

    def __init__(self, directory: Path, view: str) -> None:
        super().__init__(directory, view, "rebuild", RebuildReport)


class RebuildDesk(RequestDesk[RebuildReport]):
    """Takes up requests for the views that this process holds."""

    def __init__(self, directory: Path, views: Mapping[str, ViewHost], clock: Clock, *, look_s: float) -> None:
        """Looks for requests every `look_s` seconds."""
        files = {name: RebuildFiles(directory, name) for name in views}
        super().__init__(views, files, self._rebuild, look_s=look_s)
        self._clock = clock

    async def _rebuild(
        self, host: ViewHost, files: RequestFiles[RebuildReport], request: RebuildReport
    ) -> RebuildReport:
        name = host.view.name
        log.info("the view %s is being rebuilt (%s)", name, request.rebuild_id)
        ended = replace(await self._rebuilt(host, files, request), ended_at_ms=self._clock.now_ms())
        log.info("the rebuild of the view %s is %s %s", name, ended.state, ended.message)
        return ended

    async def _rebuilt(
        self, host: ViewHost, files: RequestFiles[RebuildReport], request: RebuildReport
    ) -> RebuildReport:
        running = replace(request, state="running")
        while True:
            while host.working == "verify":
                await host.changed(REPORT_S)
            # One that a crash has cut short went on with the start. Its end is this request's, and only the rebuild
            # itself knows it: how the view looks when somebody comes to look says nothing, it may have swapped before.
            work = asyncio.create_task(host.rebuild(compare=request.compare, join=True))
            try:
                while not work.done():
                    running = await self._progress(host, running)
                    files.report(running)
                    await asyncio.wait([work], timeout=REPORT_S)
                return _done(running, work.result())
            except RebuildUnderWay:
                log.info("the rebuild of the view %s waits for a verification that was faster", host.view.name)
            except ViewStopped as error:
                return replace(running, state="failed", message=str(error))
            except Exception as error:
                log.exception("the rebuild of the view %s has failed; the old copy goes on serving", host.view.name)
                return replace(running, state="failed", message=f"{type(error).__name__}: {error}")
            finally:
                work.cancel()

    async def _progress(self, host: ViewHost, running: RebuildReport) -> RebuildReport:
        with contextlib.suppress(Unavailable):
            progress = (await host.status()).rebuild
            if progress is not None:
                return replace(running, appends_done=progress.appends_done, appends_total=progress.appends_total)
        return running


def _done(running: RebuildReport, rebuilt: Rebuilt) -> RebuildReport:
    appends = sum(position.number for position in rebuilt.positions.values())
    return replace(
        running,
        state="done",
        appends_done=appends,
        appends_total=appends,
        replaced_digest=rebuilt.replaced_digest,
        rebuilt_digest=rebuilt.rebuilt_digest,
    )
