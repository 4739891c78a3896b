"""Which waits and stimuli meet (STM-05), by a model that is written down anew: plain lists, looked through each time.

A wait meets a stimulus of its shell, identity and correlation if its bookmark was committed before the stimulus
arrived (within the clocks' difference), or before its time to live ended; each run at most once a stimulus, and never
one that it started. A wait takes the earliest such stimulus; a stimulus for one ends at the first wait.

Rules: routed-twice, stimulus-swallowed, met-wrongly, matched-not-earliest, taken-unmatched, wait-untaken,
wait-taken-twice, wait-registered-twice, returned-untaken, returned-unasked, withdrawn-not-waiting, expired-early,
arrival-time, committed-time, resume-unpromised.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from interlock.domain.messages import RegisterWait, ResumeExecution, RouteStimulus
from interlock.domain.routing.dead_letter.events import StimulusRejected
from interlock.domain.routing.stimulus.events import (
    StimulusExpired,
    StimulusMatched,
    StimulusReturned,
    StimulusRouted,
)
from interlock.domain.routing.wait.events import WaitRegistered, WaitTaken, WaitWithdrawn
from tests.simulation.checks import Violation
from tests.simulation.checks.tape import Commit, Fact, expect

WaitKey = tuple[str, str]
"""Execution and bookmark."""


@dataclass(slots=True)
class Stimulus:
    """One that was routed."""

    id: str
    key: tuple[str, str, str]
    number: int
    arrived_at_ms: int
    kept_until_ms: int | None
    one: bool
    data: str
    met: set[str]
    since_ms: int
    """What it is forgotten by."""
    kept: bool
    taker: WaitKey | None = None
    """Where it ended, if it is for one."""

    def deadline_ms(self, skew_ms: int) -> int:
        """Until when a bookmark may be committed that it meets."""
        return max(self.arrived_at_ms + skew_ms, self.kept_until_ms or 0)


@dataclass(slots=True)
class Wait:
    """One that was registered."""

    registered: WaitRegistered
    waiting: bool = True
    taken_by: str = ""
    """The stimulus that has it now."""
    given: set[str] = field(default_factory=set[str])
    """Every stimulus that ever took it."""
    returned: set[str] = field(default_factory=set[str])
    """Those of them that the run declined."""
    ended_ms: int = 0

    @property
    def key(self) -> WaitKey:
        """What names it."""
        return self.registered.execution_id, self.registered.bookmark_id

    @property
    def meets(self) -> tuple[str, str, str]:
        """What it shares with the stimuli that it may meet."""
        return self.registered.shell, self.registered.identity, self.registered.correlation


class Meetings:
    """One routing shard."""

    def __init__(self, *, skew_ms: int, horizon_ms: int) -> None:
        self.stimuli: dict[str, Stimulus] = {}
        self.waits: dict[WaitKey, Wait] = {}
        self.rejected: set[str] = set()
        self.routings: dict[str, int] = defaultdict(int)
        self.clock_ms = 0
        self.arrivals: dict[str, set[tuple[int, str]]] = defaultdict(set)
        """Stimulus → arrival and payload of each message of it in the inbox."""
        self.registrations: dict[WaitKey, set[int]] = defaultdict(set)
        """Wait → the commit times that its messages in the inbox say."""
        self.declined: set[tuple[str, str, str]] = set()
        """Execution, bookmark and stimulus of each decline in the inbox."""
        self._skew_ms = skew_ms
        self._horizon_ms = horizon_ms
        self._by_key: dict[tuple[str, str, str], list[Stimulus]] = defaultdict(list)
        self._waits_by_key: dict[tuple[str, str, str], list[Wait]] = defaultdict(list)
        self._number = 0
        self._taken: list[tuple[WaitKey, str]] = []
        """Takings that have to follow in this append, in order."""
        self._matched: list[tuple[WaitKey, str, bool]] = []
        """A match that has to come next, and whether the engine may have forgotten its stimulus."""

    def arrived(self, message: RouteStimulus | RegisterWait, landed_ms: int) -> None:
        """A message lies in the inbox since a time of the log, and tells of nothing later whatever its sender's clock
        says."""
        latest_ms = landed_ms + self._skew_ms
        if isinstance(message, RouteStimulus):
            self.arrivals[message.stimulus_id].add((min(message.arrived_at_ms, latest_ms), message.data))
        else:
            key = (message.execution_id, message.bookmark_id)
            self.registrations[key].add(min(message.committed_at_ms, latest_ms))

    def take(self, commit: Commit) -> None:
        """Follows an append, and says before each event what it has to be."""
        resumes = {
            (one.execution_id, one.bookmark_id, one.stimulus_id, one.data)
            for one in (promise.message for promise in commit.promises)
            if isinstance(one, ResumeExecution)
        }
        given: list[tuple[str, str, str, str]] = []
        for fact in commit.facts:
            event = fact.event
            if self._matched and not isinstance(event, StimulusMatched):
                self._unmatched(fact)
            match event:
                case StimulusRouted():
                    self._routed(fact, event)
                case WaitRegistered():
                    self._registered(fact, event)
                case StimulusMatched():
                    self._match(fact, event)
                case WaitTaken():
                    given.append(self._take(fact, event))
                case StimulusReturned():
                    self._returned(fact, event)
                case WaitWithdrawn():
                    self._withdrawn(fact, event)
                case StimulusExpired():
                    self._expired(fact, event)
                case StimulusRejected():
                    self.clock_ms = max(self.clock_ms, event.rejected_at_ms)
                    self.rejected.add(event.dead_letter_id)
                case _:
                    raise Violation("met-wrongly", f"expected an event of routing, found {fact}")
        if self._matched:
            self._unmatched(commit)
        expect(not self._taken, "wait-untaken", f"expected {self._taken} to be taken in {commit}")
        if set(given) != resumes or len(given) != len(set(given)):
            raise Violation(
                "resume-unpromised",
                f"expected a resume for each taking in {commit}, found takings {given} and resumes {list(resumes)}",
            )

    # ---- stimuli --------------------------------------------------------------------------------------------------

    def _routed(self, fact: Fact, event: StimulusRouted) -> None:
        known = self.stimuli.get(event.stimulus_id)
        latest_ms = max(self.clock_ms, event.arrived_at_ms)
        within = known is not None and (known.kept or latest_ms - known.since_ms <= self._horizon_ms)
        # What the shard has forgotten already it can't know to have been there.
        told = known is None or event.past_horizon or self._may_be_forgotten(known)
        if within or not told:
            raise Violation("routed-twice", f"expected {event.stimulus_id} to be known, found {fact}")
        arrivals = self.arrivals[event.stimulus_id]
        if (event.arrived_at_ms, event.data) not in arrivals:
            raise Violation(
                "arrival-time",
                f"expected arrival and payload of a message of {event.stimulus_id} in the inbox, found "
                f"{event.arrived_at_ms} in {fact}, and messages of {sorted(at_ms for at_ms, _ in arrivals)}",
            )
        self.clock_ms = latest_ms
        self._number += 1
        self.routings[event.stimulus_id] += 1
        stimulus = Stimulus(
            event.stimulus_id,
            (event.shell, event.identity, event.correlation),
            self._number,
            event.arrived_at_ms,
            event.kept_until_ms,
            event.deliver == "one",
            event.data,
            {start.execution_id for start in event.starts},
            self.clock_ms,
            event.kept_until_ms is not None,
        )
        if known is not None:
            self._by_key[known.key].remove(known)
        found = [(one.execution_id, one.bookmark_id) for one in event.resumes]
        expected = [wait.key for wait in self._waits_for(stimulus, stimulus.one)]
        if missing := [key for key in expected if key not in found]:
            raise Violation("stimulus-swallowed", f"expected the waits {missing} to be met by {fact}, found {found}")
        if found != expected:
            raise Violation("met-wrongly", f"expected exactly the waits {expected} to be met by {fact}, found {found}")
        self.stimuli[stimulus.id] = stimulus
        self._by_key[stimulus.key].append(stimulus)
        for key in found:
            stimulus.met.add(key[0])
        if stimulus.one and found:
            stimulus.taker, stimulus.kept = found[0], False
        self._taken += [(key, stimulus.id) for key in found]

    def _waits_for(self, stimulus: Stimulus, one: bool) -> list[Wait]:
        met = set(stimulus.met)
        found: list[Wait] = []
        for wait in self._waits_by_key[stimulus.key]:
            if wait.waiting and self._may_meet(wait.registered, stimulus, met):
                found.append(wait)
                met.add(wait.registered.execution_id)
        return found[:1] if one else found

    def _may_meet(self, wait: WaitRegistered, stimulus: Stimulus, met: set[str]) -> bool:
        return (
            wait.started_by != stimulus.id
            and wait.execution_id not in met
            and wait.committed_at_ms <= stimulus.deadline_ms(self._skew_ms)
        )

    def _may_be_forgotten(self, stimulus: Stimulus) -> bool:
        return not stimulus.kept and self.clock_ms - stimulus.since_ms > self._horizon_ms

    def _expired(self, fact: Fact, event: StimulusExpired) -> None:
        stimulus = self.stimuli.get(event.stimulus_id)
        if stimulus is None or not stimulus.kept or event.at_ms < (stimulus.kept_until_ms or 0):
            raise Violation("expired-early", f"expected a stimulus whose time is over, found {stimulus} in {fact}")
        stimulus.kept, stimulus.since_ms = False, self.clock_ms

    # ---- waits ----------------------------------------------------------------------------------------------------

    def _registered(self, fact: Fact, event: WaitRegistered) -> None:
        key = (event.execution_id, event.bookmark_id)
        known = self.waits.get(key)
        if known is not None and (known.waiting or self.clock_ms - known.ended_ms <= self._horizon_ms):
            raise Violation("wait-registered-twice", f"expected {key} to be known, found {fact}")
        times = self.registrations[key]
        if event.committed_at_ms not in times:
            raise Violation("committed-time", f"expected one of {times}, found {event.committed_at_ms} in {fact}")
        # What it meets is decided before its own time moves the shard's clock, by which stimuli are forgotten.
        wait = Wait(event)
        self.waits[key] = wait
        self._waits_by_key[wait.meets].append(wait)
        met = self._stimulus_for(event)
        self.clock_ms = max(self.clock_ms, event.committed_at_ms)
        if met is not None:
            self._matched.append((key, met.id, self._may_be_forgotten(met)))

    def _stimulus_for(self, wait: WaitRegistered) -> Stimulus | None:
        """The earliest that it may meet; one that is surely known before one that may be forgotten."""
        candidates = [
            stimulus
            for stimulus in self._by_key[wait.shell, wait.identity, wait.correlation]
            if not (stimulus.one and stimulus.taker is not None) and self._may_meet(wait, stimulus, stimulus.met)
        ]
        known = [stimulus for stimulus in candidates if not self._may_be_forgotten(stimulus)]
        return _earliest(known) or _earliest(candidates)

    def _match(self, fact: Fact, event: StimulusMatched) -> None:
        key = (event.execution_id, event.bookmark_id)
        expected = self._matched.pop() if self._matched else None
        if expected is None or expected[0] != key:
            raise Violation("met-wrongly", f"expected no match but {expected}, found {fact}")
        stimulus = self.stimuli[event.stimulus_id]
        if expected[1] != event.stimulus_id and not self._may_be_forgotten(stimulus):
            raise Violation(
                "matched-not-earliest", f"expected {expected[1]}, the earliest for {key}, found {stimulus.id} in {fact}"
            )
        stimulus.met.add(key[0])
        if stimulus.one:
            stimulus.taker = key
            if stimulus.kept:
                stimulus.kept, stimulus.since_ms = False, self.clock_ms
        self._taken.append((key, stimulus.id))

    def _unmatched(self, before: object) -> None:
        key, stimulus_id, may_be_forgotten = self._matched.pop()
        if not may_be_forgotten:
            raise Violation(
                "stimulus-swallowed", f"expected wait {key} to meet stimulus {stimulus_id} before {before}, found none"
            )

    def _take(self, fact: Fact, event: WaitTaken) -> tuple[str, str, str, str]:
        key = (event.execution_id, event.bookmark_id)
        wait = self.waits.get(key)
        if wait is None or not wait.waiting:
            raise Violation("wait-taken-twice", f"expected {key} to wait, found {wait} at {fact}")
        if (key, event.stimulus_id) not in self._taken:
            raise Violation("taken-unmatched", f"expected one of {self._taken} to be taken, found {fact}")
        self._taken.remove((key, event.stimulus_id))
        wait.waiting, wait.taken_by, wait.ended_ms = False, event.stimulus_id, self.clock_ms
        wait.given.add(event.stimulus_id)
        return (*key, event.stimulus_id, self.stimuli[event.stimulus_id].data)

    def _returned(self, fact: Fact, event: StimulusReturned) -> None:
        key = (event.execution_id, event.bookmark_id)
        wait = self.waits.get(key)
        if wait is None or wait.taken_by != event.stimulus_id:
            raise Violation("returned-untaken", f"expected {key} to be taken by it, found {wait} at {fact}")
        asked = (*key, event.stimulus_id) in self.declined
        expect(asked, "returned-unasked", f"expected the run to have declined it before {fact}")
        wait.taken_by = ""
        wait.returned.add(event.stimulus_id)
        stimulus = self.stimuli[event.stimulus_id]
        if stimulus.taker != key:
            return
        forgotten = self._may_be_forgotten(stimulus)
        stimulus.taker, stimulus.kept = None, stimulus.kept_until_ms is not None
        if others := self._waits_for(stimulus, one=True):
            self._matched.append((others[0].key, stimulus.id, forgotten))

    def _withdrawn(self, fact: Fact, event: WaitWithdrawn) -> None:
        wait = self.waits.get((event.execution_id, event.bookmark_id))
        if wait is None or not wait.waiting:
            raise Violation("withdrawn-not-waiting", f"expected it to wait, found {wait} at {fact}")
        wait.waiting, wait.ended_ms = False, self.clock_ms

    def owed(self) -> list[str]:
        """Waits beside which a stimulus lies that they may meet."""
        return [
            f"stimulus {stimulus.id} is owed to wait {wait.key}"
            for wait in self.waits.values()
            if wait.waiting and (stimulus := self._stimulus_for(wait.registered)) is not None
            if not self._may_be_forgotten(stimulus)
        ]


def _earliest(stimuli: Iterable[Stimulus]) -> Stimulus | None:
    return min(stimuli, key=lambda stimulus: stimulus.number, default=None)
