"""`/metrics`: how this process is, in Prometheus' text form.

All of it is read when it is asked for, from what the process keeps anyway; so it costs nothing while nobody asks. Each
process tells of itself alone: of the shards and views that it holds, and of its own passes; only what was ever repaired
is what the journals say, the same in each process that answers from views. What is not known, such as the lag of a view
while the log does not answer, is left out rather than told as 0.
"""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from interlock.api.context import Context
from interlock.processors.reconciler import Reconciler
from interlock.projections.host import ViewHost
from interlock.projections.reader import WarmingUp
from interlock.projections.slots.repairs import DriftRow
from interlock.runtime.engine import Engine

LOG_WAIT_S: Final = 2.0
"""How long the log may take to say where the journals end that views are compared with."""


def metrics_route(engine: Engine, context: Context | None = None) -> Route:
    """The route of a process, whatever its roles are; `context` where it answers from views."""

    async def metrics(request: Request) -> Response:
        lags = await asyncio.gather(*(_lag(engine.views[view]) for view in engine.views))
        views = dict(zip(engine.views, lags, strict=True))
        found = [*_health(engine), *_shards(engine), *_views(engine, views)]
        if engine.reconciler is not None:
            found += _passes(engine.reconciler)
            repaired = None if context is None else await _repaired(context)
            if repaired is not None:
                found += _repairs(engine.reconciler, repaired)
        # A registry of its own: two engines of one process, as tests have them, would count together in the global one.
        registry = CollectorRegistry()
        registry.register(_Told(found))
        ProcessCollector(registry=registry)
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(registry), media_type=content_type)

    return Route("/metrics", metrics, methods=["GET"])


class _Told(Collector):
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


async def _lag(view: ViewHost) -> int | None:
    """How many records a view is behind; None where the log doesn't tell in time."""
    try:
        async with asyncio.timeout(LOG_WAIT_S):
            return (await view.status()).lag
    except TimeoutError:
        return None


async def _repaired(context: Context) -> Mapping[str, DriftRow] | None:
    """View → what of it was ever repaired; None where the view that knows it can't tell now."""
    try:
        return await context.ask(context.queries.repairs.drift)
    except (WarmingUp, sqlite3.Error):
        return None


def _health(engine: Engine) -> Iterator[Metric]:
    yield _gauge("faults", "What stands still until somebody acts; /health/live names it.", len(engine.faults()))
    waiting = len(engine.waiting())
    yield _gauge("waiting", "What has to come before the process does its part; /health/ready names it.", waiting)
    if "executions" in engine.roles:
        unserved = len(engine.unserved())
        yield _gauge("unserved_runs", "Runs of its shards whose next activity it has no code of.", unserved)


def _shards(engine: Engine) -> Iterator[Metric]:
    labels = ("context", "partition")
    is_open = GaugeMetricFamily(
        "interlock_shard_open",
        "1 where an assigned shard is open, 0 where it is opened or stands.",
        labels=labels,
    )
    takeovers = CounterMetricFamily(
        "interlock_shard_takeovers", "How often a shard was opened since it was assigned here.", labels=labels
    )
    undelivered = GaugeMetricFamily(
        "interlock_undelivered_intents", "Intents that are committed and not delivered yet.", labels=labels
    )
    age = GaugeMetricFamily(
        "interlock_oldest_undelivered_intent_age_seconds",
        "How long ago the oldest undelivered intent was decided, by whichever process; 0 where there is none.",
        labels=labels,
    )
    now_ms = engine.parts.clock.now_ms()
    for host in engine.hosts:
        for partition, processor in sorted(host.processors.items()):
            values = (host.context, str(partition))
            is_open.add_metric(values, int(processor.serving))
            takeovers.add_metric(values, processor.takeovers)
        for partition, waiting in sorted(host.undelivered().items()):
            values = (host.context, str(partition))
            undelivered.add_metric(values, waiting.promises)
            age.add_metric(values, _age_s(now_ms, waiting.oldest_ms))
    if engine.hosts:
        yield from (is_open, takeovers, undelivered, age)


def _passes(reconciler: Reconciler) -> Iterator[Metric]:
    yield CounterMetricFamily(
        "interlock_reconciler_passes", "Passes of the reconciler that came to their end.", value=reconciler.sweeps
    )
    drift = CounterMetricFamily(
        "interlock_drift_rows",
        "Rows that passes found to be not as the slots call for, repaired or not.",
        labels=("view", "difference"),
    )
    for labels, rows in reconciler.drift.items():
        drift.add_metric(labels, rows)
    yield drift


def _repairs(reconciler: Reconciler, repaired: Mapping[str, DriftRow]) -> Iterator[Metric]:
    repairs = CounterMetricFamily(
        "interlock_recorded_repairs",
        "Publications whose rows in a view were restated, by whichever process asked, as the journals say.",
        labels=("view",),
    )
    rows = CounterMetricFamily(
        "interlock_repaired_rows", "Rows of a view that the recorded repairs are about.", labels=("view",)
    )
    # Those of which nothing was repaired yet are told as well: of a count that begins with 1, nobody sees the growth.
    for view in sorted({*repaired, *(kind for kind, _ in reconciler.drift)}):
        row = repaired.get(view)
        repairs.add_metric((view,), 0 if row is None else row.repairs)
        rows.add_metric((view,), 0 if row is None else row.wrong_rows)
    yield from (repairs, rows)


def _views(engine: Engine, lags: Mapping[str, int | None]) -> Iterator[Metric]:
    live = GaugeMetricFamily(
        "interlock_view_live",
        "1 where a view has caught up and goes on; else 0.",
        labels=("view",),
    )
    lag = GaugeMetricFamily(
        "interlock_view_lag_records", "Records of its journals that a view has not taken in yet.", labels=("view",)
    )
    age = GaugeMetricFamily(
        "interlock_view_lag_seconds",
        "How long ago the oldest record was written that a view has read and not taken in yet; 0 where there is none.",
        labels=("view",),
    )
    rebuilding = GaugeMetricFamily(
        "interlock_view_rebuilding", "1 while a second copy of a view is filled, to be swapped in.", labels=("view",)
    )
    now_ms = engine.parts.clock.now_ms()
    for name, behind in lags.items():
        view = engine.views[name]
        age.add_metric((name,), _age_s(now_ms, view.oldest_ms))
        live.add_metric((name,), int(view.caught_up))
        rebuilding.add_metric((name,), int(view.working == "rebuild"))
        if behind is not None:
            lag.add_metric((name,), behind)
    if engine.views:
        yield from (live, lag, age, rebuilding)


def _age_s(now_ms: int, since_ms: int | None) -> float:
    return 0 if since_ms is None else max(0, now_ms - since_ms) / 1000


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(f"interlock_{name}", meaning, value=value)
