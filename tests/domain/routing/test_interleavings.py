"""Stimuli, late registrations, withdrawals, declines and expiries in any order, against a ledger of what is owed.

The ledger reads only the events and intents, and asks each pair of stimulus and wait by the rule as the requirement
says it; it shares no code and no index with the shard. What matters most is `nothing_owed_is_swallowed`.
"""

import json
from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from interlock.domain.decider import Decision
from interlock.domain.messages import RegisterWait, ResumeExecution, RouteStimulus, StartExecution
from interlock.domain.routing.dead_letter.events import StimulusRejected
from interlock.domain.routing.stimulus.events import (
    StimulusExpired,
    StimulusMatched,
    StimulusReturned,
    StimulusRouted,
)
from interlock.domain.routing.wait.events import WaitRegistered, WaitTaken, WaitWithdrawn
from tests.domain.routing.routing import SKEW_MS, Routing, binding, declined, kinds, withdrawn

pytestmark = pytest.mark.domain

NAMES = ("order.placed", "order.placed", "order.placed", "payment.received")
CORRELATIONS = ("", "", "", "o-1")
"""Mostly the same, so that there is something to meet."""
RUNS = ("run-1", "run-2", "run-3")
SOON = st.integers(0, 20)
"""Milliseconds; about the size of a delay, a time to live and the clocks' skew."""


