"""What is run, in which order: the rounds of a comparison, and the results that come of them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from interlock.domain.definitions.executable import Cadence
from interlock.runtime.roles import Role
from ops.bench import journal, subject_child
from ops.bench.figures import Spread, percentile, spread
from ops.bench.journal import BARE_FROM_LOOP, SIZES, Turn
from ops.bench.process import Child
from ops.bench.subject import Counts, Load
from ops.bench.subject_child import Kind
from ops.bench.work import APART, TOGETHER, LogKind, Scenario

JOURNAL_ROUNDS = 3
"""The journal's rounds are short, so there are so many for each round of runs."""
CADENCES: tuple[Cadence, ...] = ("immediate", "coalesced")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for."""

    logs: tuple[LogKind, ...]
    runs: int
    """Of a round under load."""
    rounds: int
    singles: int
    """Of a round of one run at a time."""
    shards: int
    kinds: tuple[Kind, ...]
    profile: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where things are put."""

    folder: Path
    bootstrap: str
    """The brokers; "" where none is needed."""

    def scenario(
        self,
        log: LogKind,
        name: str,
        *,
        shards: int = 1,
        checkpoints: Cadence = "immediate",
        waits: bool = False,
        processes: tuple[tuple[Role, ...], ...] = TOGETHER,
    ) -> Scenario:
        """A scenario with a folder, a file or topics of its own."""
        folder = self.folder / name.replace(" ", "-")
        folder.mkdir()
        urls = {
            "memory": "memory:",
            "sqlite": f"sqlite:///{folder / 'log.sqlite'}",
            "kafka": f"kafka://{self.bootstrap}?prefix=bench-{time.time_ns()}",
        }
        return Scenario(
            log=log,
            checkpoints=checkpoints,
            waits=waits,
            processes=processes,
            shards=shards,
            url=urls[log],
            folder=folder,
        )


# ---- the journal --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreResult:
    """One way to append records, over the rounds."""

    log: LogKind
    who: str
    records: int
    appends_s: Spread
    """Appends a second."""
    p50_ms: Spread
    p99_ms: Spread
    cost: Spread | None
    """How many times as long as the bare store an append takes, round by round; None for the store itself."""


def measure_journal(log: LogKind, place: Place, options: Options, say: Say) -> list[StoreResult]:
    """The journal beside the bare store, on one log."""
    child = Child(f"journal on {log}", journal.main, place.scenario(log, f"journal {log}"))
    try:
        rounds: list[list[Turn]] = []
        for number in range(options.rounds * JOURNAL_ROUNDS):
            say(f"{log}: journal, round {number + 1}")
            rounds.append(child.ask("round"))
        child.ask("close")
    finally:
        child.end()
    whos = sorted({turn.who for turn in rounds[0]}, key=("journal", "bare", BARE_FROM_LOOP).index)
    return [_store_result(log, who, size, rounds) for size in SIZES for who in whos]


def _store_result(log: LogKind, who: str, size: int, rounds: Sequence[Sequence[Turn]]) -> StoreResult:
    def of(name: str) -> list[Turn]:
        return [turn for turns in rounds for turn in turns if turn.who == name and turn.records == size]

    mine, bare = of(who), of("bare")
    ratios = [
        (one.seconds / one.appends) / (other.seconds / other.appends) for one, other in zip(mine, bare, strict=False)
    ]
    return StoreResult(
        log=log,
        who=who,
        records=size,
        appends_s=spread([turn.appends / turn.seconds for turn in mine]),
        p50_ms=spread([turn.p50_s * 1e3 for turn in mine]),
        p99_ms=spread([turn.p99_s * 1e3 for turn in mine]),
        cost=None if who == "bare" or not ratios else spread(ratios),
    )


# ---- runs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsResult:
    """The engine, or the bare hops, over the rounds of one scenario."""

    scenario: str
    who: Kind
    runs_s: Spread
    cpu_s: Spread
    """CPU seconds for 1,000 runs."""
    p50_ms: Spread
    p99_ms: Spread
    records: float
    """A run, frames included."""
    bytes: float
    batches: float
    """A run: what landed in one shard at once."""
    flushes: float
    """A run; 0 where nothing is flushed."""
    memory_mb: float
    hot: tuple[str, ...]
    """Where the CPU time of the caller's process goes, as lines of text; () where that was not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The engine against the bare hops of the same scenario, round by round."""

    scenario: str
    rate: Spread
    """Runs a second, as a part of the hops'."""
    latency: Spread
    """The p50 of one run at a time, in times of the hops'."""
    cpu: Spread
    """CPU seconds, in times of the hops'."""


