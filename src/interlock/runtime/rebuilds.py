"""Requests to rebuild a view, from any process that sees the data directory to the one that holds the view.

    <view>.rebuild.request.json   written by whoever asks, whole or not at all; at most one at a time
    <view>.rebuild.report.json    written by the holder: how the last one goes, or went

    asked ─► the holder sees it ─► rebuilds, reporting ─► reports the end ─► removes the request
                 ▲ a crash in between leaves the request, so the next holder goes on ┘

Always true: a request is removed only after its end is reported, so it is never lost; and a rebuild is harmless when
it is done twice. Two files and a look at one of them now and then need no port, no name and no cleaning up.
"""

import asyncio
import contextlib
import json
import logging
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from interlock.log.port import Unavailable
from interlock.processors.ports import Clock
from interlock.projections.host import RebuildUnderWay, ViewHost
from interlock.projections.projector import ViewStopped

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
    state: Literal["requested", "running", "done", "failed"] = "requested"
    ended_at_ms: int | None = None
    appends_done: int = 0
    appends_total: int = 0
    replaced_digest: str = ""
    rebuilt_digest: str = ""
    message: str = ""
    """Why it failed."""


class RebuildFiles:
    """The two files of one view."""

    def __init__(self, directory: Path, view: str) -> None:
        self._directory = directory
        self._request = directory / f"{view}.rebuild.request.json"
        self._report = directory / f"{view}.rebuild.report.json"

    def ask(self, request: RebuildReport) -> RebuildReport:
        """Leaves a request; where there is one already, joins it and returns that one."""
        self._directory.mkdir(parents=True, exist_ok=True)
        temporary = self._write(self._request, request)
        try:
            # A link, unlike a rename, fails where somebody was first.
            os.link(temporary, self._request)
        except FileExistsError:
            return self.request() or self.ask(request)
        finally:
            temporary.unlink(missing_ok=True)
        return request

    def request(self) -> RebuildReport | None:
        """The request that waits or is worked on."""
        return _read(self._request)

    def latest(self) -> RebuildReport | None:
        """How the request stands, or how the last one went; None if nobody ever asked."""
        request, report = self.request(), _read(self._report)
        if request is not None and (report is None or report.rebuild_id != request.rebuild_id):
            return request
        return report

    def report(self, report: RebuildReport) -> None:
        """Says how it goes."""
        self._write(self._report, report).replace(self._report)

    def answered(self) -> None:
        """Removes the request, whose end is reported."""
        self._request.unlink(missing_ok=True)

    def _write(self, path: Path, report: RebuildReport) -> Path:
        temporary = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(asdict(report), file)
            file.flush()
            os.fsync(file.fileno())
        return temporary


def _read(path: Path) -> RebuildReport | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return RebuildReport(**found)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        log.warning("expected a request or a report of a rebuild in %s, found %s; it is removed", path, error)
        path.unlink(missing_ok=True)
        return None


class RebuildDesk:
    """Takes up requests for the views that this process holds."""

    def __init__(self, directory: Path, views: Mapping[str, ViewHost], clock: Clock, *, look_s: float) -> None:
        """Looks for requests every `look_s` seconds."""
        self._views = views
        self._files = {name: RebuildFiles(directory, name) for name in views}
        self._clock = clock
        self._look_s = look_s

    async def run(self) -> None:
        """Until it is cancelled; what is under way then is gone on with by the next holder."""
        working: dict[str, asyncio.Task[None]] = {}
        try:
            while True:
                for name, files in self._files.items():
                    if (task := working.get(name)) is not None and task.done():
                        task.result()
                        del working[name]
                    if name not in working and (request := files.request()) is not None:
                        working[name] = asyncio.create_task(self._serve(name, request), name=f"rebuild {name}")
                await asyncio.sleep(self._look_s)
        finally:
            for task in working.values():
                task.cancel()
            await asyncio.gather(*working.values(), return_exceptions=True)

    async def _serve(self, name: str, request: RebuildReport) -> None:
        files = self._files[name]
        before = files.latest()
        if before is None or before.state not in ("done", "failed"):
            log.info("the view %s is being rebuilt (%s)", name, request.rebuild_id)
            ended = replace(await self._rebuild(name, request), ended_at_ms=self._clock.now_ms())
            files.report(ended)
            log.info("the rebuild of the view %s is %s %s", name, ended.state, ended.message)
        files.answered()

    async def _rebuild(self, name: str, request: RebuildReport) -> RebuildReport:
        host = self._views[name]
        work = asyncio.create_task(host.rebuild(compare=request.compare))
        running = replace(request, state="running")
        try:
            while not work.done():
                running = await self._progress(host, running)
                self._files[name].report(running)
                await asyncio.wait([work], timeout=REPORT_S)
            rebuilt = work.result()
        except RebuildUnderWay:
            return await self._resumed(name, running)
        except ViewStopped as error:
            return replace(running, state="failed", message=str(error))
        except Exception as error:
            log.exception("the rebuild of the view %s has failed; the old copy goes on serving", name)
            return replace(running, state="failed", message=f"{type(error).__name__}: {error}")
        finally:
            work.cancel()
        appends = sum(position.number for position in rebuilt.positions.values())
        return replace(
            running,
            state="done",
            appends_done=appends,
            appends_total=appends,
            replaced_digest=rebuilt.replaced_digest,
            rebuilt_digest=rebuilt.rebuilt_digest,
        )

    async def _resumed(self, name: str, running: RebuildReport) -> RebuildReport:
        """One that was cut short by a crash goes on by itself; it takes no digests."""
        host = self._views[name]
        generation = (await host.status()).generation
        while (status := await host.status()).rebuild is not None:
            running = await self._progress(host, running)
            self._files[name].report(running)
            await host.changed(REPORT_S)
        if status.generation > generation:
            return replace(running, state="done", appends_done=running.appends_total)
        return replace(running, state="failed", message=status.error or "it ended without a swap; the log says why")

    async def _progress(self, host: ViewHost, running: RebuildReport) -> RebuildReport:
        with contextlib.suppress(Unavailable):
            progress = (await host.status()).rebuild
            if progress is not None:
                return replace(running, appends_done=progress.appends_done, appends_total=progress.appends_total)
        return running
