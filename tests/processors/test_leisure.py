"""The pace of work that nobody waits for."""

import asyncio

import pytest

from interlock.processors.leisure import REST_S_MAX, RESTS, SLICE_S, Leisure
from interlock.testing.virtual_time import run_virtual


class Clock:
    """A loop's time that a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        self.slept_s: list[float] = []
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: self.now_s)
        monkeypatch.setattr("interlock.processors.leisure.asyncio.sleep", self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds


async def test_it_rests_for_some_times_as_long_as_it_has_worked(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    leisure = Leisure()
    due = [leisure.due]
    for _ in range(2):
        clock.now_s += 2 * SLICE_S
        due.append(leisure.due)
        await leisure.rest()
        due.append(leisure.due)
    assert due == [False, True, False, True, False], "a rest is no work"
    assert clock.slept_s == pytest.approx([2 * RESTS * SLICE_S] * 2)


async def test_what_it_waited_for_is_no_work_and_no_rest_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    leisure = Leisure()
    clock.now_s += 10.0
    leisure.begin()
    assert not leisure.due
    clock.now_s += 10.0
    await leisure.rest()
    assert clock.slept_s == [REST_S_MAX]


def test_in_a_simulation_it_only_gives_way() -> None:
    """Time stands still there while anything computes, so everything stays in one order."""

    async def work() -> list[str]:
        told: list[str] = []
        leisure = Leisure()

        async def other() -> None:
            told.append("other")

        beside = asyncio.create_task(other())
        assert not leisure.due
        await leisure.rest()
        told.append(f"work at {asyncio.get_running_loop().time():g}")
        await beside
        return told

    assert run_virtual(work()) == ["other", "work at 0"]
