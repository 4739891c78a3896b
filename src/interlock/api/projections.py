"""How the views are, and rebuilding them.

Positions and lag are read from a view's file, wherever it is projected. A rebuild is asked for by a file that the
holder of the view finds, so it is the same in one process and in several (`interlock.runtime.rebuilds`).
"""

import asyncio
from typing import Final, Literal, NamedTuple

from starlette.requests import Request

from interlock.api.bodies import NothingBody, RebuildBody, read_object, wait_of
from interlock.api.context import Context
from interlock.api.endpoint import Answer, marked
from interlock.api.failures import not_found
from interlock.log.journal import START, JournalReader, Position
from interlock.log.port import LogError, Shard
from interlock.projections.reader import FillingStopped, WarmingUp
from interlock.projections.views import VIEWS
from interlock.runtime.rebuilds import RebuildFiles, RebuildReport
from interlock.runtime.verifications import VerifyFiles, VerifyReport
from interlock.sdk.types import DifferingRow, Page, Rebuild, ShardPosition, Verification, ViewDrift, ViewStatus
from interlock.sdk.wire import from_wire

LOOK_S: Final = 0.1
"""How often a request that waits looks at how a view is."""
END_WAIT_S: Final = 2.0
"""How long the log is asked where its journals end."""
_State = Literal["warming up", "live", "stopped", "absent"]
_VIEWS: Final = {view.name: view for view in VIEWS}


class _Behind(NamedTuple):
    """What of a shard is not in the rows yet."""

    records: int
    """From the first append that counts to the end; void ones behind it are among them."""
    oldest_ms: int | None
    """The log's time of that append; None where there is none."""


async def projections(context: Context, request: Request) -> Answer[Page[ViewStatus]]:
    """How each view is: state, lag, positions, and its last rebuild."""
    statuses = await asyncio.gather(*(_status(context, view) for view in _VIEWS))
    return Answer(200, Page(items=tuple(statuses), next=None))


async def projection(context: Context, request: Request) -> Answer[ViewStatus]:
    """How one view is; with `wait` once its last rebuild and verification have ended, or once it is not as `seen`."""
    view, wait_s, seen = _known(request), wait_of(request), request.query_params.get("seen")
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (wait_s or 0.0)
    while True:
        found = await _status(context, view)
        works = (found.rebuild, found.verification)
        going_on = any(work is not None and work.state in ("requested", "running") for work in works)
        enough = found.mark != seen if seen is not None else not going_on
        if enough or context.stopping or loop.time() >= deadline:
            return Answer(200, found)
        await asyncio.sleep(LOOK_S)


async def rebuild(context: Context, request: Request) -> Answer[Rebuild]:
    """Asks whoever holds a view to make it anew from the journals; joins a rebuild that goes on already."""
    view = _known(request)
    body = RebuildBody.model_validate(await read_object(request))
    asked = RebuildReport(rebuild_id=context.engine.parts.ids(), requested_at_ms=context.now_ms(), compare=body.compare)
    report = await context.ask(lambda: _files(context, view).ask(asked))
    return Answer(202, _rebuild(view, report))


async def verify(context: Context, request: Request) -> Answer[Verification]:
    """Asks whoever holds a view to compare its rows with a fresh fold of the journals; joins one that goes on already.

    Nothing is changed by it, and the view goes on serving and projecting.
    """
    view = _known(request)
    NothingBody.model_validate(await read_object(request))
    asked = VerifyReport(verify_id=context.engine.parts.ids(), requested_at_ms=context.now_ms())
    report = await context.ask(lambda: _verify_files(context, view).ask(asked))
    return Answer(202, _verification(view, report))


def _known(request: Request) -> str:
    view: str = request.path_params["view"]
    if view not in _VIEWS:
        raise not_found(f"Expected a view of {', '.join(_VIEWS)}, found {view[:80]!r}.")
    return view


def _files(context: Context, view: str) -> RebuildFiles:
    return RebuildFiles(context.engine.settings.data / "views", view)


def _verify_files(context: Context, view: str) -> VerifyFiles:
    return VerifyFiles(context.engine.settings.data / "views", view)


