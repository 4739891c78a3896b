"""`python -m ops.bench`: measures, and prints tables; `make bench` runs all of it.

python -m ops.bench [journal|engine|hops|publishing|all] [--log sqlite|kafka|memory]… [--runs N] [--json FILE]
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from ops.bench.broker import broker
from ops.bench.plan import Options, Place, Say, hops_of, measure_journal, measure_runs, scenarios
from ops.bench.process import ChildFailed
from ops.bench.report import Report
from ops.bench.scale import Scale, measure_publishing
from ops.bench.subject_child import Kind
from ops.kafka import KafkaError, KafkaMissing

COLUMNS_MIN = 170
KINDS: tuple[Kind, ...] = ("engine", "hops")
MISSING = 3
"""The exit code where a broker was wanted and none can be had."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line says, and answers with the exit code."""
    chosen = _parser().parse_args(arguments)
    everything = chosen.what == "all"
    options = Options(
        logs=tuple(chosen.log or ("sqlite", "kafka")),
        runs=chosen.runs,
        rounds=chosen.rounds,
        singles=chosen.singles,
        shards=chosen.shards,
        kinds=("engine", "hops") if everything else tuple(kind for kind in KINDS if kind == chosen.what),
        profile=chosen.profile,
    )
    scale = Scale(slots=chosen.slots, publishes=chosen.publishes, rate=chosen.rate)
    console, report = Console(), Report()
    # Tables are made for a wide terminal; where none is known, as in a file, rich takes 80 columns.
    console.width = max(console.width, COLUMNS_MIN)
    try:
        with ExitStack() as until:
            folder = Path(until.enter_context(tempfile.TemporaryDirectory(prefix="interlock-bench-")))
            bootstrap = until.enter_context(broker(folder / "kafka")) if "kafka" in options.logs else ""
            place = Place(folder=folder, bootstrap=bootstrap)
            with console.status("starting") as status:
                _measure(chosen.what, place, options, scale, report, status.update)
    except KafkaMissing as missing:
        print(f"bench: no broker can be had here; leave Kafka out with --log sqlite.\n{missing}", file=sys.stderr)
        return MISSING
    except (KafkaError, ChildFailed) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    report.show(console)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(report.as_json(), indent=2) + "\n", "utf-8")
    return 0


def _measure(what: str, place: Place, options: Options, scale: Scale, report: Report, say: Say) -> None:
    for log in options.logs:
        if what in ("journal", "all"):
            report.stores += measure_journal(log, place, options, say)
        if what in ("publishing", "all"):
            report.publishing.append(measure_publishing(log, place, scale, options, say))
        if what in ("journal", "publishing"):
            continue
        for scenario in scenarios(log, place, options):
            results, ratio = measure_runs(scenario, hops_of(scenario, place), options, say)
            report.runs += results
            if ratio is not None:
                report.ratios.append(ratio)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ops.bench", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("journal", *KINDS, "publishing", "all"), default="all")
    parser.add_argument("--log", action="append", choices=("sqlite", "kafka", "memory"), help="may be given again")
    parser.add_argument("--runs", type=int, default=2000, help="of a round under load")
    parser.add_argument("--singles", type=int, default=50, help="of a round of one run at a time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shards", type=int, default=4, help="of routing and of executions")
    parser.add_argument("--slots", type=int, default=10_000, help="behind publishing, with three claims each")
    parser.add_argument("--publishes", type=int, default=400, help="of a round")
    parser.add_argument("--rate", type=float, default=20.0, help="publishes a second")
    parser.add_argument("--json", type=Path, help="write the results to this file too")
    parser.add_argument("--profile", action="store_true", help="say where the engine's time goes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
