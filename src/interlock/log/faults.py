"""What may go wrong between a process and its log, as data.

A `Faults` object is asked at each call of a `MemoryLog` what shall happen to it. Nothing here draws from a global
source of chance: a `RandomFaults` is given its generator, so a seed repeats a run, and a `ScriptedFaults` is a list.

What would surprise: with `Answer.DOUBT` the batch may land at once, later, twice or never. That is the point.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from interlock.log.port import Record, Shard


class Answer(Enum):
    """What a `send` is told."""

    LANDED = "landed"
    DOUBT = "doubt"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOutcome:
    """What happens to one batch, and what its sender is told."""

    landings_s: tuple[float, ...] = (0.0,)
    """One entry for each time the batch lands: seconds after the call. Other batches may land before."""
    answer: Answer = Answer.LANDED
    told: int = 0
    """Which landing's offset is told, where the answer is `LANDED`: an index of `landings_s`."""
    answer_after_s: float = 0.0
    """How much later the sender hears of it, in seconds: after the landing that is told, or else after the call."""

    def __post_init__(self) -> None:
        if self.answer is Answer.LANDED and not 0 <= self.told < len(self.landings_s):
            raise ValueError(f"expected `told` to be an index of {self.landings_s}, found {self.told}")
        if self.answer is Answer.REFUSED and self.landings_s:
            raise ValueError(f"expected a refused batch never to land, found {self.landings_s}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOutcome:
    """What happens to a call of `end`, or of a reader's `read`."""

    delay_s: float = 0.0
    """Seconds until the log looks."""
    unavailable: bool = False
    """Whether the call then ends as `Unavailable`."""


class Faults(Protocol):
    """Says what shall happen to each call."""

    def on_send(self, shard: Shard, batch: Sequence[Record]) -> SendOutcome:
        """Asked once for each batch that is neither too large nor for a shard that does not exist."""
        ...

    def on_ask(self, shard: Shard) -> AskOutcome:
        """Asked each time that a `read` or an `end` looks; a `read` that was woken looks again."""
        ...


LANDS = SendOutcome()
SEEN = AskOutcome()


def acknowledged_late(after_s: float) -> SendOutcome:
    """The batch lands at once; the sender hears of it `after_s` seconds later."""
    return SendOutcome(answer_after_s=after_s)


def acknowledgement_lost(doubt_after_s: float = 0.0) -> SendOutcome:
    """The batch lands at once; the sender gets a doubt."""
    return SendOutcome(answer=Answer.DOUBT, answer_after_s=doubt_after_s)


def lands_late(landing_s: float, doubt_after_s: float = 0.0) -> SendOutcome:
    """The sender gets a doubt; the batch lands `landing_s` seconds later, behind what others send meanwhile."""
    return SendOutcome(landings_s=(landing_s,), answer=Answer.DOUBT, answer_after_s=doubt_after_s)


def never_lands(doubt_after_s: float = 0.0) -> SendOutcome:
    """The sender gets a doubt; the batch is lost."""
    return SendOutcome(landings_s=(), answer=Answer.DOUBT, answer_after_s=doubt_after_s)


def lands_twice(second_s: float = 0.0, told: int = 0) -> SendOutcome:
    """The batch lands at once and again `second_s` seconds after; `told` says of which landing the sender hears."""
    return SendOutcome(landings_s=(0.0, second_s), told=told)


def refused() -> SendOutcome:
    """The batch never lands, and the sender is told so."""
    return SendOutcome(landings_s=(), answer=Answer.REFUSED)


class NoFaults:
    """Everything works, at once."""

    def on_send(self, shard: Shard, batch: Sequence[Record]) -> SendOutcome:
        """The batch lands."""
        return LANDS

    def on_ask(self, shard: Shard) -> AskOutcome:
        """The log looks at once."""
        return SEEN


class ScriptedFaults:
    """Outcomes in the order of the calls, over all shards; without faults when they are used up."""

    def __init__(self, sends: Iterable[SendOutcome] = (), asks: Iterable[AskOutcome] = ()) -> None:
        self._sends = list(sends)
        self._asks = list(asks)

    def next_sends(self, *outcomes: SendOutcome) -> None:
        """Adds outcomes behind those that are still to come."""
        self._sends.extend(outcomes)

    def next_asks(self, *outcomes: AskOutcome) -> None:
        """Adds outcomes behind those that are still to come."""
        self._asks.extend(outcomes)

    def on_send(self, shard: Shard, batch: Sequence[Record]) -> SendOutcome:
        """The next outcome of the script."""
        return self._sends.pop(0) if self._sends else LANDS

    def on_ask(self, shard: Shard) -> AskOutcome:
        """The next outcome of the script."""
        return self._asks.pop(0) if self._asks else SEEN


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRates:
    """How often each fault comes, from 0 to 1; the faults of a send exclude each other, so their sum is at most 1."""

    acknowledged_late: float = 0.0
    acknowledgement_lost: float = 0.0
    lands_late: float = 0.0
    never_lands: float = 0.0
    lands_twice: float = 0.0
    refused: float = 0.0
    ask_late: float = 0.0
    unavailable: float = 0.0
    latency_s: tuple[float, float] = (0.0, 0.0)
    """The shortest and the longest time between a call and its landing or look, where nothing is wrong."""
    delay_s: tuple[float, float] = (0.001, 5.0)
    """The shortest and the longest delay that a fault brings."""


class RandomFaults:
    """Faults by chance from the generator that is handed in, so that its seed repeats them."""

    def __init__(self, chance: random.Random, rates: FaultRates) -> None:
        self._chance = chance
        self._rates = rates

    def on_send(self, shard: Shard, batch: Sequence[Record]) -> SendOutcome:
        """One of the faults, or a landing after the usual latency."""
        rates = self._rates
        roll = self._chance.random()
        landing_s = self._chance.uniform(*rates.latency_s)
        delay_s = self._chance.uniform(*rates.delay_s)
        faults = (
            (rates.acknowledged_late, SendOutcome(landings_s=(landing_s,), answer_after_s=delay_s)),
            (
                rates.acknowledgement_lost,
                SendOutcome(landings_s=(landing_s,), answer=Answer.DOUBT, answer_after_s=landing_s),
            ),
            (rates.lands_late, lands_late(landing_s + delay_s, doubt_after_s=landing_s)),
            (rates.never_lands, never_lands(doubt_after_s=landing_s)),
            (
                rates.lands_twice,
                SendOutcome(landings_s=(landing_s, landing_s + delay_s), told=self._chance.randrange(2)),
            ),
            (rates.refused, refused()),
        )
        for rate, outcome in faults:
            if roll < rate:
                return outcome
            roll -= rate
        return SendOutcome(landings_s=(landing_s,))

    def on_ask(self, shard: Shard) -> AskOutcome:
        """Late, unavailable, or after the usual latency."""
        rates = self._rates
        delay_s = self._chance.uniform(*(rates.delay_s if self._chance.random() < rates.ask_late else rates.latency_s))
        return AskOutcome(delay_s=delay_s, unavailable=self._chance.random() < rates.unavailable)
