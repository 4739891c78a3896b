"""A stimulus starts what has authority, once."""

import pytest

from interlock.domain.decider import Decision, Intent
from interlock.domain.messages import DecideAt, RejectStimulus, RoutingReached
from interlock.domain.routing.dead_letter.events import StimulusRejected
from interlock.domain.routing.stimulus.events import Started, StimulusRouted
from interlock.domain.sharding import execution_id
from tests.domain.routing.routing import (
    HORIZON_MS,
    PARTITION,
    POSITION,
    SHELL,
    SKEW_MS,
    Routing,
    binding,
    kinds,
    resumed,
    started,
)

pytestmark = pytest.mark.domain


@pytest.fixture
def routing() -> Routing:
    """A shard where `order.placed` starts one publication."""
    routing = Routing()
    routing.bindings.bind("order.placed", binding("orders"))
    return routing


def test_a_stimulus_that_starts_one_run_costs_one_event_and_one_intent(routing: Routing) -> None:
    stimulus = routing.stimulus("order.placed", data={"id": 1})
    decision = routing.tell(stimulus)
    (change,) = decision.changes
    run = execution_id(SHELL, "orders-binding", stimulus.stimulus_id)
    assert isinstance(change.event, StimulusRouted)
    assert change.stream == f"stimulus:{stimulus.stimulus_id}"
    assert change.event.starts == (
        Started(execution_id=run, publication_id="orders-publication", binding_id="orders-binding"),
    )
    (start,) = started(decision)
    assert len(decision.intents) == 1
    assert (start.execution_id, start.artifact_id, start.slot_id) == (run, "orders-artifact", "orders-slot")
    assert (start.trigger_node, start.data) == ("trigger", '{"id": 1}')


def test_every_authoritative_publication_starts_and_every_wait_resumes(routing: Routing) -> None:
    """Proves: STM-03"""
    routing.bindings.bind("order.placed", binding("orders", "on-order"), binding("billing", "on-bill"))
    routing.tell(routing.wait("w1", "order.placed"))
    routing.tell(routing.wait("w2", "order.placed"))
    decision = routing.tell(routing.stimulus("order.placed", data=5))
    assert resumed(decision) == ["w1", "w2"]
    assert [(start.publication_id, start.trigger_node, start.data) for start in started(decision)] == [
        ("orders-publication", "on-order", "5"),
        ("billing-publication", "on-bill", "5"),
    ]
    assert kinds(decision) == ["StimulusRouted", "WaitTaken", "WaitTaken"]


def test_a_stimulus_never_resumes_the_run_that_it_starts(routing: Routing) -> None:
    """Proves: STM-02"""
    stimulus = routing.stimulus("order.placed", ttl_ms=1_000)
    (start,) = started(routing.tell(stimulus))
    own = routing.wait(start.execution_id, "order.placed", started_by=stimulus.stimulus_id)
    assert resumed(routing.tell(own)) == []
    assert resumed(routing.tell(routing.wait("other", "order.placed"))) == ["other"]
    assert resumed(routing.tell(routing.stimulus("order.placed"))) == [start.execution_id]


def test_what_starts_nothing_and_meets_nothing_is_recorded(routing: Routing) -> None:
    decision = routing.tell(routing.stimulus("nobody.cares"))
    (change,) = decision.changes
    assert isinstance(change.event, StimulusRouted)
    assert (change.event.starts, change.event.resumes, change.event.kept_until_ms) == ((), (), None)
    assert decision.intents == ()


def test_shells_don_t_see_each_other_s_bindings_and_waits(routing: Routing) -> None:
    routing.tell(routing.wait("w", "order.placed"))
    decision = routing.tell(routing.stimulus("order.placed", shell="other"))
    assert decision.intents == ()


def test_a_redelivery_starts_nothing_even_after_a_republish(routing: Routing) -> None:
    """Proves: STM-04"""
    routing.tell(routing.stimulus("order.placed", key="k", data=1))
    routing.bindings.bind("order.placed", binding("newer"))
    for _ in range(5):
        routing.now_ms += 1_000
        assert routing.tell(routing.stimulus("order.placed", key="k", data=1)) == Decision()


