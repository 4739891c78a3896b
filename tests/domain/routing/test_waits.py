"""A wait meets every stimulus that it is owed, whichever of the two is heard of first."""

import pytest

from interlock.domain.decider import Decision
from interlock.domain.messages import ResumeExecution
from interlock.domain.routing.decide import due, next_due_ms
from interlock.domain.routing.stimulus.decide import EXPIRIES_MAX
from interlock.domain.routing.stimulus.events import StimulusExpired
from tests.domain.routing.routing import NOW_MS, SKEW_MS, Routing, declined, kinds, messages, resumed, withdrawn

pytestmark = pytest.mark.domain


@pytest.fixture
def routing() -> Routing:
    return Routing()


def test_a_waiting_run_is_resumed_once_with_the_payload(routing: Routing) -> None:
    """Proves: STM-03, BKM-03"""
    routing.tell(routing.wait("run", correlation="o-1"))
    stimulus = routing.stimulus(correlation="o-1", data={"paid": True})
    decision = routing.tell(stimulus)
    assert messages(decision) == [
        ResumeExecution(
            execution_id="run",
            shell="default",
            bookmark_id="bookmark",
            stimulus_id=stimulus.stimulus_id,
            identity=stimulus.identity,
            correlation="o-1",
            data='{"paid": true}',
        )
    ]
    assert kinds(decision) == ["StimulusRouted", "WaitTaken"]
    assert routing.tell(routing.stimulus(correlation="o-1")).intents == ()


@pytest.mark.parametrize(("wait", "stimulus"), [("o-1", "o-2"), ("o-1", ""), ("", "o-1")])
def test_correlations_have_to_be_the_same_within_a_shard(routing: Routing, wait: str, stimulus: str) -> None:
    routing.tell(routing.wait("run", correlation=wait))
    assert routing.tell(routing.stimulus(correlation=stimulus)).intents == ()


@pytest.mark.parametrize(
    ("committed_before_arrival_ms", "met"), [(1_000, True), (0, True), (-SKEW_MS, True), (-SKEW_MS - 1, False)]
)
@pytest.mark.parametrize("registers_late", [False, True])
def test_without_a_time_to_live_the_commit_decides_and_not_the_registration(
    routing: Routing, committed_before_arrival_ms: int, met: bool, registers_late: bool
) -> None:
    """Proves: STM-05

    D1: the answer arrives before the wait is registered, and is not lost.
    """
    wait = routing.wait("run", committed_at_ms=NOW_MS - committed_before_arrival_ms)
    stimulus = routing.stimulus(arrived_at_ms=NOW_MS)
    routing.now_ms += 3_600_000
    order = (stimulus, wait) if registers_late else (wait, stimulus)
    decisions = [routing.tell(message) for message in order]
    assert resumed(decisions[-1]) == (["run"] if met else [])
    if met and registers_late:
        assert kinds(decisions[-1]) == ["WaitRegistered", "StimulusMatched", "WaitTaken"]


@pytest.mark.parametrize(("committed_after_ms", "met"), [(0, True), (999, True), (1_000, True), (1_001, False)])
@pytest.mark.parametrize("expired_first", [False, True])
def test_with_a_time_to_live_it_meets_waits_that_are_committed_in_that_time(
    routing: Routing, committed_after_ms: int, met: bool, expired_first: bool
) -> None:
    """Proves: STM-05

    Also where the shard stood still, and hears of the expiry before it hears of the wait.
    """
    routing.tell(routing.stimulus(ttl_ms=1_000))
    routing.now_ms += committed_after_ms
    wait = routing.wait("run")
    if expired_first:
        routing.now_ms += 5_000
        assert len(routing.expire()) == 1
    assert resumed(routing.tell(wait)) == (["run"] if met else [])


def test_a_time_to_live_shorter_than_the_clocks_differ_takes_nothing_away(routing: Routing) -> None:
    routing.tell(routing.stimulus(ttl_ms=1))
    routing.now_ms += SKEW_MS
    assert resumed(routing.tell(routing.wait("run"))) == ["run"]


def test_for_all_it_meets_every_wait_of_its_time_and_each_run_once(routing: Routing) -> None:
    """Proves: STM-05"""
    routing.tell(routing.wait("early"))
    assert resumed(routing.tell(routing.stimulus(ttl_ms=1_000))) == ["early"]
    routing.now_ms += 100
    assert resumed(routing.tell(routing.wait("late"))) == ["late"]
    assert resumed(routing.tell(routing.wait("late", bookmark_id="again"))) == []
    assert resumed(routing.tell(routing.wait("early", bookmark_id="again"))) == []


def test_two_waits_of_one_run_never_take_the_same_stimulus(routing: Routing) -> None:
    """Proves: STM-05"""
    routing.tell(routing.wait("run", bookmark_id="first"))
    routing.tell(routing.wait("run", bookmark_id="second"))
    assert resumed(routing.tell(routing.stimulus())) == ["run"]
    assert resumed(routing.tell(routing.stimulus())) == ["run"]
    assert resumed(routing.tell(routing.stimulus())) == []


@pytest.mark.parametrize("ttl_ms", [None, 1_000])
def test_for_one_it_ends_at_the_first_wait(routing: Routing, ttl_ms: int | None) -> None:
    """Proves: STM-05"""
    late = routing.wait("late")
    routing.tell(routing.wait("first"))
    routing.tell(routing.wait("second"))
    assert resumed(routing.tell(routing.stimulus(ttl_ms=ttl_ms, deliver="one"))) == ["first"]
    assert resumed(routing.tell(late)) == []
    assert next_due_ms(routing.shard) is None
    assert resumed(routing.tell(routing.stimulus(ttl_ms=ttl_ms, deliver="one"))) == ["second"]


