"""The time that a process decides by: no step of the machine's clock is in it, and where it is off no shard opens."""

import asyncio
import random
import time

import pytest

from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.processors.ownership import Ownership
from interlock.processors.ports import Bounds, ClockOff
from interlock.processors.processor import ShardProcessor
from interlock.runtime.clock import ClockGuard, SteadyClock, passed_ms, wall_ms
from interlock.runtime.topics import topic_specs
from interlock.testing.virtual_time import LoopClock, run_virtual
from tests.processors.test_ownership import SETTINGS, owner

DAY_MS = 86_400_000


class Machine:
    """A machine whose clock somebody sets."""

    def __init__(self) -> None:
        self.wall_ms = 1_700_000_000_000
        self.passed_ms = 5_000

    def passes(self, ms: int) -> None:
        """Time goes on."""
        self.wall_ms += ms
        self.passed_ms += ms

    def clock(self) -> SteadyClock:
        """That of a process that starts now."""
        return SteadyClock(lambda: self.wall_ms, lambda: self.passed_ms)


@pytest.mark.parametrize("step_ms", [-DAY_MS, -1, 1, 400 * DAY_MS])
def test_a_step_of_the_machines_clock_reaches_a_process_when_it_starts_again(step_ms: int) -> None:
    """Proves: LOG-07"""
    machine = Machine()
    clock = machine.clock()
    before_ms = clock.now_ms()
    assert before_ms == machine.wall_ms
    machine.passes(250)
    machine.wall_ms += step_ms
    assert clock.now_ms() == before_ms + 250
    assert machine.clock().now_ms() == machine.wall_ms == before_ms + 250 + step_ms


def test_the_process_of_now_is_told_the_time_of_now() -> None:
    earlier_ms = passed_ms()
    assert abs(SteadyClock().now_ms() - time.time() * 1000) < 5_000
    assert wall_ms() - time.time() * 1000 < 5_000
    assert passed_ms() >= earlier_ms


async def guarded(off_ms: int) -> tuple[LoopClock, ClockGuard]:
    clock = LoopClock(asyncio.get_running_loop(), offset_ms=off_ms)
    log = MemoryLog(MemoryBroker(LoopClock(asyncio.get_running_loop()).now_ms))
    return clock, ClockGuard(clock, log, 2_000)


async def asks() -> None:
    clock, guard = await guarded(-1_999)
    await guard.check()
    clock.offset_ms = -3_600_000
    # Measured a moment ago.
    await guard.check()
    await asyncio.sleep(61.0)
    with pytest.raises(
        ClockOff, match=r"within 2000 ms of the log's, found it -3600000.0 ms off; set the machine's clock"
    ):
        await guard.check()
    clock.offset_ms = 0
    await guard.check()
    await asyncio.sleep(61.0)
    clock.offset_ms = 2_500
    with pytest.raises(ClockOff, match=r"\+2500.0 ms off"):
        await guard.check()


def test_a_clock_is_measured_against_the_logs_and_again_after_a_minute() -> None:
    """Proves: LOG-07"""
    run_virtual(asks())


async def opens() -> None:
    broker = MemoryBroker(LoopClock(asyncio.get_running_loop()).now_ms)
    for spec in topic_specs(SETTINGS):
        broker.create(spec)
    log = MemoryLog(broker)
    clock = LoopClock(asyncio.get_running_loop(), offset_ms=DAY_MS)
    made: list[Ownership] = []

    def make() -> Ownership:
        made.append(owner(log, "a"))
        return made[-1]

    async def assigned() -> bool:
        return True

    processor = ShardProcessor(
        "publishing/0",
        make=make,
        still_assigned=assigned,
        fit=ClockGuard(clock, log, 2_000).check,
        bounds=Bounds(),
        chance=random.Random(1),
    )
    running = asyncio.create_task(processor.run())
    await asyncio.sleep(60.0)
    assert len(made) > 2
    assert [one for one in made if one.journal is not None] == []
    assert processor.last_error is not None
    assert "set the machine's clock" in processor.last_error
    clock.offset_ms = 0
    await asyncio.sleep(60.0)
    assert [processor.serving, processor.takeovers] == [True, 1]
    processor.stop()
    await running


def test_no_shard_is_opened_while_the_clock_is_off_and_it_is_once_that_is_right() -> None:
    """Proves: LOG-07"""
    run_virtual(opens())
