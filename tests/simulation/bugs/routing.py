"""Bugs of routing: which waits and stimuli meet, and at which position of publishing it looks up who has authority."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from interlock.domain.decider import Decided, Decision
from interlock.domain.messages import RouteStimulus
from interlock.domain.publishing.authority import Authority
from interlock.domain.routing import decide as routing_decide
from interlock.domain.routing.shard import RoutingShard
from interlock.domain.routing.wait import decide as wait_decide
from interlock.domain.routing.wait.events import WaitTaken
from interlock.processors.mail import Received
from interlock.processors.ownership import Ownership
from interlock.processors.routing.handler import RoutingHandler
from interlock.processors.unit import Unit
from tests.simulation.bugs import Catalogue, Swaps
from tests.simulation.plan import Lean

routing = Catalogue()


@routing.bug()
def a_wait_is_not_taken_by_its_match() -> Swaps:
    """A stimulus resumes a wait and leaves it waiting, so the next one resumes it again. The mistake: to change one
    side of a meeting only."""
    original: Callable[..., Decided] = getattr(routing_decide, "route")  # noqa: B009 - it is imported there

    def route(*args: Any, **kwargs: Any) -> Decided:
        decided = original(*args, **kwargs)
        if not isinstance(decided, Decision):
            return decided
        return Decision(tuple(one for one in decided.changes if not isinstance(one.event, WaitTaken)), decided.intents)

    return [(routing_decide, "route", route)]


@routing.bug()
def a_late_registration_is_not_matched() -> Swaps:
    """A wait that registers behind the stimulus that it was committed before waits for ever. The mistake: to think
    that a registration is always faster."""

    def met(*args: object, **kwargs: object) -> None:
        """Nothing."""

    return [(wait_decide, "stimulus_met", met)]


@routing.bug()
def a_stimulus_is_routed_again() -> Swaps:
    """An idempotency key that was seen before starts runs again. The mistake: to trust that the log's own numbers find
    every repetition, though a client that tries again writes another record."""
    original: Callable[..., Decided] = getattr(routing_decide, "route")  # noqa: B009 - it is imported there

    def route(shard: RoutingShard, message: RouteStimulus, *args: Any, **kwargs: Any) -> Decided:
        return original(_Forgetful(shard), message, *args, **kwargs)

    return [(routing_decide, "route", route)]


@routing.bug(lean=Lean(jumps=6))
def a_clock_that_is_ahead_is_believed() -> Swaps:
    """What is said to come from the future moves the shard's own clock there, and it forgets what is repeated a moment
    later. The mistake: to hold what a message says against one's own clock, which may be the wrong one."""
    original = RoutingHandler.handle

    def handle(self: RoutingHandler, received: Received, unit: Unit) -> Decided:
        return original(self, replace(received, time_ms=unit.now_ms), unit)

    return [(RoutingHandler, "handle", handle)]


@routing.bug(lean=Lean(publishes=8))
def look_ups_are_answered_from_a_cache() -> Swaps:
    """A look-up at an older position is committed under a newer one. The mistake: a cache that answers at once and
    looks for what is new behind it."""
    original = Authority.bindings

    def bindings(self: Authority, shell: str, identity: str) -> object:
        cached = caches.setdefault(id(self), {})
        now = original(self, shell, identity)
        before = cached.get((shell, identity), now)
        cached[shell, identity] = now
        return before

    caches: dict[int, dict[tuple[str, str], object]] = {}
    return [(Authority, "bindings", bindings)]


@routing.bug(lean=Lean(lags=6, owners=8, publishes=8))
def an_owner_decides_before_its_replica_caught_up() -> Swaps:
    """A new owner takes the position from the journal and the bindings from a replica that is behind it. The mistake:
    to wait for the log of the shard and for nothing else."""
    original = Ownership.open

    async def opened(self: Any, still_assigned: Callable[[], Awaitable[bool]]) -> None:
        replica, self._replica = self._replica, None
        try:
            await original(self, still_assigned)
        finally:
            self._replica = replica

    return [(Ownership, "open", opened)]


class _Forgetful:
    """A shard that knows no stimulus."""

    def __init__(self, shard: RoutingShard) -> None:
        self._shard = shard
        self.stimuli: dict[str, object] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self._shard, name)
