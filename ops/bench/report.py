"""The results as tables, and as JSON."""

import dataclasses
import platform
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from ops.bench.figures import Spread
from ops.bench.plan import Ratio, RunsResult, StoreResult
from ops.bench.scale import PublishingResult

JOURNAL_COST_MAX = 1.3
RATE_MIN = 0.25
LATENCY_MAX = 4.0
ACTIVE_P99_MS = {"sqlite": 100, "kafka": 300}
PREFLIGHT_MS = 20
"""What the journal and the engine are held to, beside what they stand on in the same run."""


@dataclasses.dataclass(slots=True)
class Report:
    """All that was measured."""

    stores: list[StoreResult] = dataclasses.field(default_factory=list[StoreResult])
    runs: list[RunsResult] = dataclasses.field(default_factory=list[RunsResult])
    ratios: list[Ratio] = dataclasses.field(default_factory=list[Ratio])
    publishing: list[PublishingResult] = dataclasses.field(default_factory=list[PublishingResult])

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        machine = {"python": platform.python_version(), "system": platform.platform()}
        return {"machine": machine, **dataclasses.asdict(self)}

    def show(self, console: Console) -> None:
        """For people."""
        if self.stores:
            console.print(_stores_table(self.stores))
        if self.runs:
            console.print(_runs_table(self.runs))
        if self.ratios:
            console.print(_ratios_table(self.ratios))
        if self.publishing:
            console.print(_publishing_table(self.publishing))
        named = [(f"{one.scenario}, {one.who}", one.hot) for one in self.runs]
        named += [(f"publishing on {one.log}", one.hot) for one in self.publishing]
        for name, hot in named:
            if hot:
                console.print("\n".join([f"{name}: where its CPU time goes", *hot]), markup=False, highlight=False)


def _publishing_table(results: Sequence[PublishingResult]) -> Table:
    table = _table(
        "Publishing, from the request until every routing shard decides at it (aim: p99 at most "
        f"{ACTIVE_P99_MS['sqlite']} ms embedded and {ACTIVE_P99_MS['kafka']} on Kafka; a preflight {PREFLIGHT_MS})",
        (
            *("log", "slots", "claims", "a second", "active p50 ms", "p99 ms", "preflight p50 ms", "p99 ms"),
            *("CPU ms", "MB", "start s", "CPU s", "from a snapshot s", "CPU s"),
        ),
    )
    for one in results:
        table.add_row(
            *(one.log, str(one.slots), str(one.claims), f"{one.rate:g}"),
            *(_ranged(one.active_p50_ms, 0), _ranged(one.active_p99_ms, 0)),
            *(_ranged(one.preflight_p50_ms, 1), _ranged(one.preflight_p99_ms, 1)),
            *(_ranged(one.cpu_ms, 1), f"{one.memory_mb:.0f}"),
            *(_ranged(one.fold_s, 1), _ranged(one.fold_cpu_s, 1)),
            *(_ranged(one.snapshot_s, 1), _ranged(one.snapshot_cpu_s, 1)),
        )
    return table


def _stores_table(results: Sequence[StoreResult]) -> Table:
    table = _table(
        f"The journal beside the bare store, one append at a time (aim: at most {JOURNAL_COST_MAX} times its cost)",
        ("log", "records", "who", "appends/s", "p50 ms", "p99 ms", "times the bare"),
    )
    for one in results:
        cost = "" if one.cost is None else _ranged(one.cost, 2)
        table.add_row(
            one.log,
            str(one.records),
            one.who,
            _ranged(one.appends_s, 0),
            _ranged(one.p50_ms, 2),
            _ranged(one.p99_ms, 2),
            cost,
        )
    return table


def _runs_table(results: Sequence[RunsResult]) -> Table:
    table = _table(
        "Runs under load, and one at a time",
        (
            "scenario",
            "who",
            "runs/s",
            "CPU s/1,000",
            "p50 ms",
            "p99 ms",
            "records",
            "bytes",
            "batches",
            "flushes",
            "MB",
        ),
    )
    for one in results:
        table.add_row(
            one.scenario,
            one.who,
            _ranged(one.runs_s, 0),
            _ranged(one.cpu_s, 2),
            _ranged(one.p50_ms, 1),
            _ranged(one.p99_ms, 1),
            f"{one.records:.2f}",
            f"{one.bytes:,.0f}",
            f"{one.batches:.3f}",
            f"{one.flushes:.3f}" if one.flushes else "",
            f"{one.memory_mb:.0f}",
        )
    return table


def _ratios_table(results: Sequence[Ratio]) -> Table:
    table = _table(
        f"The engine in times of the bare hops (aim: a rate of at least {RATE_MIN}, a p50 of at most {LATENCY_MAX})",
        ("scenario", "rate", "latency (p50)", "CPU"),
    )
    for one in results:
        table.add_row(one.scenario, _ranged(one.rate, 2), _ranged(one.latency, 2), _ranged(one.cpu, 2))
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 or column == "who" else "right")
    return table


def _ranged(value: Spread, digits: int) -> str:
    """The median, with the smallest and the largest of the rounds."""
    median, low, high = (f"{each:,.{digits}f}" for each in value)
    return f"{median} ({low}–{high})"
