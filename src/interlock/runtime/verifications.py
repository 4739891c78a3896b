"""Requests to verify a view (`interlock.runtime.requests`): every row is compared with a fresh fold of the journals."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from interlock.processors.ports import Clock
from interlock.projections.host import RebuildUnderWay, ViewHost
from interlock.projections.projector import ViewStopped
from interlock.projections.status import Verified
from interlock.runtime.requests import RequestDesk, RequestFiles, State

log = logging.getLogger(__name__)

REPORT_S: Final = 0.25
"""How often the holder reports how far it is: a person waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """A verification that was asked for, and how it goes."""

    verify_id: str
    requested_at_ms: int
    state: State = "requested"
    ended_at_ms: int | None = None
    appends_done: int = 0
    appends_total: int = 0
    rows: int = 0
    """Rows that were compared."""
    missing: int = 0
    """Rows that the view lacks."""
    foreign: int = 0
    """Rows that the view has and the journals don't give."""
    changed: int = 0
    """Rows that say something else than the journals."""
    samples: tuple[tuple[str, str, str], ...] = ()
    """Table, kind and key of some of the rows that differ."""
    message: str = ""
    """Why it failed."""

    @property
    def identity(self) -> str:
        """Tells one request from the next."""
        return self.verify_id


class VerifyFiles(RequestFiles[VerifyReport]):
    """The request to verify a view, and its report."""

    def __init__(self, directory: Path, view: str) -> None:
        super().__init__(directory, view, "verify", VerifyReport)


class VerifyDesk(RequestDesk[VerifyReport]):
    """Takes up requests for the views that this process holds."""

    def __init__(self, directory: Path, views: Mapping[str, ViewHost], clock: Clock, *, look_s: float) -> None:
        """Looks for requests every `look_s` seconds."""
        files = {name: VerifyFiles(directory, name) for name in views}
        super().__init__(views, files, self._verify, look_s=look_s)
        self._clock = clock

    async def _verify(self, host: ViewHost, files: RequestFiles[VerifyReport], request: VerifyReport) -> VerifyReport:
        name = host.view.name
        log.info("the view %s is being verified (%s)", name, request.verify_id)
        ended = replace(await self._verified(host, files, request), ended_at_ms=self._clock.now_ms())
        log.info("the verification of the view %s is %s %s", name, ended.state, ended.message)
        return ended

    async def _verified(self, host: ViewHost, files: RequestFiles[VerifyReport], request: VerifyReport) -> VerifyReport:
        running: VerifyReport = replace(request, state="running")
        while True:
            work = asyncio.create_task(host.verify())
            try:
                while not work.done():
                    progress = host.verifying
                    if progress is not None:
                        running = replace(
                            running, appends_done=progress.appends_done, appends_total=progress.appends_total
                        )
                    files.report(running)
                    await asyncio.wait([work], timeout=REPORT_S)
                return _ended(running, work.result())
            except RebuildUnderWay:
                # It is made anew just now; the rows that serve then are verified.
                await host.changed(REPORT_S)
            except ViewStopped as error:
                return replace(running, state="failed", message=str(error))
            except Exception as error:
                log.exception("the verification of the view %s has failed", host.view.name)
                return replace(running, state="failed", message=f"{type(error).__name__}: {error}")
            finally:
                work.cancel()


def _ended(running: VerifyReport, verified: Verified) -> VerifyReport:
    appends = sum(position.number for position in verified.positions.values())
    return replace(
        running,
        state="done",
        appends_done=appends,
        appends_total=appends,
        rows=sum(table.rows for table in verified.tables),
        missing=sum(table.differ.missing for table in verified.tables),
        foreign=sum(table.differ.foreign for table in verified.tables),
        changed=sum(table.differ.changed for table in verified.tables),
        samples=tuple((table.name, kind, key) for table in verified.tables for kind, key in table.differ.samples),
    )