def test_a_wait_takes_one_stimulus_and_the_earliest_routed(routing: Routing) -> None:
    """Proves: STM-05"""
    wait = routing.wait("run")
    stimuli = [routing.stimulus(ttl_ms=ttl_ms) for ttl_ms in (None, 1_000, None)]
    for stimulus in stimuli:
        routing.tell(stimulus)
    taken: list[str] = []
    for bookmark in ("1", "2", "3", "4"):
        decision = routing.tell(routing.wait("run", bookmark_id=bookmark, committed_at_ms=wait.committed_at_ms))
        taken += [message.stimulus_id for message in messages(decision) if isinstance(message, ResumeExecution)]
    assert taken == [stimulus.stimulus_id for stimulus in stimuli]


def test_a_registration_that_is_repeated_after_it_was_taken_takes_nothing(routing: Routing) -> None:
    """Proves: BKM-03

    D4: a lost acknowledgement brings the registration again, between two stimuli.
    """
    wait = routing.wait("run")
    routing.tell(wait)
    routing.tell(routing.stimulus())
    routing.tell(routing.stimulus(ttl_ms=1_000))
    assert routing.tell(wait) == Decision()


def test_a_withdrawn_wait_takes_nothing_and_stays_withdrawn(routing: Routing) -> None:
    wait = routing.wait("run")
    assert routing.tell(withdrawn(wait)) == Decision(), "an unknown one is harmless"
    routing.tell(wait)
    assert kinds(routing.tell(withdrawn(wait))) == ["WaitWithdrawn"]
    assert resumed(routing.tell(routing.stimulus(ttl_ms=1_000))) == []
    assert routing.tell(wait) == Decision()


def test_a_withdrawal_behind_the_stimulus_that_took_it_changes_nothing(routing: Routing) -> None:
    wait = routing.wait("run")
    routing.tell(wait)
    stimulus = routing.stimulus(deliver="one")
    routing.tell(stimulus)
    assert routing.tell(withdrawn(wait)) == Decision()
    assert kinds(routing.tell(declined(wait, stimulus.stimulus_id))) == ["StimulusReturned"]


def test_a_declined_stimulus_for_one_goes_to_the_next_wait(routing: Routing) -> None:
    """Proves: STM-05"""
    first, second = routing.wait("first"), routing.wait("second")
    routing.tell(first)
    routing.tell(second)
    stimulus = routing.stimulus(deliver="one")
    routing.tell(stimulus)
    decision = routing.tell(declined(first, stimulus.stimulus_id))
    assert resumed(decision) == ["second"]
    assert kinds(decision) == ["StimulusReturned", "StimulusMatched", "WaitTaken"]
    assert kinds(routing.tell(declined(second, stimulus.stimulus_id))) == ["StimulusReturned"]
    # Nobody is left; a wait that was committed in time and registers now gets it, the ones that declined do not.
    again = routing.wait("first", bookmark_id="again")
    assert resumed(routing.tell(again)) == []
    assert resumed(routing.tell(routing.wait("third"))) == ["third"]


def test_a_declined_stimulus_for_all_has_met_everyone_else_already(routing: Routing) -> None:
    """Proves: STM-05"""
    first = routing.wait("first")
    routing.tell(first)
    routing.tell(routing.wait("second"))
    stimulus = routing.stimulus()
    assert resumed(routing.tell(stimulus)) == ["first", "second"]
    decision = routing.tell(declined(first, stimulus.stimulus_id))
    assert kinds(decision) == ["StimulusReturned"]
    assert decision.intents == ()


def test_what_was_declined_is_kept_for_the_rest_of_its_time(routing: Routing) -> None:
    """Proves: STM-05"""
    wait = routing.wait("run")
    routing.tell(wait)
    stimulus = routing.stimulus(ttl_ms=1_000, deliver="one")
    routing.tell(stimulus)
    routing.now_ms += 500
    routing.tell(declined(wait, stimulus.stimulus_id))
    assert next_due_ms(routing.shard) == stimulus.arrived_at_ms + 1_000
    routing.now_ms += 400
    assert resumed(routing.tell(routing.wait("later"))) == ["later"]


def test_a_decline_of_what_was_never_given_changes_nothing(routing: Routing) -> None:
    wait = routing.wait("run")
    routing.tell(wait)
    assert routing.tell(declined(wait, "never")) == Decision()
    assert routing.tell(declined(routing.wait("unknown"), "never")) == Decision()


def test_the_time_to_live_passes_once_and_in_order(routing: Routing) -> None:
    stimuli = {ttl_ms: routing.stimulus(ttl_ms=ttl_ms) for ttl_ms in (300, 100, 200)}
    for stimulus in stimuli.values():
        routing.tell(stimulus)
    assert next_due_ms(routing.shard) == NOW_MS + 100
    routing.now_ms += 99
    assert routing.expire() == []
    routing.now_ms += 101
    assert routing.expire() == [
        StimulusExpired(stimulus_id=stimuli[ttl_ms].stimulus_id, at_ms=routing.now_ms) for ttl_ms in (100, 200)
    ]
    assert next_due_ms(routing.shard) == NOW_MS + 300


def test_many_that_expire_at_once_do_so_in_bounded_decisions(routing: Routing) -> None:
    together = Decision(tuple(routing.ask(routing.stimulus(ttl_ms=5)).changes[0] for _ in range(2 * EXPIRIES_MAX + 1)))
    routing.take(together)
    routing.now_ms += 5
    sizes: list[int] = []
    while next_due_ms(routing.shard) is not None:
        decision = due(routing.shard, routing.now_ms)
        assert isinstance(decision, Decision)
        routing.take(decision)
        sizes.append(len(decision.changes))
    assert sizes == [EXPIRIES_MAX, EXPIRIES_MAX, 1]
