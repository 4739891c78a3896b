"""What a routing shard decides on each message, and when time passes.

Every message may come again, and in any order: stimuli, waits and dead letters are known by their ids for the dedup
horizon, declines by what the wait was taken by, and a `DecideAt` is answered each time, which its receiver expects.
Decisions only look at the shard; the events that they make change it, through `RoutingShard.apply`.
"""

from interlock.domain.decider import Decided, Decision, Intent
from interlock.domain.messages import (
    DecideAt,
    RegisterWait,
    RejectStimulus,
    ResumeDeclined,
    RouteStimulus,
    RoutingReached,
    WithdrawWait,
)
from interlock.domain.routing.dead_letter.decide import reject
from interlock.domain.routing.lookup import BindingLookup
from interlock.domain.routing.shard import RoutingShard
from interlock.domain.routing.stimulus.decide import decline, expire, route
from interlock.domain.routing.wait.decide import register, withdraw

RoutingMessage = RouteStimulus | RejectStimulus | RegisterWait | WithdrawWait | ResumeDeclined | DecideAt


def decide(
    shard: RoutingShard,
    message: RoutingMessage,
    landed_ms: int,
    *,
    bindings: BindingLookup,
    position: int,
    partition: int,
    skew_ms: int,
) -> Decided:
    """The events and intents of one message, or NOTHING; routing refuses nothing, its refusals are dead letters.

    `landed_ms` is when the log took the message, by the log's clock: nothing that it tells of is later, but for what
    clocks may differ by. `bindings` answers at `position` of the publishing journal. `skew_ms` is by how much two
    processes' clocks may differ (`max_clock_skew`).
    """
    match message:
        case RouteStimulus():
            return route(shard, message, landed_ms, bindings=bindings, skew_ms=skew_ms)
        case RegisterWait():
            return register(shard, message, landed_ms, skew_ms=skew_ms)
        case WithdrawWait():
            return withdraw(shard, message)
        case ResumeDeclined():
            return decline(shard, message, skew_ms=skew_ms)
        case RejectStimulus():
            return reject(shard, message, landed_ms, skew_ms=skew_ms)
        case DecideAt():
            return _reached(message, position, partition)


def due(shard: RoutingShard, now_ms: int) -> Decided:
    """What time alone decides: stimuli whose time to live has passed. NOTHING once nothing is due.

    A decision is bounded, so `next_due_ms` may be in the past again after it.
    """
    return expire(shard, now_ms)


def next_due_ms(shard: RoutingShard) -> int | None:
    """When `due` has something to decide next; None as long as nothing is kept."""
    return shard.expiries[0][0] if shard.expiries else None


def _reached(message: DecideAt, position: int, partition: int) -> Decision:
    """Says that the shard decides at the position asked for, or later (PUB-16); no event, since the frame holds it."""
    if position < message.position:
        raise ValueError(
            f"expected routing shard {partition} to decide at publishing position {message.position} or later before "
            f"it says so, found {position}"
        )
    reached = RoutingReached(
        shell=message.shell, publication_id=message.publication_id, partition=partition, position=position
    )
    return Decision((), (Intent("publishing", message.shell, reached),))
