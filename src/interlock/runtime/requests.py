"""Requests about a view, from any process that sees the data directory to the one that holds the view.

    <view>.<work>.request.json   written by whoever asks, whole or not at all; at most one at a time
    <view>.<work>.report.json    written by the holder: how the last one goes, or went

    asked ─► the holder sees it ─► works, reporting ─► reports the end ─► removes the request
                 ▲ a crash in between leaves the request, so the next holder goes on ┘

Always true: a request is removed only after its end is reported, so it is never lost; and what is asked for is harmless
when it is done twice. Two files and a look at one of them now and then need no port, no name and no cleaning up.
"""

import asyncio
import json
import logging
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, cast

from interlock.projections.host import ViewHost

log = logging.getLogger(__name__)

State = Literal["requested", "running", "done", "failed"]


class Report(Protocol):
    """What was asked for, and how it goes: a data class whose fields JSON can hold."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def identity(self) -> str:
        """Tells one request from the next."""
        ...

    @property
    def state(self) -> State:
        """requested: no holder has taken it up yet."""
        ...


R = TypeVar("R", bound=Report)


class RequestFiles(Generic[R]):
    """The two files of one kind of work on one view."""

    def __init__(self, directory: Path, view: str, work: str, type_: type[R]) -> None:
        self._directory = directory
        self._request = directory / f"{view}.{work}.request.json"
        self._report = directory / f"{view}.{work}.report.json"
        self._type = type_

    def ask(self, request: R) -> R:
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

    def request(self) -> R | None:
        """The request that waits or is worked on."""
        return self._read(self._request)

    def latest(self) -> R | None:
        """How the request stands, or how the last one went; None if nobody ever asked."""
        request, report = self.request(), self._read(self._report)
        if request is not None and (report is None or report.identity != request.identity):
            return request
        return report

    def report(self, report: R) -> None:
        """Says how it goes."""
        self._write(self._report, report).replace(self._report)

    def answered(self) -> None:
        """Removes the request, whose end is reported."""
        self._request.unlink(missing_ok=True)

    def _write(self, path: Path, report: R) -> Path:
        temporary = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(asdict(report), file)
            file.flush()
            os.fsync(file.fileno())
        return temporary

    def _read(self, path: Path) -> R | None:
        try:
            found = cast("dict[str, Any]", json.loads(path.read_text("utf-8")))
            return self._type(**found)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            log.warning("expected a request or a report in %s, found %s; it is removed", path, error)
            path.unlink(missing_ok=True)
            return None


class RequestDesk(Generic[R]):
    """Takes up the requests of one kind for the views that this process holds."""

    def __init__(
        self,
        views: Mapping[str, ViewHost],
        files: Mapping[str, RequestFiles[R]],
        work: Callable[[ViewHost, RequestFiles[R], R], Awaitable[R]],
        *,
        look_s: float,
    ) -> None:
        """`work` gives the report of the end; looks for requests every `look_s` seconds."""
        self._views = views
        self._files = files
        self._work = work
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
                        working[name] = asyncio.create_task(self._serve(name, request), name=f"request about {name}")
                await asyncio.sleep(self._look_s)
        finally:
            for task in working.values():
                task.cancel()
            await asyncio.gather(*working.values(), return_exceptions=True)

    async def _serve(self, name: str, request: R) -> None:
        files = self._files[name]
        before = files.latest()
        if before is None or before.state not in ("done", "failed"):
            files.report(await self._work(self._views[name], files, request))
        files.answered()
