"""Bugs on the way from one shard to another, and to users: when promises leave, in which order, and how often."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from interlock.domain.executions.execution import decide as execution
from interlock.log.port import LogError
from interlock.processors.answering import answered, earlier_answer
from interlock.processors.courier import Couriers, for_users
from interlock.processors.mail import Received
from interlock.processors.ownership import Ownership
from interlock.processors.unit import Outgoing, Unit
from tests.simulation.bugs import Catalogue, Swap, Swaps
from tests.simulation.plan import Lean

delivery = Catalogue()
masked = Catalogue()
"""What another check makes up for, so that nothing is found."""


@delivery.bug()
def promises_leave_before_their_append() -> Swaps:
    """What an append promises is delivered although it may never count. The mistake: to save the round trip."""
    return [_early(_any)]


@delivery.bug()
def answers_leave_before_their_append() -> Swaps:
    """A client hears of what may never count. The mistake: to answer from memory, and to write behind it."""
    return [_early(_for_users)]


@delivery.bug(lean=Lean(doubts=20))
def the_next_promise_goes_while_one_is_in_doubt() -> Swaps:
    """What is in doubt is sent again behind newer promises, and then dropped as a repetition. The mistake: to let a
    retry wait without stopping the queue."""

    async def deliver(self: Any, destination: str, queue: deque[Outgoing]) -> None:
        shard = self._shard(destination)
        while queue:
            batch, count = self._batch(destination, queue)
            taken = [queue.popleft() for _ in range(count)]
            try:
                await self._log.send(shard, batch)
            except LogError:
                await asyncio.sleep(1.0)
                queue.extend(taken)
                continue
            self._delivered(destination, taken[-1].number)
        self._idle.set()

    return [(Couriers, "_deliver", deliver)]


@delivery.bug()
def repetitions_are_decided_again() -> Swaps:
    """A start that comes twice starts twice: neither its number among what its source sent nor its run is looked for.
    The mistake: to leave each check to the other one. Either of them is enough for a start, as `masked` shows."""
    return [*repetitions_are_not_known_by_their_number(), *a_run_is_begun_although_there_is_one()]


@delivery.bug(tries=32, lean=Lean(repeats=20, slots=10, publishes=6))
def a_refusal_is_not_remembered() -> Swaps:
    """A command that was refused is decided anew when it comes again, and may be answered otherwise or even done. The
    mistake: to remember only what has changed something."""
    original: Any = Ownership._decision  # pyright: ignore[reportPrivateUsage]

    def decision(self: Any, received: Received, unit: Unit) -> object:
        found = earlier_answer(self._book.answers, received.message)
        if found is not None and found.status == "refused":
            del self._book.answers[answered(found)]
        return original(self, received, unit)

    return [(Ownership, "_decision", decision)]


@masked.bug(tries=2)
def repetitions_are_not_known_by_their_number() -> Swaps:
    """A message is decided whether or not its number was received before; and nothing comes of it, since every handler
    knows what it has decided. The mistake: to take an optimisation for the rule."""

    def consume(self: Any, received: Received, unit: Unit) -> bool:
        book = self._book
        source, number = received.source, received.number
        if not self._take(lambda: self._decision(received, unit), received.message, received.cause, unit):
            return False
        if source and number > book.received.get(source, 0):
            book.received[source] = self._changed_received[source] = number
        book.inbox = received.offset + 1
        self.messages += 1
        return True

    return [(Ownership, "_consume", consume)]


@masked.bug(tries=2)
def a_run_is_begun_although_there_is_one() -> Swaps:
    """A start begins its run whether or not there is one; and nothing comes of it, since no number is taken twice. The
    mistake: to take a rule for an optimisation."""
    original = execution.start

    def start(state: object, *args: Any) -> object:
        return original(None, *args)

    return [(execution, "start", start)]


def _any(one: Outgoing) -> bool:
    return True


def _for_users(one: Outgoing) -> bool:
    return for_users(one.destination)


def _early(leaves: Callable[[Outgoing], bool]) -> Swap:
    original: Any = Ownership._append  # pyright: ignore[reportPrivateUsage]

    async def append(self: Any, unit: Unit) -> None:
        self._couriers.put([one for one in unit.outgoing if leaves(one)])
        unit.outgoing = [one for one in unit.outgoing if not leaves(one)]
        await original(self, unit)

    return Ownership, "_append", append
