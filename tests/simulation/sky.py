"""What goes wrong between processes and the log of a simulated run: single batches, and weather for a while.

One `Sky` a run; each connection asks it through a `Faults` of its own. Every fault that comes true is counted by its
kind and traced, since a fault that was planned and met nothing proves nothing.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from interlock.log.faults import (
    SEEN,
    Answer,
    AskOutcome,
    FaultRates,
    RandomFaults,
    SendOutcome,
    acknowledged_late,
    acknowledgement_lost,
    lands_late,
    lands_twice,
    never_lands,
    refused,
)
from interlock.log.port import Record, Shard
from interlock.processors.ports import Topics
from tests.simulation.items import BatchItem, FullDiskItem, LagItem, ReorderItem, SlowDiskItem, WeatherItem
from tests.simulation.trace import IN_PROCESS, Trace

ROUGH: Final = FaultRates(
    acknowledged_late=0.05,
    acknowledgement_lost=0.05,
    lands_late=0.05,
    never_lands=0.05,
    lands_twice=0.05,
    refused=0.02,
    ask_late=0.05,
    unavailable=0.05,
    latency_s=(0.0, 0.02),
    delay_s=(0.01, 4.0),
)
AWAY: Final = (
    never_lands(doubt_after_s=1.0),
    lands_late(3.0, doubt_after_s=0.5),
    refused(),
    SendOutcome(landings_s=(0.5,), answer=Answer.DOUBT, answer_after_s=0.01),
)
"""How a send may end while the log is away: what was under way may arrive all the same."""
FAST_S: Final = 0.01
"""The longest that a landing takes where nothing is wrong."""

FULL_DISK_FAILS: Final = 0.85
"""How likely a write fails while the disk is full."""
SLOW_DISK_S: Final = 6.0
"""The longest that a write takes while the disk is slow. Nine of ten take less than a tenth of a second: long ones
alone would leave time for few of them."""


class Sky:
    """The faults that wait for their batch, and the weather that there is now."""

    def __init__(self, topics: Topics, trace: Trace, kinds: Counter[str]) -> None:
        self.calm = False
        """Once faults are off."""
        self.armed: list[BatchItem] = []
        self.weather: list[WeatherItem] = []
        self.slow_inboxes: list[ReorderItem] = []
        self.lags: list[LagItem] = []
        self.full_disks: dict[FullDiskItem, random.Random] = {}
        """With the chance of each write."""
        self.slow_disks: dict[SlowDiskItem, random.Random] = {}
        self._topics = topics
        self._trace = trace
        self._kinds = kinds
        self._seen: dict[int, None] = {}

    def over(self, process: str, chance: random.Random) -> "Overhead":
        """What one connection meets."""
        return Overhead(self, process, chance)

    def clear(self) -> None:
        """Ends all of it, for good."""
        self.calm = True
        self.armed.clear()
        self.weather.clear()
        self.slow_inboxes.clear()
        self.lags.clear()
        self.full_disks.clear()
        self.slow_disks.clear()

    def armed_for(self, shard: Shard) -> BatchItem | None:
        """The fault that this batch takes, if one waits for it."""
        for index, item in enumerate(self.armed):
            if shard.topic.endswith(item.topic):
                return self.armed.pop(index)
        return None

    def weather_over(self, process: str) -> WeatherItem | None:
        """The worst that there is over a process; one that has met nothing yet goes first."""
        found = [one for one in self.weather if one.process is None or one.process == process]
        worst = ("away", "rough", "slow")
        return min(found, key=lambda one: (id(one) in self._seen, worst.index(one.kind)), default=None)

    def inbox_delay_s(self, shard: Shard) -> float:
        """How much longer this inbox takes than others."""
        for item in self.slow_inboxes:
            if shard == self._topics.inbox(item.context, item.partition):
                self.count_once(item, f"{shard} is slow")
                return item.delay_s
        return 0.0

    def lag_s(self, process: str, shard: Shard) -> float:
        """How much later a process hears of something in this shard than others."""
        for item in self.lags:
            if item.process == process and shard == self._topics.journal("publishing", 0):
                self.count_once(item, f"{process} reads {shard} late")
                return item.delay_s
        return 0.0

    def disk_full(self, process: str, what: str) -> bool:
        """Whether a process can't write this to its disk now."""
        for item, chance in self.full_disks.items():
            if item.process == process and chance.random() < FULL_DISK_FAILS:
                self.count_once(item, f"{what} can't be written")
                return True
        return False

    def disk_takes_s(self, process: str, what: str) -> float:
        """How long a process's disk takes to write this."""
        for item, chance in self.slow_disks.items():
            if item.process == process:
                self.count_once(item, f"{what} takes long to be written")
                return SLOW_DISK_S * chance.random() ** 40
        return 0.0

    def count(self, kind: str, what: str) -> None:
        """A fault came true."""
        self._kinds[kind] += 1
        self._trace.add(IN_PROCESS.get(), f"FAULT {kind}: {what}")

    def count_once(self, item: WeatherItem | ReorderItem | LagItem | FullDiskItem | SlowDiskItem, what: str) -> None:
        """A fault that lasts came true for the first time."""
        if id(item) not in self._seen:
            self._seen[id(item)] = None
            self.count(item.fault, what)