@dataclass
class Owing:
    """A stimulus in the ledger."""

    routed: StimulusRouted
    order: int
    met: set[str] = field(default_factory=set[str])
    takers: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Waits that have it and did not decline it."""
    expired: bool = False

    @property
    def satisfied(self) -> bool:
        return self.routed.deliver == "one" and bool(self.takers)


def owed(stimulus: Owing, wait: WaitRegistered) -> bool:
    """Whether the wait has a right to the stimulus, as STM-05 says it."""
    routed = stimulus.routed
    if (routed.shell, routed.identity, routed.correlation) != (wait.shell, wait.identity, wait.correlation):
        return False
    before_it_arrived = wait.committed_at_ms <= routed.arrived_at_ms + SKEW_MS
    in_its_time = routed.kept_until_ms is not None and wait.committed_at_ms <= routed.kept_until_ms
    return (
        (before_it_arrived or in_its_time)
        and not stimulus.satisfied
        and wait.execution_id not in stimulus.met
        and wait.started_by != routed.stimulus_id
    )


class Interleavings(RuleBasedStateMachine):
    """Everything is remembered here; the horizon is far.

    Proves: STM-02, STM-04, STM-05, BKM-03
    """

    def __init__(self) -> None:
        super().__init__()
        self.routing = Routing(horizon_ms=10**12)
        self.stimuli: dict[str, Owing] = {}
        self.waiting: dict[tuple[str, str], WaitRegistered] = {}
        self.ended: set[tuple[str, str]] = set()
        self.registered: list[RegisterWait] = []
        self.given: list[tuple[RegisterWait, str]] = []
        """Waits and the stimulus that each took, which may still be declined."""
        self.sent: list[RouteStimulus] = []
        self.started: dict[str, str] = {}

    @initialize()
    def publish(self) -> None:
        self.routing.bindings.bind("order.placed", binding("a"), binding("b"))

    # ---- what happens ---------------------------------------------------------------------------------------------

    @rule(
        after_ms=SOON,
        name=st.sampled_from(NAMES),
        correlation=st.sampled_from(CORRELATIONS),
        ttl_ms=st.none() | st.integers(1, 120),
        deliver=st.sampled_from(("all", "one")),
        delay_ms=st.integers(0, 40),
    )
    def a_stimulus_comes(
        self,
        after_ms: int,
        name: str,
        correlation: str,
        ttl_ms: int | None,
        deliver: Literal["all", "one"],
        delay_ms: int,
    ) -> None:
        self.routing.now_ms += after_ms
        stimulus = self.routing.stimulus(
            name,
            correlation=correlation,
            key=f"k{len(self.sent)}",
            data=len(self.sent),
            ttl_ms=ttl_ms,
            deliver=deliver,
            arrived_at_ms=self.routing.now_ms - delay_ms,
        )
        self.sent.append(stimulus)
        self.note(self.routing.tell(stimulus))

    @rule(
        after_ms=SOON,
        run=st.integers(0, 4),
        name=st.sampled_from(NAMES),
        correlation=st.sampled_from(CORRELATIONS),
        delay_ms=st.integers(0, 90),
    )
    def a_registration_comes(self, after_ms: int, run: int, name: str, correlation: str, delay_ms: int) -> None:
        """Of a bookmark that was committed a while ago, by one of three runs or of the two started last."""
        self.routing.now_ms += after_ms
        runs = [*RUNS, *list(self.started)[-2:]]
        execution_id = runs[run % len(runs)]
        wait = self.routing.wait(
            execution_id,
            name,
            bookmark_id=f"b{len(self.registered)}",
            correlation=correlation,
            committed_at_ms=self.routing.now_ms - delay_ms,
            started_by=self.started.get(execution_id, ""),
        )
        self.registered.append(wait)
        self.note(self.routing.tell(wait))

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def a_stimulus_comes_again(self, data: st.DataObject) -> None:
        assert self.routing.tell(data.draw(st.sampled_from(self.sent))) == Decision()

    @precondition(lambda self: self.registered)
    @rule(data=st.data())
    def a_registration_comes_again(self, data: st.DataObject) -> None:
        assert self.routing.tell(data.draw(st.sampled_from(self.registered))) == Decision()

    @precondition(lambda self: self.registered)
    @rule(data=st.data())
    def a_wait_is_withdrawn(self, data: st.DataObject) -> None:
        wait = data.draw(st.sampled_from(self.registered))
        was_waiting = (wait.execution_id, wait.bookmark_id) in self.waiting
        decision = self.routing.tell(withdrawn(wait))
        assert kinds(decision) == (["WaitWithdrawn"] if was_waiting else [])
        self.note(decision)

    @precondition(lambda self: self.given)
    @rule(data=st.data())
    def a_resume_is_declined(self, data: st.DataObject) -> None:
        wait, stimulus = self.given.pop(data.draw(st.integers(0, len(self.given) - 1)))
        self.note(self.routing.tell(declined(wait, stimulus)))

    @rule(after_ms=st.integers(0, 60))
    def what_is_due_expires(self, after_ms: int) -> None:
        self.routing.now_ms += after_ms
        events = self.routing.expire()
        for event in events:
            assert isinstance(event, StimulusExpired)
            assert not self.stimuli[event.stimulus_id].satisfied
            self.stimuli[event.stimulus_id].expired = True
        for stimulus in self.stimuli.values():
            until_ms = stimulus.routed.kept_until_ms
            if until_ms is not None and until_ms <= self.routing.now_ms and not stimulus.satisfied:
                assert stimulus.expired, "a stimulus outlived its time, unrecorded"

    # ---- the ledger -----------------------------------------------------------------------------------------------

    def note(self, decision: Decision) -> None:
        """Enters what was decided; each entry is also a check."""
        resumes: list[tuple[str, str, str]] = []
        for change in decision.changes:
            match change.event:
                case StimulusRouted() as event:
                    self.note_routed(event)
                case WaitRegistered() as event:
                    self.waiting[event.execution_id, event.bookmark_id] = event
                case StimulusMatched() as event:
                    self.meet(event.stimulus_id, (event.execution_id, event.bookmark_id))
                case StimulusReturned() as event:
                    self.stimuli[event.stimulus_id].takers.remove((event.execution_id, event.bookmark_id))
                case WaitWithdrawn() as event:
                    self.end((event.execution_id, event.bookmark_id))
                case WaitTaken() as event:
                    self.end((event.execution_id, event.bookmark_id))
                    resumes.append((event.execution_id, event.bookmark_id, event.stimulus_id))
                case StimulusRejected():
                    raise AssertionError("nothing here is to be rejected")
                case other:
                    raise AssertionError(f"unexpected {other}")
        self.note_intents(decision, resumes)

    def note_routed(self, event: StimulusRouted) -> None:
        assert event.stimulus_id not in self.stimuli, "routed twice"
        stimulus = self.stimuli[event.stimulus_id] = Owing(event, len(self.stimuli))
        before = list(self.waiting.values())
        expected = [wait for wait in before if owed(stimulus, wait)]
        for resumed in event.resumes:
            self.meet(event.stimulus_id, (resumed.execution_id, resumed.bookmark_id))
        taken = [(resumed.execution_id, resumed.bookmark_id) for resumed in event.resumes]
        if event.deliver == "one":
            assert taken == [(wait.execution_id, wait.bookmark_id) for wait in expected[:1]]
        else:
            assert {run for run, _ in taken} == {wait.execution_id for wait in expected}
        for started in event.starts:
            assert started.execution_id not in stimulus.met, "it resumes what it starts"
            stimulus.met.add(started.execution_id)
            self.started[started.execution_id] = event.stimulus_id

    def meet(self, stimulus_id: str, wait_key: tuple[str, str]) -> None:
        stimulus, wait = self.stimuli[stimulus_id], self.waiting[wait_key]
        assert owed(stimulus, wait), "a wait took what it has no right to"
        earlier = [
            other
            for other in self.stimuli.values()
            if other.order < stimulus.order and other is not stimulus and owed(other, wait)
        ]
        assert not earlier, "a wait took a later stimulus while an earlier one was owed to it"
        stimulus.met.add(wait_key[0])
        stimulus.takers.add(wait_key)

    def end(self, wait_key: tuple[str, str]) -> None:
        assert wait_key not in self.ended, "a wait ended twice"
        del self.waiting[wait_key]
        self.ended.add(wait_key)

    def note_intents(self, decision: Decision, resumes: list[tuple[str, str, str]]) -> None:
        found: list[tuple[str, str, str]] = []
        runs: list[str] = []
        for intent in decision.intents:
            match intent.message:
                case ResumeExecution() as message:
                    routed = self.stimuli[message.stimulus_id].routed
                    assert json.loads(message.data) == json.loads(routed.data)
                    assert (message.identity, message.correlation) == (routed.identity, routed.correlation)
                    found.append((message.execution_id, message.bookmark_id, message.stimulus_id))
                case StartExecution() as message:
                    runs.append(message.execution_id)
                case other:
                    raise AssertionError(f"unexpected {other}")
        assert found == resumes, "what was taken and what is resumed differ"
        starts = [change.event.starts for change in decision.changes if isinstance(change.event, StimulusRouted)]
        assert runs == [started.execution_id for each in starts for started in each]
        by_key = {(wait.execution_id, wait.bookmark_id): wait for wait in self.registered}
        self.given += [(by_key[run, bookmark], stimulus) for run, bookmark, stimulus in resumes]

    @invariant()
    def nothing_owed_is_swallowed(self) -> None:
        """A wait that waits and a stimulus that is owed to it are never there at once."""
        for wait in self.waiting.values():
            for stimulus in self.stimuli.values():
                assert not owed(stimulus, wait), f"{wait} waits beside {stimulus}"


class Forgetting(RuleBasedStateMachine):
    """With a horizon so near that everything is forgotten soon, replay still equals live, and nothing breaks."""

    def __init__(self) -> None:
        super().__init__()
        self.routing = Routing(horizon_ms=100)
        self.routing.bindings.bind("order.placed", binding("a"))
        self.sent: list[RouteStimulus] = []
        self.waits: list[RegisterWait] = []
        self.given: list[tuple[str, str, str]] = []

    @rule(ms=st.integers(1, 80))
    def time_passes(self, ms: int) -> None:
        self.routing.now_ms += ms

    @rule(
        key=st.integers(0, 3),
        name=st.sampled_from(NAMES),
        ttl_ms=st.none() | st.integers(1, 300),
        deliver=st.sampled_from(("all", "one")),
        late_ms=st.integers(0, 150),
    )
    def a_stimulus_comes(
        self, key: int, name: str, ttl_ms: int | None, deliver: Literal["all", "one"], late_ms: int
    ) -> None:
        arrived_at_ms = self.routing.now_ms - late_ms
        self.note(
            self.routing.tell(
                self.routing.stimulus(name, key=f"k{key}", ttl_ms=ttl_ms, deliver=deliver, arrived_at_ms=arrived_at_ms)
            )
        )

    @rule(run=st.sampled_from(RUNS), bookmark=st.integers(0, 5), name=st.sampled_from(NAMES), late=st.integers(0, 150))
    def a_registration_comes(self, run: str, bookmark: int, name: str, late: int) -> None:
        wait = self.routing.wait(run, name, bookmark_id=f"b{bookmark}", committed_at_ms=self.routing.now_ms - late)
        self.waits.append(wait)
        self.note(self.routing.tell(wait))

    @precondition(lambda self: self.waits)
    @rule(data=st.data(), stimulus=st.integers(0, 20))
    def a_resume_is_declined(self, data: st.DataObject, stimulus: int) -> None:
        wait = data.draw(st.sampled_from(self.waits))
        ids = sorted(self.routing.shard.stimuli)
        taken_by = ids[stimulus % len(ids)] if ids else "gone"
        self.note(self.routing.tell(declined(wait, taken_by)))

    @precondition(lambda self: self.waits)
    @rule(data=st.data())
    def a_wait_is_withdrawn(self, data: st.DataObject) -> None:
        self.note(self.routing.tell(withdrawn(data.draw(st.sampled_from(self.waits)))))

    @rule()
    def what_is_due_expires(self) -> None:
        self.routing.expire()

    def note(self, decision: Decision) -> None:
        for change in decision.changes:
            assert change.stream.split(":")[0] in ("stimulus", "wait", "dead-letter")

    @invariant()
    def memory_holds_what_waits_and_what_is_younger_than_the_horizon(self) -> None:
        shard = self.routing.shard
        for stimulus in shard.stimuli.values():
            assert stimulus.kept or stimulus.since_ms >= shard.clock_ms - shard.horizon_ms
        for wait in shard.waits.values():
            assert wait.waiting or wait.ended_ms >= shard.clock_ms - shard.horizon_ms
        indexed = sum(len(stimuli) for by_key in (shard.untimed, shard.timed) for stimuli in by_key.values())
        assert indexed == sum(stimulus.open for stimulus in shard.stimuli.values())
        assert sum(map(len, shard.waiting.values())) == sum(wait.waiting for wait in shard.waits.values())


Interleavings.TestCase.settings = settings(
    max_examples=100, stateful_step_count=50, deadline=None, suppress_health_check=(HealthCheck.too_slow,)
)
Forgetting.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=(HealthCheck.too_slow,)
)
TestInterleavings = Interleavings.TestCase
TestForgetting = Forgetting.TestCase
