"""How many records a run costs: a bound that no noise moves, and so a test and not a measurement.

The whole engine runs in this process, on a memory log and on a SQLite file, with its projections; what it wrote is read
back from the log. The activities are waited for however long they take, so that time decides nothing here.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from interlock.domain.definitions.executable import Cadence
from interlock.domain.messages import Origin, RouteStimulus
from interlock.domain.routing.intake import read_stimulus
from interlock.log.frame import is_event, read_frame
from interlock.log.port import Log, Shard
from interlock.runtime.topics import topic_specs
from ops.bench.counting import read
from ops.bench.engine import EngineSubject
from ops.bench.work import TOGETHER, LogKind, Scenario, orders
from tests.support.appends import read_appends

pytestmark = pytest.mark.bench

RUNS = 60
SHARDS = 2
COALESCE_WAIT_MS = 1_000

both_logs = pytest.mark.parametrize("log", ["memory", "sqlite"])


@dataclass(frozen=True, slots=True)
class Written:
    """What a topic got."""

    frames: int
    events: int
    intents: int
    messages: int
    """Records that belong to no append."""
    appends: int
    """Those that count."""


NOTHING = Written(0, 0, 0, 0, 0)


@both_logs
async def test_a_run_of_three_activities_costs_at_most_ten_records_and_its_share_of_frames(
    log: LogKind, tmp_path: Path
) -> None:
    async with engine(log, "immediate", tmp_path) as subject:
        before = await ends(subject)
        await subject.load(RUNS)
        written = await written_since(subject, before)

    assert written.pop("stimuli") == Written(0, 0, 0, RUNS, 0)
    assert written.pop("routing.inbox") == Written(0, 0, 0, RUNS, 0)
    routing, executions = written.pop("routing.journal"), written.pop("executions.journal")
    assert (routing.events, routing.intents, routing.messages) == (RUNS, RUNS, 0)
    assert written.pop("executions.inbox") == Written(0, 0, 0, RUNS, 0)
    assert (executions.events, executions.intents, executions.messages) == (5 * RUNS, 0, 0)
    assert set(written.values()) == {NOTHING}


@both_logs
async def test_with_coalesced_checkpoints_a_run_is_one_event(log: LogKind, tmp_path: Path) -> None:
    async with engine(log, "coalesced", tmp_path) as subject:
        before = await ends(subject)
        await subject.load(RUNS)
        executions = (await written_since(subject, before))["executions.journal"]

    assert (executions.events, executions.intents) == (RUNS, 0)


@both_logs
async def test_a_stimulus_that_is_written_where_it_belongs_is_written_once(log: LogKind, tmp_path: Path) -> None:
    async with engine(log, "immediate", tmp_path) as subject:
        before = await ends(subject)
        for number in range(RUNS):
            await subject.gateway.emit(stimulus(f"direct-{number}"))
        await subject.until_completed(RUNS)
        written = await written_since(subject, before)

    assert written["stimuli"] == NOTHING
    assert written["routing.inbox"].messages == RUNS
    assert written["routing.journal"].events == RUNS
    assert written["executions.journal"].events == 5 * RUNS


@both_logs
async def test_an_append_costs_one_frame_and_decisions_share_it(log: LogKind, tmp_path: Path) -> None:
    async with engine(log, "immediate", tmp_path) as subject:
        before = await ends(subject)
        await subject.load(RUNS)
        written = await written_since(subject, before)

    journals = [written["routing.journal"], written["executions.journal"]]
    assert [each.frames for each in journals] == [each.appends for each in journals]
    # A run makes five appends where it is alone: one where it is routed, four where it goes on.
    assert sum(each.frames for each in journals) < 5 * RUNS


@asynccontextmanager
async def engine(log: LogKind, checkpoints: Cadence, folder: Path) -> AsyncGenerator[EngineSubject]:
    """The whole engine, with the workflow published."""
    scenario = Scenario(
        log=log,
        checkpoints=checkpoints,
        waits=False,
        processes=TOGETHER,
        shards=SHARDS,
        url="memory:" if log == "memory" else f"sqlite:///{folder / 'log.sqlite'}",
        folder=folder,
        coalesce_wait_ms=COALESCE_WAIT_MS,
    )
    subject = EngineSubject(scenario)
    await subject.start()
    try:
        yield subject
    finally:
        await subject.close()


def stimulus(order: str) -> RouteStimulus:
    """A stimulus as the API hands it over."""
    (record,) = orders([order])
    found = read_stimulus(
        record.value,
        origin=Origin(channel="http"),
        arrived_at_ms=1_000,
        shell="default",
        bytes_max=100_000,
        request_id=order,
    )
    assert isinstance(found, RouteStimulus)
    return found


async def ends(subject: EngineSubject) -> dict[Shard, int]:
    """Where every shard ends now."""
    specs = topic_specs(subject.settings)
    shards = [Shard(spec.name, partition) for spec in specs for partition in range(spec.partitions)]
    return {shard: await subject.log.end(shard) for shard in shards}


async def written_since(subject: EngineSubject, before: Mapping[Shard, int]) -> dict[str, Written]:
    """What each topic got since then; named without the prefix."""
    found: dict[str, Written] = {}
    for shard, start in before.items():
        name = shard.topic.removeprefix("interlock.")
        got, had = await written_to(subject.log, shard, start), found.get(name, NOTHING)
        found[name] = Written(
            got.frames + had.frames,
            got.events + had.events,
            got.intents + had.intents,
            got.messages + had.messages,
            got.appends + had.appends,
        )
    return found


async def written_to(log: Log, shard: Shard, start: int) -> Written:
    """What one shard got from an offset on."""
    records = await read(log, shard, start, await log.end(shard))
    if not shard.topic.endswith(".journal"):
        return Written(0, 0, 0, len(records), 0)
    frames = sum(read_frame(each) is not None for each in records)
    events = sum(is_event(each) for each in records)
    appends = len(await read_appends(log, shard, middle=start)) if records else 0
    return Written(frames, events, len(records) - frames - events, 0, appends)