async def _status(context: Context, view: str) -> ViewStatus:
    state, error, positions = await context.ask(lambda: _read(context, view))
    shards = context.engine.shards_of(_VIEWS[view])
    ends = await asyncio.gather(*(_end(context, shard) for shard in shards))
    held = context.engine.views.get(view)
    behind = await asyncio.gather(
        *(_behind(context, shard, positions.get(shard, START), end) for shard, end in zip(shards, ends, strict=True))
    )
    known = [each for each in behind if each is not None]
    told = len(known) == len(behind)
    oldest_ms = min((each.oldest_ms for each in known if each.oldest_ms is not None), default=None)
    now_ms = context.now_ms()
    age_ms = 0 if oldest_ms is None else max(0, now_ms - oldest_ms)
    report = await context.ask(lambda: _files(context, view).latest())
    verified = await context.ask(lambda: _verify_files(context, view).latest())
    drift = await context.ask(lambda: _drift(context, view))
    found = ViewStatus(
        view=view,
        state=state,
        lag=sum(each.records for each in known) if told else None,
        lag_ms=age_ms if told else None,
        held_here=held is not None,
        waiting_for="" if held is None else held.waiting_for,
        error=error,
        shards=tuple(_shard(shard, positions.get(shard, START), end) for shard, end in zip(shards, ends, strict=True)),
        rebuild=None if report is None else _rebuild(view, report),
        drift=drift,
        verification=None if verified is None else _verification(view, verified),
    )
    return marked(found)


def _drift(context: Context, view: str) -> ViewDrift | None:
    """How often its rows were found wrong, as far as the view `slots` knows."""
    try:
        row = context.queries.repairs.drift().get(view)
    except WarmingUp:
        return None
    return None if row is None else ViewDrift(repairs=row.repairs, rows=row.wrong_rows, last_at_ms=row.last_at_ms)


def _read(context: Context, view: str) -> tuple[_State, str, dict[Shard, Position]]:
    """State, error and positions, as the view's file says them."""
    try:
        with context.queries.readers[view].snapshot() as snapshot:
            marks, positions = snapshot.marks, snapshot.positions()
    except FillingStopped as stopped:
        return "stopped", str(stopped), {}
    except WarmingUp as warming:
        return "absent", str(warming), {}
    if marks.error:
        return "stopped", marks.error, positions
    return ("live" if marks.caught_up else "warming up"), "", positions


async def _end(context: Context, shard: Shard) -> int | None:
    try:
        async with asyncio.timeout(END_WAIT_S):
            return await context.engine.parts.backend.log.end(shard)
    except (LogError, TimeoutError):
        return None


async def _behind(context: Context, shard: Shard, position: Position, end: int | None) -> _Behind | None:
    """How far rows at this position are behind; None where the log can't be asked."""
    if end is None:
        return None
    reader = JournalReader(context.engine.parts.backend.log, shard, position)
    try:
        async with asyncio.timeout(END_WAIT_S):
            while reader.next_offset < end:
                if appends := await reader.read(END_WAIT_S):
                    return _Behind(end - appends[0].base, appends[0].time_ms)
    except (LogError, TimeoutError):
        return None
    finally:
        await reader.close()
    return _Behind(0, None)


def _shard(shard: Shard, position: Position, end: int | None) -> ShardPosition:
    return ShardPosition(
        topic=shard.topic, partition=shard.partition, number=position.number, offset=position.base, end=end
    )


def _rebuild(view: str, report: RebuildReport) -> Rebuild:
    return Rebuild(
        rebuild_id=report.rebuild_id,
        view=view,
        state=report.state,
        requested_at_ms=report.requested_at_ms,
        ended_at_ms=report.ended_at_ms,
        appends_done=report.appends_done,
        appends_total=report.appends_total,
        compare=report.compare,
        replaced_digest=report.replaced_digest,
        rebuilt_digest=report.rebuilt_digest,
        message=report.message,
    )


def _verification(view: str, report: VerifyReport) -> Verification:
    return Verification(
        verify_id=report.verify_id,
        view=view,
        state=report.state,
        requested_at_ms=report.requested_at_ms,
        ended_at_ms=report.ended_at_ms,
        appends_done=report.appends_done,
        appends_total=report.appends_total,
        rows=report.rows,
        missing=report.missing,
        foreign=report.foreign,
        changed=report.changed,
        samples=tuple(
            from_wire(DifferingRow, {"table": table, "kind": kind, "key": key}) for table, kind, key in report.samples
        ),
        message=report.message,
    )