def test_a_key_is_unique_within_identity_and_correlation_only(routing: Routing) -> None:
    """Proves: STM-04"""
    routing.bindings.bind("order.changed", binding("changes"))
    runs = [
        started(routing.tell(stimulus))[0].execution_id
        for stimulus in (
            routing.stimulus("order.placed", key="k"),
            routing.stimulus("order.placed", key="k", correlation="c"),
            routing.stimulus("order.changed", key="k"),
            routing.stimulus("order.placed", key="k2"),
        )
    ]
    assert len(set(runs)) == 4


def test_the_same_key_with_other_data_is_a_conflict_that_hides_the_first(routing: Routing) -> None:
    """Proves: STM-04"""
    routing.tell(routing.stimulus("order.placed", key="k", data="first-secret"))
    decision = routing.tell(routing.stimulus("order.placed", key="k", data="second"))
    (change,) = decision.changes
    assert isinstance(change.event, StimulusRejected)
    assert (change.event.reason, change.event.excerpt) == ("conflict", '"second"')
    assert "first-secret" not in repr(decision)
    (letter,) = decision.intents
    assert isinstance(letter.message, RejectStimulus)
    assert (letter.context, letter.shard_key) == ("dead-letters", letter.message.dead_letter_id)
    assert routing.tell(routing.stimulus("order.placed", key="k", data="first-secret")) == Decision()


def test_the_same_key_with_other_rules_is_a_conflict_too(routing: Routing) -> None:
    """Proves: STM-04"""
    routing.tell(routing.stimulus("order.placed", key="k"))
    assert kinds(routing.tell(routing.stimulus("order.placed", key="k", ttl_ms=5))) == ["StimulusRejected"]
    assert kinds(routing.tell(routing.stimulus("order.placed", key="k", deliver="one"))) == ["StimulusRejected"]


def test_a_key_that_comes_again_behind_the_horizon_is_new_and_says_so(routing: Routing) -> None:
    """B11: just within the dedup horizon it is a repetition, just behind it is not."""
    routing.tell(routing.stimulus("order.placed", key="k"))
    routing.now_ms += HORIZON_MS
    assert routing.tell(routing.stimulus("order.placed", key="k")) == Decision()
    routing.now_ms += 1
    decision = routing.tell(routing.stimulus("order.placed", key="k"))
    (change,) = decision.changes
    assert isinstance(change.event, StimulusRouted)
    assert change.event.past_horizon
    assert len(started(decision)) == 1


def test_a_stimulus_older_than_all_that_is_known_says_so(routing: Routing) -> None:
    routing.tell(routing.stimulus("order.placed"))
    decision = routing.tell(routing.stimulus("order.placed", arrived_at_ms=routing.now_ms - HORIZON_MS - 1))
    (change,) = decision.changes
    assert isinstance(change.event, StimulusRouted)
    assert change.event.past_horizon


def test_a_time_ahead_of_the_clock_is_not_believed(routing: Routing) -> None:
    first = routing.stimulus("order.placed", key="k")
    routing.tell(first)
    future = routing.stimulus("order.placed", arrived_at_ms=routing.now_ms + 10 * HORIZON_MS)
    (change,) = routing.tell(future).changes
    assert isinstance(change.event, StimulusRouted)
    assert change.event.arrived_at_ms == routing.now_ms + SKEW_MS
    assert routing.tell(first) == Decision()


def test_a_shard_that_decides_at_the_position_says_so_each_time() -> None:
    routing = Routing()
    asked = DecideAt(shell=SHELL, publication_id="p", position=POSITION - 1)
    reached = RoutingReached(shell=SHELL, publication_id="p", partition=PARTITION, position=POSITION)
    for _ in range(2):
        assert routing.tell(asked) == Decision((), (Intent("publishing", SHELL, reached),))


def test_a_shard_never_says_that_it_decides_at_a_position_that_it_has_not_reached() -> None:
    with pytest.raises(ValueError, match=f"position {POSITION + 1} or later"):
        Routing().tell(DecideAt(shell=SHELL, publication_id="p", position=POSITION + 1))


def test_an_event_of_another_context_stops_the_shard() -> None:
    with pytest.raises(TypeError, match="expected an event of routing in x:1, found str"):
        Routing().shard.apply("x:1", "unknown")
