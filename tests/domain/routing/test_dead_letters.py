"""What can't be routed is recorded and handed on, and the ones behind it go on."""

import pytest

from interlock.domain.decider import Decision, Intent
from interlock.domain.messages import Origin, RejectStimulus
from interlock.domain.routing.dead_letter.events import StimulusRejected
from interlock.domain.routing.intake import read_stimulus
from tests.domain.routing.routing import HORIZON_MS, SKEW_MS, Routing, binding, kinds, started

pytestmark = pytest.mark.domain


def letter_at(routing: Routing, offset: int) -> RejectStimulus:
    message = read_stimulus(
        b"{bad",
        origin=Origin(channel="kafka", topic="interlock.stimuli@t", partition=0, offset=offset),
        arrived_at_ms=routing.now_ms,
        shell="default",
        bytes_max=100,
    )
    assert isinstance(message, RejectStimulus)
    return message


def test_a_rejected_record_is_a_fact_and_a_message_with_its_origin() -> None:
    """Proves: STM-07"""
    routing = Routing()
    message = letter_at(routing, 5)
    decision = routing.tell(message)
    (change,) = decision.changes
    assert change.stream == f"dead-letter:{message.dead_letter_id}"
    assert isinstance(change.event, StimulusRejected)
    assert (change.event.reason, change.event.origin.offset, change.event.excerpt) == ("unreadable", 5, "{bad")
    assert decision.intents == (Intent("dead-letters", message.dead_letter_id, message),)


def test_a_poisoned_record_holds_nobody_up() -> None:
    """Proves: STM-07

    F1: poison at offset 5 of 10, nine are handled and one is a dead letter.
    """
    routing = Routing()
    routing.bindings.bind("order.placed", binding("orders"))
    decisions = [
        routing.tell(letter_at(routing, 5) if offset == 5 else routing.stimulus("order.placed")) for offset in range(10)
    ]
    assert [len(started(decision)) for decision in decisions] == [1] * 5 + [0] + [1] * 4
    assert kinds(decisions[5]) == ["StimulusRejected"]


def test_a_dead_letter_is_known_for_the_dedup_horizon() -> None:
    routing = Routing()
    first = letter_at(routing, 1)
    routing.tell(first)
    routing.now_ms += HORIZON_MS
    routing.tell(letter_at(routing, 2))
    assert routing.tell(first) == Decision()
    routing.now_ms += 1
    routing.tell(letter_at(routing, 3))
    assert kinds(routing.ask(first)) == ["StimulusRejected"]


def test_a_rejection_ahead_of_the_clock_is_not_believed() -> None:
    routing = Routing()
    message = letter_at(Routing(now_ms=routing.now_ms + HORIZON_MS), 1)
    routing.tell(message)
    assert routing.shard.clock_ms == routing.now_ms + SKEW_MS
