"""What is run to measure publishing at scale, and the result that comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from ops.bench import publishing
from ops.bench.figures import Spread, percentile, spread
from ops.bench.history import CLAIMS
from ops.bench.plan import Options, Place, Say
from ops.bench.process import Child
from ops.bench.publishing import Start, Steady
from ops.bench.work import LogKind

PREFLIGHTS: Final = 1
"""Beside each publish."""
SETTLE_PUBLISHES: Final = 40
"""Before the first round: what a first start has left to do is no part of what is steady."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much there is, and how much is asked."""

    slots: int
    publishes: int
    """Of a round."""
    rate: float
    """Publishes a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishingResult:
    """One log, over the rounds."""

    log: LogKind
    slots: int
    claims: int
    rate: float
    active_p50_ms: Spread
    active_p99_ms: Spread
    preflight_p50_ms: Spread
    preflight_p99_ms: Spread
    cpu_ms: Spread
    """CPU milliseconds a publish, its preflight included."""
    fold_s: Spread
    """A start of a replica from the beginning of the journal."""
    fold_cpu_s: Spread
    snapshot_s: Spread
    """A start of a replica from a snapshot."""
    snapshot_cpu_s: Spread
    memory_mb: float
    hot: tuple[str, ...]
    """Where the CPU time goes, as lines of text; () where that was not asked for."""


def measure_publishing(log: LogKind, place: Place, scale: Scale, options: Options, say: Say) -> PublishingResult:
    """A history, starts of a replica from it, and publishes at a steady rate behind it."""
    scenario = place.scenario(log, f"publishing {log}", shards=options.shards)
    child = Child(f"publishing on {log}", publishing.main, scenario, scale.slots)
    try:
        say(f"{log}: publishing {scale.slots} slots")
        child.ask("write")
        folds: list[Start] = []
        snapshots: list[Start] = []
        child.ask("begin", True)
        for number in range(options.rounds):
            say(f"{log}: starts of a replica, round {number + 1}")
            folds.append(child.ask("begin", False))
            snapshots.append(child.ask("begin", True))
        say(f"{log}: filling the views of {scale.slots} slots")
        child.ask("start")
        child.ask("steady", SETTLE_PUBLISHES, scale.rate, PREFLIGHTS)
        rounds: list[Steady] = []
        for number in range(options.rounds):
            say(f"{log}: {scale.publishes} publishes at {scale.rate:g} a second, round {number + 1}")
            rounds.append(child.ask("steady", scale.publishes, scale.rate, PREFLIGHTS))
        hot = (
            cast("list[str]", child.ask("profile", scale.publishes, scale.rate, PREFLIGHTS)) if options.profile else []
        )
        memory_mb = cast("float", child.ask("memory_mb"))
        child.ask("close")
    finally:
        child.end()
    return PublishingResult(
        log=log,
        slots=scale.slots,
        claims=scale.slots * CLAIMS,
        rate=scale.rate,
        active_p50_ms=_percentiles([one.publishes_ms for one in rounds], 50),
        active_p99_ms=_percentiles([one.publishes_ms for one in rounds], 99),
        preflight_p50_ms=_percentiles([one.preflights_ms for one in rounds], 50),
        preflight_p99_ms=_percentiles([one.preflights_ms for one in rounds], 99),
        cpu_ms=spread([one.cpu_ms for one in rounds]),
        fold_s=spread([one.seconds for one in folds]),
        fold_cpu_s=spread([one.cpu_s for one in folds]),
        snapshot_s=spread([one.seconds for one in snapshots]),
        snapshot_cpu_s=spread([one.cpu_s for one in snapshots]),
        memory_mb=memory_mb,
        hot=tuple(hot),
    )


def _percentiles(rounds: Sequence[Sequence[float]], percent: float) -> Spread:
    return spread([percentile(values, percent) for values in rounds])
