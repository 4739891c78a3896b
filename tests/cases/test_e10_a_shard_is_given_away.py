"""E10: one of four shards goes to another process while work is under way: what has finished is kept, what was running
is called again there, and the other shards notice nothing.

What has finished is not committed yet when the shard is taken away. A new owner that opens before the old one has
appended that calls it again: activities are called at least once, and a group on Kafka doesn't wait for who gives away.
"""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from interlock.domain.executions.execution.decide import Invocation
from interlock.domain.messages import Publish
from interlock.log.faults import LANDS, SEEN, AskOutcome, SendOutcome
from interlock.log.memory import FixedAssignment, MemoryBroker, MemoryLog
from interlock.log.port import Record, Shard
from interlock.processors.ports import Topics
from interlock.runtime.engine import Engine
from interlock.schemas.codec import AvroCodec
from tests.cases.engines import EXECUTIONS_SHARDS, engine_on
from tests.support import histories

pytestmark = pytest.mark.cases

FINISHED = 3
APPEND_S = 0.3
"""How long an append takes that is under way at an orderly end: far longer than results take to come."""
PATIENCE_S = 60.0
DOCUMENT = json.dumps(
    {
        "name": "errands",
        "triggers": [{"type": "event", "name": "errand.asked"}],
        "steps": [{"id": "work", "activity": "work", "inputs": {"input": "input"}}],
    }
)

PUBLISH = Publish(
    command_id="c1",
    shell="default",
    document=DOCUMENT,
    slot=None,
    expect_revision=None,
    requested_by="ada",
    requested_at_ms=1,
)


class Works:
    """Implements `Invoker`: work goes on until it is let go, and who called it for which run is kept."""

    def __init__(self, moved: asyncio.Condition) -> None:
        self.calls: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.open = False
        """Whether every gate is open from now on."""
        self._moved = moved

    def serves(self, activity: str) -> bool:
        """All of it."""
        return True

    async def invoke(self, invocation: Invocation) -> str:
        """Waits for the gate of its run."""
        self.calls.append(invocation.execution_id)
        gate = self.gates.setdefault(invocation.execution_id, asyncio.Event())
        async with self._moved:
            self._moved.notify_all()
        if not self.open:
            await gate.wait()
        return '"done"'


class Slow:
    """A connection over which appends of executions take a while, from when it is told to."""

    def __init__(self) -> None:
        self.under_way: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)
        """Partition → set when such an append was sent."""
        self.slow = False

    def on_send(self, shard: Shard, batch: Sequence[Record]) -> SendOutcome:
        """At once, or after a while."""
        if not self.slow or not shard.topic.endswith("executions.journal"):
            return LANDS
        self.under_way[shard.partition].set()
        return SendOutcome(landings_s=(APPEND_S,), answer_after_s=APPEND_S)

    def on_ask(self, shard: Shard) -> AskOutcome:
        """Nothing is wrong."""
        return SEEN


async def until(moved: asyncio.Condition, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S), moved:
        await moved.wait_for(holds)


