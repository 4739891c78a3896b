"""What goes wrong in a plan, drawn from its chance; `plan.py` draws what users do.

The order of the draws is part of what a seed means: a kind that comes later is drawn behind those that there are.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tests.simulation.items import (
    BATCH_FAULTS,
    CLIENT,
    HARMS,
    HOLDER,
    SHARDS,
    VIEWS,
    WEATHERS,
    WORKERS,
    BatchFault,
    BatchItem,
    ClockItem,
    CrashItem,
    DoubleItem,
    DropItem,
    FullDiskItem,
    Item,
    JumpItem,
    LagItem,
    MoveItem,
    PauseItem,
    ReleaseItem,
    ReorderItem,
    SlowDiskItem,
    TamperItem,
    Topic,
    TwinItem,
    Weather,
    WeatherItem,
)


class Misfortunes:
    """Draws the faults of one plan."""

    def __init__(self, chance: random.Random, steps: int) -> None:
        self._chance = chance
        self._steps = steps
        self._span_s = 20.0 + 0.6 * steps
        self._number: int = 0
        self._versions: int = 1

    def _at(self, first: float = 0.0, last: float = 1.0) -> float:
        return round(self._chance.uniform(first, last) * self._span_s, 3)

    def _seed(self) -> int:
        return self._chance.getrandbits(48)

    def faults(self) -> list[Item]:
        """Each kind at least once, and more by chance as the run is longer."""
        draws: list[Callable[[], Item]] = [
            self._crash,
            self._crash,
            self._deleting,
            self._pause,
            self._pause,
            self._move,
            self._double,
            self._twin,
            self._clock,
            self._clock,
            self._release,
            self._drop,
            *(partial(self._batch, kind, "journal") for kind in BATCH_FAULTS),
            *(partial(self._batch, kind, "inbox") for kind in BATCH_FAULTS),
            self._any_batch,
        ]
        items = [draw_one() for draw_one in draws]
        # What lasts is sure to meet something where it lasts long enough, or is over everybody.
        items += [replace(self._weather(kind), process=None) for kind in WEATHERS]
        items.append(replace(self._reorder(), at_s=self._at(0.1, 0.6), for_s=20.0))
        items.append(replace(self._lag(), for_s=20.0))
        draws += [self._reorder, self._lag, *(partial(self._weather, kind) for kind in WEATHERS)]
        return items + [self._chance.choice(draws)() for _ in range(self._steps // 12)]

    def _crash(self) -> CrashItem:
        chance = self._chance
        return CrashItem(
            at_s=self._at(0.03),
            seed=self._seed(),
            process=chance.choice((*WORKERS, *WORKERS, HOLDER)),
            steps=chance.randrange(40),
            down_s=round(chance.expovariate(0.3), 3),
        )

    def _deleting(self) -> CrashItem:
        return replace(self._crash(), process=HOLDER, deletes=True)

    def _pause(self) -> PauseItem:
        chance = self._chance
        return PauseItem(
            at_s=self._at(0.03),
            seed=self._seed(),
            process=chance.choice((*WORKERS, *WORKERS, HOLDER)),
            for_s=round(chance.uniform(0.2, 12.0), 3),
            replaced=chance.random() < 0.7,
        )

    def _move(self) -> MoveItem:
        return MoveItem(at_s=self._at(0.03), seed=self._seed())

    def _double(self) -> DoubleItem:
        return DoubleItem(at_s=self._at(0.03), seed=self._seed(), for_s=round(self._chance.uniform(1.0, 10.0), 3))

    def _twin(self) -> TwinItem:
        return TwinItem(
            at_s=self._at(0.03),
            seed=self._seed(),
            process=self._chance.choice(WORKERS),
            for_s=round(self._chance.uniform(1.0, 8.0), 3),
        )

    def _batch(self, kind: BatchFault, topic: Topic) -> BatchItem:
        return BatchItem(
            at_s=self._at(0.0, 0.8),
            seed=self._seed(),
            kind=kind,
            topic=topic,
            delay_s=round(self._chance.choice((0.001, 0.05, 1.0, 4.0)) * self._chance.uniform(0.5, 1.5), 4),
        )

    def _any_batch(self) -> BatchItem:
        topics: tuple[Topic, ...] = ("journal", "journal", "inbox", "stimuli", "replies")
        return self._batch(self._chance.choice(BATCH_FAULTS), self._chance.choice(topics))

    def _weather(self, kind: Weather) -> WeatherItem:
        return WeatherItem(
            at_s=self._at(0.03),
            seed=self._seed(),
            kind=kind,
            process=self._chance.choice((*WORKERS, CLIENT, None, None)),
            for_s=round(self._chance.uniform(1.0, 10.0), 3),
        )

    def _reorder(self) -> ReorderItem:
        chance = self._chance
        return ReorderItem(
            at_s=self._at(0.03),
            seed=self._seed(),
            context=chance.choice(("routing", "executions")),
            partition=chance.randrange(SHARDS),
            delay_s=round(chance.uniform(0.5, 3.0), 3),
            for_s=round(chance.uniform(4.0, 15.0), 3),
        )

    def _lag(self) -> LagItem:
        chance = self._chance
        return LagItem(
            at_s=self._at(0.03),
            seed=self._seed(),
            process=chance.choice((*WORKERS, HOLDER)),
            delay_s=round(chance.uniform(0.5, 5.0), 3),
            for_s=round(chance.uniform(5.0, 20.0), 3),
        )

    def _clock(self) -> ClockItem:
        return ClockItem(
            at_s=self._at(),
            seed=self._seed(),
            process=self._chance.choice((*WORKERS, HOLDER)),
            offset_ms=self._chance.randint(-950, 950),
        )

    def _jump(self) -> JumpItem:
        """Forward and back alike, and by minutes as often as by days."""
        chance = self._chance
        far_ms = int(60_000 * 5 ** chance.uniform(0.5, 5.0))
        return JumpItem(
            at_s=self._at(0.03, 0.9),
            seed=self._seed(),
            process=chance.choice((*WORKERS, *WORKERS, HOLDER)),
            offset_ms=chance.choice((-1, 1)) * far_ms,
            for_s=round(chance.uniform(2.0, 20.0), 3),
            restarts=chance.random() < 0.3,
        )

    def _full(self, process: str) -> FullDiskItem:
        """Long enough to meet something, where views are written all the time."""
        for_s = round(self._chance.uniform(8.0, 16.0), 3)
        return FullDiskItem(at_s=self._at(0.1, 0.5), seed=self._seed(), process=process, for_s=for_s)

    def _slow(self, process: str) -> SlowDiskItem:
        """As long as it takes for one to be met that begins while its process is down."""
        for_s = round(self._chance.uniform(20.0, 30.0), 3)
        return SlowDiskItem(at_s=self._at(0.1, 0.5), seed=self._seed(), process=process, for_s=for_s)

    def tampering(self, number: int) -> list[TamperItem]:
        """Each at a time at which there are rows to harm."""
        return [
            TamperItem(at_s=self._at(0.2, 0.9), seed=self._seed(), harm=self._chance.choice(HARMS))
            for _ in range(number)
        ]

    def _drop(self) -> DropItem:
        return DropItem(at_s=self._at(0.1), seed=self._seed(), view=self._chance.choice(VIEWS))

    def _release(self) -> ReleaseItem:
        return ReleaseItem(
            at_s=self._at(0.1),
            seed=self._seed(),
            process=self._chance.choice(WORKERS),
            versions=self._chance.randint(1, self._versions),
        )