class Overhead:
    """Implements `Faults` for one connection."""

    def __init__(self, sky: Sky, process: str, chance: random.Random) -> None:
        self._sky = sky
        self._process = process
        self._chance = chance
        self._rough = RandomFaults(chance, ROUGH)

    def on_send(self, shard: Shard, batch: Sequence[Record]) -> SendOutcome:
        """A fault that waits for such a batch, or the weather's, or a landing soon."""
        sky = self._sky
        usual_s = self._chance.random() * FAST_S
        if sky.calm:
            return SendOutcome(landings_s=(usual_s,))
        if sky.armed and (armed := sky.armed_for(shard)) is not None:
            sky.count(armed.kind, f"{len(batch)} records to {shard}, {armed.delay_s:g} s")
            return OUTCOMES[armed.kind](armed.delay_s, random.Random(armed.seed))
        if sky.weather and (weather := sky.weather_over(self._process)) is not None:
            return self._in(weather, shard, batch, usual_s)
        delay_s = sky.inbox_delay_s(shard) if sky.slow_inboxes else 0.0
        return SendOutcome(landings_s=(usual_s + delay_s,))

    def on_ask(self, shard: Shard) -> AskOutcome:
        """The weather's."""
        sky = self._sky
        if sky.lags and (lag_s := sky.lag_s(self._process, shard)):
            return AskOutcome(delay_s=lag_s)
        if not sky.weather or (weather := sky.weather_over(self._process)) is None:
            return SEEN
        sky.count_once(weather, f"{shard} is asked")
        if weather.kind == "away":
            return AskOutcome(delay_s=self._chance.random(), unavailable=True)
        if weather.kind == "slow":
            return AskOutcome(delay_s=self._chance.random())
        return self._rough.on_ask(shard)

    def _in(self, weather: WeatherItem, shard: Shard, batch: Sequence[Record], usual_s: float) -> SendOutcome:
        sky = self._sky
        sky.count_once(weather, f"{len(batch)} records to {shard}")
        if weather.kind == "away":
            return self._chance.choice(AWAY)
        if weather.kind == "slow":
            return SendOutcome(landings_s=(usual_s + self._chance.expovariate(1.0),))
        return self._rough.on_send(shard, batch)


OUTCOMES: Final[dict[str, Callable[[float, random.Random], SendOutcome]]] = {
    "late ack": lambda delay_s, _: acknowledged_late(delay_s),
    "lost ack": lambda delay_s, _: acknowledgement_lost(delay_s / 4),
    "late landing": lambda delay_s, chance: lands_late(delay_s, doubt_after_s=delay_s * chance.random()),
    "never lands": lambda delay_s, _: never_lands(delay_s / 4),
    "doubled": lambda delay_s, chance: lands_twice(delay_s * chance.choice((0, 1)), told=chance.randrange(2)),
    "refused": lambda delay_s, _: refused(),
}
"""What each kind of `BatchItem` does to its batch."""
