"""Many runs that start at once: more than fit into an append. Found by the benchmark, as a load that never ended."""

from collections import Counter
from pathlib import Path

import pytest

from interlock.domain.definitions.executable import Cadence
from interlock.domain.executions.execution.decide import Invocation
from ops.bench.engine import EngineSubject
from ops.bench.work import TOGETHER, Echo, Scenario

pytestmark = pytest.mark.bench

RUNS = 1_500
"""With one shard: three times what a turn decides, and some times what its append holds of their starts."""


class CountingEcho(Echo):
    """Counts the calls of each attempt."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str, int]] = Counter()

    async def invoke(self, invocation: Invocation) -> str:
        """As ever."""
        self.calls[invocation.execution_id, invocation.node_id, invocation.attempt] += 1
        return await super().invoke(invocation)


@pytest.mark.parametrize("checkpoints", ["immediate", "coalesced"])
async def test_without_a_crash_an_attempt_is_called_once_however_many_runs_start_at_once(
    checkpoints: Cadence, tmp_path: Path
) -> None:
    echo = CountingEcho()
    scenario = Scenario(
        log="memory",
        checkpoints=checkpoints,
        waits=False,
        processes=TOGETHER,
        shards=1,
        url="memory:",
        folder=tmp_path,
    )
    subject = EngineSubject(scenario, echo)
    await subject.start()
    try:
        await subject.load(RUNS)
    finally:
        await subject.close()

    assert len(echo.calls) == 3 * RUNS
    assert set(echo.calls.values()) == {1}
