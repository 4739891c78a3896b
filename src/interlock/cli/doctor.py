"""What `interlock doctor` looks at; it changes nothing but a file in the data directory that it removes again."""

import platform
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from interlock.cli.address import find_api
from interlock.cli.blobs import look_at_blobs
from interlock.cli.codes import Code, CommandError
from interlock.cli.finding import Finding
from interlock.cli.settings import load
from interlock.cli.topics import check, embedded_missing, opened
from interlock.runtime.clock import wall_ms
from interlock.runtime.settings import Settings
from interlock.sdk import ApiError, Client, Unreachable, WireError

PYTHON_MIN = (3, 11)
FREE_BYTES_MIN = 64 << 20
"""Below it a disk counts as full: views and the embedded log grow by their write-ahead logs first."""


async def examine(log: str, data: Path | None, api: str) -> list[Finding]:
    """Everything, in the order in which to mend it."""
    findings = [_python()]
    try:
        settings = load(log=log, data=data)
    except CommandError as error:
        return [*findings, Finding(what="settings", ok=False, found=error.message, remedy="mend what it names")]
    findings += [_directory(settings.data), *_space(settings), await look_at_blobs(settings)]
    if (missing := embedded_missing(settings)) is not None:
        findings.append(Finding(what="log", ok=True, found=f"none yet at {missing}; `interlock up` makes it"))
    else:
        findings += [await _asked("topics", settings, _topics), await _asked("clock", settings, _clock)]
    findings += _extensions()
    findings.append(_api(find_api(api)))
    return findings


def _extensions() -> list[Finding]:
    """What other packages add to this process; one line for each that is broken, and none where there is nothing."""
    # Loaded where it is needed, for it loads what others have written.
    from interlock.runtime.extensions import load_extensions

    found = load_extensions()
    remedy = "mend or remove that package; what it validates or observes can't be published meanwhile"
    loaded = [Finding(what="extensions", ok=True, found="; ".join(found.names))] if found.names else []
    return [*loaded, *(Finding(what="extensions", ok=False, found=str(each), remedy=remedy) for each in found.broken)]


def _python() -> Finding:
    ok = sys.version_info >= PYTHON_MIN
    remedy = "" if ok else "install Python 3.11 or newer"
    return Finding(what="Python", ok=ok, found=platform.python_version(), remedy=remedy)


def _directory(data: Path) -> Finding:
    place = _existing(data)
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        remedy = "give the process another with --data, or the right to write there"
        return Finding(what="data directory", ok=False, found=f"{data.absolute()}: {error}", remedy=remedy)
    there = "can be written" if place == data else "can be made"
    return Finding(what="data directory", ok=True, found=f"{data.absolute()} {there}")


def _space(settings: Settings) -> list[Finding]:
    """How full the disks of the data directory and of an embedded log are; those that are one are told once."""
    places = {"disk of the data": settings.data}
    if settings.log_url.startswith("sqlite:///"):
        places["disk of the log"] = Path(settings.log_url.removeprefix("sqlite:///")).parent
    found: dict[int, Finding] = {}
    for what, place in places.items():
        there = _existing(place)
        try:
            device, free = there.stat().st_dev, shutil.disk_usage(there).free
        except OSError as error:
            return [*found.values(), Finding(what=what, ok=False, found=f"{there}: {error}", remedy="mend the disk")]
        ok = free >= FREE_BYTES_MIN
        remedy = "" if ok else f"make room: less than {FREE_BYTES_MIN >> 20} MiB free, and shards can't write"
        found.setdefault(
            device, Finding(what=what, ok=ok, found=f"{free >> 20} MiB free at {there.absolute()}", remedy=remedy)
        )
    return list(found.values())


def _existing(place: Path) -> Path:
    """The place, or what of the path to it is there."""
    while not place.exists() and place != place.parent:
        place = place.parent
    return place


async def _asked(what: str, settings: Settings, look: Callable[[Settings], Awaitable[Finding]]) -> Finding:
    try:
        return await look(settings)
    except CommandError as error:
        # What is reached and is no sound log isn't mended by starting anything.
        remedy = "put a backup of it back" if error.code is Code.FAILED else "start the log"
        remedy += ", or say where the right one is with --log or INTERLOCK_LOG"
        return Finding(what=what, ok=False, found=error.message, remedy=remedy)


async def _topics(settings: Settings) -> Finding:
    # The clock has a line of its own.
    faults = [fault for fault in await check(settings) if fault.setting != "clock"]
    if not faults:
        return Finding(what="topics", ok=True, found="all as they have to be")
    first = faults[0]
    found = f"{len(faults)} fault(s), the first: {first.topic}: {first.setting} is {first.found}, not {first.expected}"
    return Finding(what="topics", ok=False, found=found, remedy=first.remedy)


async def _clock(settings: Settings) -> Finding:
    async with opened(settings) as backend:
        skew_ms = -1000 * await backend.admin.clock_skew_s(wall_ms)
    ok = abs(skew_ms) <= settings.max_clock_skew_ms
    remedy = "" if ok else "set the clock (NTP); no shard is opened before"
    return Finding(what="clock", ok=ok, found=f"{round(skew_ms):+d} ms from the log's", remedy=remedy)


def _api(address: str) -> Finding:
    try:
        with Client(address) as client:
            problems = (*client.live().problems, *client.ready().problems)
    except (Unreachable, WireError, ApiError) as error:
        return Finding(what="API", ok=False, found=f"none at {address}", remedy=str(error).rpartition("; ")[2])
    if problems:
        return Finding(what="API", ok=False, found=f"{address}: {'; '.join(problems)}", remedy="see its log")
    return Finding(what="API", ok=True, found=f"{address} serves")
