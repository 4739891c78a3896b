"""What a clock that goes wrong may do, and no more: the log's time is held against what writers say, and what they end.

A process whose clock is ahead ends timers, waits and what is kept too early: by what its clock is ahead, since nothing
else tells it the time. That is all that it may do. What it says of others' messages is never later than the log's time
of them, or a shard would forget what may still be repeated; and nobody else ends anything too early.

Rules: clock-unshown, ended-early, ahead-of-the-log.
"""

from collections.abc import Sequence
from typing import Final

from interlock.domain.executions.execution.events import BookmarkCreated, BookmarkExpired, TimerFired, TimerSet
from interlock.domain.routing.dead_letter.events import StimulusRejected
from interlock.domain.routing.stimulus.events import StimulusExpired, StimulusRouted
from interlock.domain.routing.wait.events import WaitRegistered
from tests.simulation.checks import Shift, Violation
from tests.simulation.checks.tape import Commit, Fact

LANDS_WITHIN_MS: Final = 60_000
"""An append lands so soon after it was decided, the longest pause and the latest landing included."""


class ClocksCheck:
    """Follows every append, and when the log took it."""

    def __init__(self, shifts: Sequence[Shift], *, skew_ms: int) -> None:
        """`shifts` grows while the run goes on."""
        self._shifts = shifts
        self._skew_ms = skew_ms
        self._due: dict[tuple[str, str], int] = {}
        """What ends at a time, by its kind and id."""

    def take(self, commit: Commit) -> None:
        """Takes an append that counts."""
        if not commit.facts:
            return
        landed_ms = commit.append.entries[0].time_ms
        ahead_ms = -1
        for fact in commit.facts:
            if fact.time_ms > landed_ms:
                ahead_ms = self._ahead_ms(landed_ms) if ahead_ms < 0 else ahead_ms
                if fact.time_ms > landed_ms + ahead_ms:
                    raise Violation(
                        "clock-unshown",
                        f"expected {fact} to be of a time that a clock showed, {ahead_ms} ms ahead of {landed_ms} at "
                        f"most, found {fact.time_ms}",
                    )
            self._look(fact, landed_ms)

    def _look(self, fact: Fact, landed_ms: int) -> None:
        event = fact.event
        match event:
            case TimerSet():
                self._due["timer", fact.stream] = event.due_at_ms
            case TimerFired():
                self._ends(fact, ("timer", fact.stream), landed_ms)
            case BookmarkCreated():
                if event.expires_at_ms is not None:
                    self._due["wait", event.bookmark_id] = event.expires_at_ms
            case BookmarkExpired():
                self._ends(fact, ("wait", event.bookmark_id), landed_ms)
            case StimulusRouted():
                self._told(fact, event.arrived_at_ms, landed_ms)
                if event.kept_until_ms is not None:
                    self._due["stimulus", event.stimulus_id] = event.kept_until_ms
            case StimulusExpired():
                self._ends(fact, ("stimulus", event.stimulus_id), landed_ms)
            case WaitRegistered():
                self._told(fact, event.committed_at_ms, landed_ms)
            case StimulusRejected():
                self._told(fact, event.rejected_at_ms, landed_ms)
            case _:
                pass

    def _ends(self, fact: Fact, what: tuple[str, str], landed_ms: int) -> None:
        early_ms = self._due.get(what, landed_ms) - landed_ms
        if early_ms > 0 and early_ms > self._ahead_ms(landed_ms):
            raise Violation(
                "ended-early",
                f"expected {what[0]} {what[1]} to end in its time, or as much earlier as a clock was ahead "
                f"({self._ahead_ms(landed_ms)} ms), found it {early_ms} ms early: {fact}",
            )

    def _told(self, fact: Fact, at_ms: int, landed_ms: int) -> None:
        if at_ms > landed_ms + self._skew_ms:
            raise Violation(
                "ahead-of-the-log",
                f"expected nothing later than {landed_ms}, when the log took {fact}, but for the {self._skew_ms} ms by "
                f"which clocks may differ, found {at_ms}",
            )

    def _ahead_ms(self, landed_ms: int) -> int:
        """By how much a clock was ahead at most while what landed then was decided."""
        found = 0
        until_ms: dict[str, int] = {}
        for shift in reversed(self._shifts):
            if until_ms.get(shift.process, landed_ms) >= landed_ms - LANDS_WITHIN_MS:
                found = max(found, shift.offset_ms)
            until_ms[shift.process] = shift.since_ms
        return found
