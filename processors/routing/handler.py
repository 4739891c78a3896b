"""Routing: each message asks the deciders; repetitions are recognised by stimulus, wait and dead letter."""

from typing import ClassVar

from interlock.domain.decider import NOTHING, Decided
from interlock.domain.messages import (
    DecideAt,
    RegisterWait,
    RejectStimulus,
    ResumeDeclined,
    RouteStimulus,
    WithdrawWait,
)
from interlock.domain.routing.dead_letter.letter import excerpt
from interlock.domain.routing.decide import decide, due, next_due_ms
from interlock.domain.routing.lookup import BindingLookup
from interlock.domain.routing.shard import KeptRouting, RoutingShard
from interlock.domain.sharding import digest
from interlock.processors.counted import KeptBook
from interlock.processors.mail import Received
from interlock.processors.taskless import Taskless
from interlock.processors.unit import Unit
from interlock.schemas.states import StateFormat

RoutingMessage = RouteStimulus | RejectStimulus | RegisterWait | WithdrawWait | ResumeDeclined | DecideAt


class RoutingHandler(Taskless):
    """One shard of routing; `bindings` is the process's replica, which stands still while a unit is decided."""

    form: ClassVar[StateFormat] = StateFormat(KeptBook, KeptRouting)

    def __init__(self, partition: int, bindings: BindingLookup, *, skew_ms: int, horizon_ms: int) -> None:
        """`skew_ms` is by how much clocks may differ, `horizon_ms` how long stimuli are remembered."""
        self.shard = RoutingShard(horizon_ms=horizon_ms)
        # Another horizon would have forgotten more, or less.
        self.folded_with = f"horizon_ms={horizon_ms}"
        self._partition = partition
        self._bindings = bindings
        self._skew_ms = skew_ms

    def apply(self, stream: str, event: object) -> None:
        """Folds an event."""
        self.shard.apply(stream, event)

    def keep(self) -> object:
        """What is kept of the shard."""
        return self.shard.keep()

    def restore(self, kept: object) -> None:
        """Goes on with what was kept."""
        assert isinstance(kept, KeptRouting), "expected what `keep` gave"
        self.shard.restore(kept)

    def handle(self, received: Received, unit: Unit) -> Decided:
        """Decides a stimulus, a wait, or that it decides at a position."""
        message = received.message
        if not isinstance(message, RoutingMessage):
            raise TypeError(f"expected a message to routing, found {type(message).__name__}")
        # The log's time, not this process's: a clock that is wrong here must neither move the shard's own clock ahead,
        # which would forget what may still be repeated, nor make what arrived look older than it is.
        return self._decide(message, received.time_ms, unit)

    def _decide(self, message: RoutingMessage, landed_ms: int, unit: Unit) -> Decided:
        return decide(
            self.shard,
            message,
            landed_ms,
            bindings=self._bindings,
            position=unit.publishing,
            partition=self._partition,
            skew_ms=self._skew_ms,
        )

    def due(self, unit: Unit) -> Decided:
        """Stimuli whose time to live has passed expire."""
        return due(self.shard, unit.now_ms)

    def next_due_ms(self) -> int | None:
        """The next expiry."""
        return next_due_ms(self.shard)

    def cannot(self, message: object, why: str, unit: Unit) -> Decided:
        """A stimulus that can't be written with what it starts becomes a dead letter."""
        if not isinstance(message, RouteStimulus):
            return NOTHING
        letter = RejectStimulus(
            dead_letter_id=digest("dead-letter", "unwritable", message.stimulus_id),
            shell=message.shell,
            reason="too-large",
            detail=f"expected a stimulus that fits into an append with all that it starts, found: {why}",
            excerpt=excerpt(message.data),
            size=len(message.data),
            rejected_at_ms=min(message.arrived_at_ms, unit.now_ms),
            origin=message.origin,
        )
        return self._decide(letter, unit.now_ms, unit)
