"""Coalesced checkpoints: the steps that runs take within one turn, told by one event each (CHK-03).

The steps are applied as they are decided and put into the unit at its end, so they share the fate of its append. Until
then nothing that they promise has left the process.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from interlock.domain.decider import Change, Decision, Intent
from interlock.domain.executions.coalesce import COALESCED_STEPS_MAX, coalesce
from interlock.domain.executions.execution.commands import ActivityFinished
from interlock.log.weight import Load
from interlock.processors.mail import Cause
from interlock.processors.unit import Unit

STEP_BYTES = 600
"""What a step takes at most, beside its texts."""
CHAR_BYTES = 4
"""What a character takes at most, where not all are ASCII."""


@dataclass(slots=True)
class _Gathered:
    cause: Cause
    changes: list[Change] = field(default_factory=list[Change])
    intents: list[Intent] = field(default_factory=list[Intent])


class Coalescing:
    """The coalesced runs of one unit."""

    def __init__(self, *, wait_s: float) -> None:
        self._wait_s = wait_s
        self._runs: dict[str, _Gathered] = {}
        self._reports: list[tuple[str, ActivityFinished]] = []
        self._arrived = asyncio.Event()
        self._until_s: float | None = None

    @property
    def empty(self) -> bool:
        """Whether no run has gathered anything."""
        return not self._runs

    def runs(self) -> list[str]:
        """The runs that have gathered something."""
        return list(self._runs)

    def holds(self, execution_id: str) -> bool:
        """Whether the run has gathered something."""
        return execution_id in self._runs

    def add(
        self, execution_id: str, decision: Decision, cause: Cause, unit: Unit, apply: Callable[[str, object], None]
    ) -> None:
        """Applies a decision and keeps it. Raises `Full`, with nothing changed, where the unit has no room for it."""
        unit.reserve(_load(decision.changes, decision.intents))
        gathered = self._runs.setdefault(execution_id, _Gathered(cause))
        for change in decision.changes:
            apply(change.stream, change.event)
        gathered.changes += decision.changes
        gathered.intents += decision.intents

    def room(self, unit: Unit, finished: ActivityFinished) -> bool:
        """Whether what an activity's end may bring about still fits into the unit."""
        result = finished.result
        size = _text_bytes(result if isinstance(result, str) else result.error_message)
        # Its output, and once more if it completes the run.
        load = Load()
        for value in (size, size, 0, 0):
            load.add_bound(STEP_BYTES, value)
        return unit.has_room(load)

    def report(self, execution_id: str, finished: ActivityFinished) -> bool:
        """Takes the end of an activity if its run is gathering."""
        if execution_id not in self._runs:
            return False
        self._reports.append((execution_id, finished))
        self._arrived.set()
        return True

    async def reports(self, under_way: Callable[[str], bool]) -> list[tuple[str, ActivityFinished]]:
        """The next ends of activities; [] once every run rests or the time is over."""
        loop = asyncio.get_running_loop()
        if self._until_s is None:
            self._until_s = loop.time() + self._wait_s
        if not self._reports and any(under_way(execution_id) for execution_id in self._runs):
            await asyncio.sleep(0)
            left = self._until_s - loop.time()
            if not self._reports and left > 0:
                waiter = asyncio.ensure_future(self._arrived.wait())
                await asyncio.wait((waiter,), timeout=left)
                waiter.cancel()
        reports, self._reports = self._reports, []
        self._arrived.clear()
        return reports

    def flush(self, unit: Unit) -> None:
        """Puts what has gathered into the unit and begins anew."""
        for gathered in self._runs.values():
            steps = gathered.changes
            cap = COALESCED_STEPS_MAX
            changes = tuple(coalesce(steps[start : start + cap]) for start in range(0, len(steps), cap))
            unit.take(Decision(changes, tuple(gathered.intents)), gathered.cause, applied=True)
        self._runs.clear()
        self._until_s = None


def _load(changes: Iterable[Change], intents: Iterable[Intent]) -> Load:
    """At most: the steps of a run become one event, which takes no more than they would."""
    load = Load()
    for change in changes:
        load.add_bound(STEP_BYTES, _texts(change.event))
    for intent in intents:
        load.add_bound(STEP_BYTES, _texts(intent.message))
    return load


def _texts(value: object) -> int:
    names: tuple[str, ...] = getattr(type(value), "__slots__", ())
    found = (getattr(value, name) for name in names)
    return sum(_text_bytes(one) for one in found if isinstance(one, str))


def _text_bytes(text: str) -> int:
    """At most; a text of ASCII knows that it is one."""
    return len(text) if text.isascii() else CHAR_BYTES * len(text)