@dataclass(slots=True)
class _Rounds:
    """What one subject did."""

    child: Child
    loads: list[Load]
    p50s: list[float]
    p99s: list[float]


def scenarios(log: LogKind, place: Place, options: Options) -> list[Scenario]:
    """What the engine is measured at, on one log."""
    laid_out = [TOGETHER] if log == "memory" else [TOGETHER, APART]
    found = [
        place.scenario(
            log, f"{log} {cadence} {len(processes)}", shards=options.shards, checkpoints=cadence, processes=processes
        )
        for processes in laid_out
        for cadence in CADENCES
    ]
    waits = place.scenario(log, f"{log} waits", shards=options.shards, waits=True)
    return [*found, waits]


def hops_of(scenario: Scenario, place: Place) -> Scenario | None:
    """The bare hops to compare a scenario with, in one process in any case; None where there are none."""
    if scenario.waits:
        return None
    name = f"hops of {scenario.folder.name}"
    return place.scenario(scenario.log, name, shards=scenario.shards, checkpoints=scenario.checkpoints)


def measure_runs(
    scenario: Scenario, hops: Scenario | None, options: Options, say: Say
) -> tuple[list[RunsResult], Ratio | None]:
    """The engine and, where `hops` is given, the bare hops, which take turns."""
    kinds: list[tuple[Kind, Scenario]] = [("engine", scenario)] if "engine" in options.kinds else []
    if hops is not None and "hops" in options.kinds:
        kinds.append(("hops", hops))
    subjects: dict[Kind, _Rounds] = {}
    results: list[RunsResult] = []
    try:
        for kind, each in kinds:
            say(f"{scenario.name}: {kind}, warming up")
            subjects[kind] = _Rounds(Child(f"{kind} of {scenario.name}", subject_child.main, kind, each), [], [], [])
            _warm_up(subjects[kind].child, options)
        for number in range(options.rounds):
            for kind, one in subjects.items():
                say(f"{scenario.name}: {kind}, round {number + 1}")
                _round(one, options)
        for kind, one in subjects.items():
            say(f"{scenario.name}: {kind}, counting")
            results.append(_runs_result(scenario.name, kind, one, options))
            one.child.ask("close")
    finally:
        for one in subjects.values():
            one.child.end()
    both = subjects.get("engine"), subjects.get("hops")
    ratio = None if both[0] is None or both[1] is None else _ratio(scenario.name, both[0], both[1])
    return results, ratio


def _warm_up(child: Child, options: Options) -> None:
    child.ask("start")
    child.ask("load", max(200, options.runs // 4))
    for _ in range(10):
        child.ask("single")


def _round(one: _Rounds, options: Options) -> None:
    one.loads.append(one.child.ask("load", options.runs))
    singles = [cast("float", one.child.ask("single")) for _ in range(options.singles)]
    one.p50s.append(percentile(singles, 50))
    one.p99s.append(percentile(singles, 99))


def _runs_result(name: str, kind: Kind, one: _Rounds, options: Options) -> RunsResult:
    one.child.ask("mark")
    one.child.ask("load", options.runs)
    counts: Counts = one.child.ask("counts")
    return RunsResult(
        scenario=name,
        who=kind,
        runs_s=spread([load.runs / load.seconds for load in one.loads]),
        cpu_s=spread([load.cpu_s / load.runs * 1000 for load in one.loads]),
        p50_ms=spread([value * 1e3 for value in one.p50s]),
        p99_ms=spread([value * 1e3 for value in one.p99s]),
        records=counts.records / options.runs,
        bytes=counts.bytes / options.runs,
        batches=counts.batches / options.runs,
        flushes=counts.flushes / options.runs,
        memory_mb=one.child.ask("memory_mb"),
        # Last, as taking samples costs time too.
        hot=tuple(one.child.ask("profile", 2 * options.runs) if options.profile and kind == "engine" else ()),
    )


def _ratio(name: str, engine: _Rounds, hops: _Rounds) -> Ratio:
    loads = list(zip(engine.loads, hops.loads, strict=True))
    return Ratio(
        scenario=name,
        rate=spread([other.seconds / mine.seconds for mine, other in loads]),
        latency=spread([mine / other for mine, other in zip(engine.p50s, hops.p50s, strict=True)]),
        cpu=spread([mine.cpu_s / other.cpu_s for mine, other in loads]),
    )
