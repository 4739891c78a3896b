"""`make demo`, run once; then everything that it says of itself is counted again, from its input and from its log."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from examples.demo.story import REPUBLISHED, RUSH
from examples.orders.generate import PATH, stimuli
from examples.plain_client import counted
from interlock.log.port import Shard, Stored
from interlock.log.sqlite.log import SqliteLog

pytestmark = pytest.mark.acceptance

ROOT = Path(__file__).resolve().parents[2]
DEMO_S = 240


@dataclass(frozen=True)
class Demo:
    """What is left of a run of the demo."""

    code: int
    output: str
    report: dict[str, object]
    data: Path

    def of(self, *path: str) -> dict[str, int]:
        """Counts of the report."""
        found = self.report
        for name in path:
            found = cast("dict[str, object]", found[name])
        return cast("dict[str, int]", found)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo, as `make demo` runs it, on a directory that is kept."""
    folder = tmp_path_factory.mktemp("demo")
    command = [
        sys.executable,
        "-m",
        "examples.demo",
        "--data",
        str(folder / "data"),
        "--report",
        str(folder / "d.json"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEMO_S, check=False)
    report = json.loads((folder / "d.json").read_text("utf-8"))
    return Demo(done.returncode, done.stdout + done.stderr, report, folder / "data")


@pytest.fixture(scope="module")
def lines() -> list[list[str]]:
    """The lines that the demo writes: under the first version, and under the second."""
    return [PATH.read_text("utf-8").splitlines(), [*stimuli(*REPUBLISHED), *stimuli(*RUSH)]]


def orders(lines: list[str]) -> set[str]:
    """The orders of some lines: what they are about is in their text, whatever else is wrong with them."""
    placed = (line for line in lines if line.startswith('{"type": "Event", "name": "order.placed"'))
    return {line.partition('"order_id": "')[2].partition('"')[0] for line in placed}


def test_the_demo_holds(demo: Demo) -> None:
    assert demo.code == 0, demo.output
    assert demo.report["held"] is True


def test_each_order_is_one_completed_run_of_the_version_that_had_authority(demo: Demo, lines: list[list[str]]) -> None:
    """Proves: PUB-03, PRJ-04, STM-04, EXE-01"""
    v1, v2 = (len(orders(each)) for each in lines)
    assert demo.of("runs", "byVersion") == {"v1": v1, "v2": v2}
    assert demo.of("runs", "byStatus") == {"completed": v1 + v2}


def test_each_distinct_stimulus_is_known_once(demo: Demo, lines: list[list[str]]) -> None:
    """Proves: STM-04"""
    every = [*lines[0], *lines[1]]
    unheard = {line for line in every if '"name": "catalog.viewed"' in line}
    known = orders(every)
    assert demo.of("stimuli", "byOutcome") == {
        "started": len(known),
        "resumed": len(known),
        "unmatched": len(unheard),
    }
    assert demo.of("stimuli")["written"] == len(every)


def test_what_is_unfit_is_a_dead_letter_with_its_reason(demo: Demo) -> None:
    """Proves: STM-07"""
    # What `generate.unfit` and `reused_key` say that they make, for each of the three files.
    each = {"unreadable": 2, "unknown-type": 1, "invalid": 4, "conflict": 1}
    assert demo.of("deadLetters", "byReason") == {reason: 3 * count for reason, count in each.items()}


def test_runs_were_in_the_middle_of_work_when_the_process_was_killed(demo: Demo) -> None:
    killed = demo.of("killed")
    assert killed["begun"] - killed["ended"] >= 10
    assert killed["writtenWhileDown"] > 0


def test_every_view_was_rebuilt_and_dropped_without_a_difference(demo: Demo) -> None:
    """Proves: PRJ-06"""
    assert demo.of("rebuilt").keys() == {"trigger-index", "slots", "stimuli", "executions", "history"}
    assert {name.partition(".")[0] for name in demo.of("dropped")} == demo.of("rebuilt").keys()
    assert demo.of("dropped")["executions.executions"] == sum(demo.of("runs", "byStatus").values())


async def test_the_journals_say_the_same_to_a_plain_reader(demo: Demo, lines: list[list[str]]) -> None:
    """Proves: LOG-01, LOG-03"""
    log = SqliteLog(demo.data / "interlock.sqlite")
    try:
        events = [event async for event in _events(log, "interlock.executions.journal", 4)]
        letters = await _records(log, Shard("interlock.dead-letters", 0))
    finally:
        await log.close()
    types = Counter(headers["type"].decode().partition(".")[2] for _, headers in events)
    assert types["ExecutionStarted"] == types["ExecutionCompleted"] == len(orders([*lines[0], *lines[1]]))
    streams: dict[bytes, list[int]] = {}
    for key, headers in events:
        streams.setdefault(key, []).append(int(headers["revision"]))
    assert len(streams) == types["ExecutionStarted"]
    assert all(revisions == list(range(1, len(revisions) + 1)) for revisions in streams.values())
    # Delivered at least once, so by id.
    reasons = {found["id"]: found["reason"] for found in (json.loads(record.value) for record in letters)}
    assert Counter(reasons.values()) == demo.of("deadLetters", "byReason")


async def _events(log: SqliteLog, topic: str, partitions: int) -> AsyncIterator[tuple[bytes, dict[str, bytes]]]:
    for partition in range(partitions):
        for append in counted(await _records(log, Shard(topic, partition))):
            for record in append:
                headers = dict(record.headers)
                if headers["kind"] == b"event":
                    yield record.key, headers


async def _records(log: SqliteLog, shard: Shard) -> list[Stored]:
    records: list[Stored] = []
    end = await log.end(shard)
    reader = log.reader(shard, 0)
    while len(records) < end:
        records += await reader.read(1.0)
    await reader.close()
    return records