async def completed(log: MemoryLog, topics: Topics, runs: set[str]) -> None:
    """Returns once these runs, and no others, have ended."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = histories.outcomes(await histories.read(log, topics, AvroCodec()))
            if {stream.removeprefix("execution:") for stream in found} == runs:
                assert set(found.values()) <= {"ExecutionCompleted"}
                return
            await asyncio.sleep(0.05)


async def emit(engine: Engine, numbers: range) -> None:
    """One run for each number."""
    for number in numbers:
        body = {"type": "Event", "name": "errand.asked", "data": None, "idempotencyKey": f"k{number}"}
        await engine.parts.backend.log.send(
            engine.topics.user("stimuli"), [Record(b"", json.dumps({**body, "correlation": f"c{number}"}).encode())]
        )


async def test_what_has_finished_stays_finished_and_what_runs_is_called_once_more(tmp_path: Path) -> None:
    """Proves: OWN-01, EXE-02, CHK-01."""
    broker, moved, slow = MemoryBroker(), asyncio.Condition(), Slow()
    here, there = Works(moved), Works(moved)
    mine, others = FixedAssignment(frozenset(range(EXECUTIONS_SHARDS))), FixedAssignment(frozenset())
    async with (
        engine_on(broker, tmp_path / "here", invoker=here, executions=mine, faults=slow) as engine,
        engine_on(broker, tmp_path / "there", invoker=there, roles=("executions",), executions=others),
    ):
        topics, log = engine.topics, MemoryLog(broker)
        assert (await engine.gateway.publish(PUBLISH, wait_s=PATIENCE_S)).status == "done"
        asked = 0
        given = 1
        while True:  # until every shard has work, and the one that is given away has enough
            shards = Counter(topics.partition("executions", run) for run in here.calls)
            if len(shards) == EXECUTIONS_SHARDS and shards[given] > 1 + FINISHED:
                break
            await emit(engine, range(asked, asked + 4))
            asked += 4
            await until(moved, lambda: len(here.calls) == asked)  # noqa: B023 - used at once
        there_after = [run for run in here.calls if topics.partition("executions", run) == given]
        in_append, *finished = there_after[: 1 + FINISHED]
        running = set(there_after[1 + FINISHED :])
        slow.slow = True
        here.gates[in_append].set()
        await slow.under_way[given].wait()
        for run in finished:
            here.gates[run].set()
        mine.assign(frozenset(range(EXECUTIONS_SHARDS)) - {given})
        assert not histories.outcomes(await histories.read(log, topics, AvroCodec()))
        await completed(log, topics, {in_append, *finished})
        slow.slow = False

        others.assign(frozenset({given}))
        await until(moved, lambda: set(there.calls) >= running)
        for works in (here, there):
            for gate in works.gates.values():
                gate.set()
        await completed(log, topics, set(here.calls))

        assert Counter(there.calls) == Counter(running)
        assert set(Counter(here.calls).values()) == {1}
        found = await histories.read(log, topics, AvroCodec())
        histories.check_revisions(found)
        histories.check_starts(found)
        assert len(histories.outcomes(found)) == asked


@pytest.mark.parametrize("checkpoints", ["immediate", "coalesced"])
async def test_what_has_ended_while_an_append_is_under_way_is_kept_by_an_orderly_end(
    tmp_path: Path, checkpoints: str
) -> None:
    """Nobody calls an activity again whose result is there, and who ends calls none that is left to the next owner.

    Proves: OWN-01, EXE-02.
    """
    broker, moved, slow = MemoryBroker(), asyncio.Condition(), Slow()
    here, there = Works(moved), Works(moved)
    steps = [{"id": node, "activity": node, "inputs": {"input": "input"}} for node in ("work", "then")]
    document = json.dumps(json.loads(DOCUMENT) | {"checkpoints": checkpoints, "steps": steps})
    async with engine_on(broker, tmp_path / "here", invoker=here, faults=slow) as engine:
        topics, log = engine.topics, MemoryLog(broker)
        assert (await engine.gateway.publish(replace(PUBLISH, document=document), wait_s=PATIENCE_S)).status == "done"
        await emit(engine, range(4 * EXECUTIONS_SHARDS))
        await until(moved, lambda: len(here.calls) == 4 * EXECUTIONS_SHARDS)
        runs = list(here.calls)
        slow.slow = True
        in_append = {topics.partition("executions", run): run for run in runs}
        for run in in_append.values():
            here.gates[run].set()
        for shard in in_append:
            await slow.under_way[shard].wait()
        others = [run for run in runs if run not in in_append.values()]
        running, ended = others[:2], others[2:]
        for run in ended:
            here.gates[run].set()
    assert {run for run, times in Counter(here.calls).items() if times > 1} <= set(in_append.values())
    async with engine_on(broker, tmp_path / "there", invoker=there):
        await until(moved, lambda: set(there.calls) >= set(running))
        for gate in there.gates.values():
            gate.set()
        there.open = True
        await completed(log, topics, set(runs))
    assert {run: there.calls.count(run) for run in others} == dict.fromkeys(running, 2) | dict.fromkeys(ended, 1)
    # Both steps were called once; where checkpoints are coalesced both were, before the append.
    assert {here.calls.count(run) + there.calls.count(run) for run in in_append.values()} == {2}
