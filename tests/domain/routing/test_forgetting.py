"""What a shard forgets, when, and what it never forgets; and the order that open stimuli are kept in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.domain.decider import Decision
from interlock.domain.routing.decide import next_due_ms
from interlock.domain.routing.shard import FORGOTTEN_MAX
from interlock.domain.routing.stimulus.events import StimulusRouted
from interlock.domain.routing.stimulus.state import KnownStimulus, OpenStimuli
from tests.domain.routing.routing import HORIZON_MS, Routing, binding, declined, kinds, resumed, started

pytestmark = pytest.mark.domain


@pytest.fixture
def routing() -> Routing:
    return Routing()


def test_a_shard_to_which_nothing_comes_forgets_nothing(routing: Routing) -> None:
    """After an outage, what is repeated in the backlog is known, however long the outage was."""
    stimulus = routing.stimulus()
    routing.tell(stimulus)
    routing.now_ms += 100 * HORIZON_MS
    assert routing.tell(stimulus) == Decision()


def test_what_was_routed_late_is_known_for_the_whole_horizon(routing: Routing) -> None:
    routing.tell(routing.stimulus())
    old = routing.stimulus(arrived_at_ms=routing.now_ms - HORIZON_MS)
    routing.tell(old)
    routing.now_ms += HORIZON_MS
    routing.tell(routing.stimulus())
    assert routing.tell(old) == Decision()


def test_a_kept_stimulus_outlives_the_horizon(routing: Routing) -> None:
    """Proves: STM-05"""
    stimulus = routing.stimulus(ttl_ms=3 * HORIZON_MS)
    routing.tell(stimulus)
    routing.now_ms += 2 * HORIZON_MS
    routing.tell(routing.stimulus())
    assert routing.tell(stimulus) == Decision()
    assert resumed(routing.tell(routing.wait("run"))) == ["run"]


def test_what_was_kept_through_a_silence_is_forgotten_by_what_ends_it(routing: Routing) -> None:
    """It was routed a horizon ago; that it ended being kept only now, by a clock of a process, moves nothing."""
    routing.tell(routing.stimulus("order.placed", key="k", ttl_ms=1))
    routing.now_ms += HORIZON_MS + 1
    assert len(routing.expire()) == 1
    assert routing.tell(routing.stimulus("order.placed", key="k", ttl_ms=1, arrived_at_ms=1)) == Decision()
    routing.tell(routing.stimulus())
    (change,) = routing.tell(routing.stimulus("order.placed", key="k", ttl_ms=1)).changes
    assert isinstance(change.event, StimulusRouted)
    assert not change.event.past_horizon


def test_a_stimulus_that_is_kept_again_after_a_decline_outlives_the_horizon(routing: Routing) -> None:
    """Proves: STM-05"""
    wait = routing.wait("first")
    routing.tell(wait)
    stimulus = routing.stimulus(ttl_ms=3 * HORIZON_MS, deliver="one")
    routing.tell(stimulus)
    routing.tell(declined(wait, stimulus.stimulus_id))
    routing.now_ms += 2 * HORIZON_MS
    routing.tell(routing.stimulus())
    assert next_due_ms(routing.shard) == stimulus.arrived_at_ms + 3 * HORIZON_MS
    assert resumed(routing.tell(routing.wait("second"))) == ["second"]


def test_a_wait_that_waits_is_never_forgotten_and_one_that_ended_is(routing: Routing) -> None:
    ended, waits = routing.wait("ended"), routing.wait("waits")
    routing.tell(ended)
    routing.tell(routing.stimulus(deliver="one"))
    routing.tell(waits)
    routing.now_ms += HORIZON_MS + 1
    assert resumed(routing.tell(routing.stimulus())) == ["waits"]
    assert (ended.execution_id, ended.bookmark_id) not in routing.shard.waits


def test_forgetting_is_spread_over_events_and_spares_what_came_again(routing: Routing) -> None:
    """A burst that is due at once is forgotten in pieces; the repeated id among the rest is a new stimulus by then."""
    routing.bindings.bind("order.placed", binding("orders"))
    count = FORGOTTEN_MAX + 20
    for number in range(count):
        routing.tell(routing.stimulus("order.placed", key=f"k{number}"))
    routing.now_ms += HORIZON_MS + 1
    again = routing.stimulus("order.placed", key=f"k{count - 1}")
    assert len(started(routing.tell(again))) == 1
    # Of the ones before, a bounded number went, and the one that it replaces.
    assert len(routing.shard.stimuli) == count - FORGOTTEN_MAX
    routing.tell(routing.stimulus("order.placed"))
    assert len(routing.shard.stimuli) == 2
    assert routing.tell(again) == Decision()


@pytest.mark.parametrize("waits_first", [True, False])
def test_a_run_never_meets_what_started_it_even_where_that_is_forgotten(routing: Routing, waits_first: bool) -> None:
    """Proves: STM-02

    Behind the horizon the same stimulus is routed anew, and by then another publication may have authority.
    """
    stimulus = routing.stimulus("order.placed", ttl_ms=1_000)
    wait = routing.wait("run", "order.placed", started_by=stimulus.stimulus_id)
    for message in (wait, stimulus) if waits_first else (stimulus, wait):
        assert resumed(routing.tell(message)) == []
    assert kinds(routing.tell(routing.stimulus("order.placed"))) == ["StimulusRouted", "WaitTaken"]


def known(number: int, arrived_at_ms: int) -> KnownStimulus:
    return KnownStimulus(
        stimulus_id=str(number),
        key=("default", "identity", ""),
        number=number,
        arrived_at_ms=arrived_at_ms,
        kept_until_ms=None,
        one=True,
        data="",
        met=(),
        taker=None,
        kept=False,
        since_ms=0,
    )


INSTANTS = st.integers(0, 50)


@given(
    # Few, so that what was taken out is put back before and behind others; or so many that the front is cleared away.
    st.lists(INSTANTS, min_size=2, max_size=5) | st.lists(INSTANTS, min_size=70, max_size=90),
    st.lists(st.tuples(st.integers(0, 200), INSTANTS), min_size=10, max_size=120),
    st.booleans(),
)
def test_open_stimuli_stay_in_order_and_none_that_reaches_is_passed_over(
    arrivals: list[int], toggles: list[tuple[int, int]], from_the_front: bool
) -> None:
    stimuli = [known(number, arrived_at_ms) for number, arrived_at_ms in enumerate(arrivals)]
    listed, there = OpenStimuli(), dict[int, KnownStimulus]()
    for stimulus in stimuli:
        listed.add(stimulus)
        there[stimulus.number] = stimulus
    if from_the_front:
        toggles = [(number, 25) for number in range(len(stimuli))] + toggles
    for at, instant in toggles:
        stimulus = stimuli[at % len(stimuli)]
        if there.pop(stimulus.number, None):
            listed.remove(stimulus)
        else:
            listed.add(stimulus)
            there[stimulus.number] = stimulus
        assert len(listed) == len(there)
        found = [each.number for each in listed.reaching(instant)]
        assert found == sorted(found)
        assert set(found) <= set(there)
        assert set(found) >= {number for number, each in there.items() if each.arrived_at_ms >= instant}
