"""Processes that share an application, of which some are killed in the middle of work."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from eventsourcing.utils import Environment

from interlock.log.recorder import JournalFactory
from tests.contract.eventsourcing_child import SHARED

pytestmark = pytest.mark.contract

ROOT = Path(__file__).resolve().parents[2]


class Child:
    """One process, and what it was told to have recorded."""

    def __init__(self, name: str, env: dict[str, str]) -> None:
        paths = {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
        self.name = name
        self.acknowledged: dict[int, int] = {}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.contract.eventsourcing_child", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | env | paths,
            text=True,
        )

    @property
    def output(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def writes(self, count: int) -> None:
        """Returns when it has recorded so many more."""
        for _ in range(count):
            self.note(self.output.readline())

    def note(self, line: str) -> None:
        """A process that was killed while it printed leaves half a line, which says nothing."""
        if line.endswith("\n"):
            version, number = line.split()
            self.acknowledged[int(version)] = int(number)

    def end(self, *, kill: bool = False) -> int:
        """Ends it, by its input or at once; returns its exit code."""
        assert self.process.stdin is not None
        if kill:
            self.process.kill()
        self.process.stdin.close()
        for line in self.output:
            self.note(line)
        self.output.close()
        return self.process.wait(60)


@contextmanager
def children(env: dict[str, str], *names: str) -> Generator[list[Child]]:
    """Processes at work; what still runs at the end is killed."""
    started = [Child(name, env) for name in names]
    try:
        yield started
    finally:
        for child in started:
            if child.process.poll() is None:
                child.end(kill=True)


def test_nothing_acknowledged_is_lost_when_a_process_is_killed(env: dict[str, str]) -> None:
    """Proves: LOG-01, LOG-02."""
    with children(env, "one", "two") as (one, two):
        one.writes(20)
        two.writes(20)
        one.end(kill=True)
        two.writes(20)
        with children(env, "three") as (three,):
            three.writes(20)
            assert three.end() == 0
        assert two.end() == 0
    factory = JournalFactory(Environment("Bench", env))
    found = factory.application_recorder().select_notifications(1, 100_000)
    factory.close()
    assert [(each.originator_id, each.originator_version, each.id) for each in found] == [
        (SHARED, number, number) for number in range(1, len(found) + 1)
    ]
    for child in (one, two, three):
        assert all(found[version - 1].state == child.name.encode() for version in child.acknowledged)
        assert all(version == number for version, number in child.acknowledged.items())
