"""What a shard remembers of a stimulus: enough to know it again, and to give it to a wait that registers late."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple, cast

from interlock.domain.routing.stimulus.events import StimulusRouted

MeetingKey = tuple[str, str, str]
"""Shell, identity, correlation: stimuli and waits meet only within one."""
WaitKey = tuple[str, str]
"""Execution id and bookmark id."""

_MET_TUPLE_MAX = 8
"""Up to so many, a tuple is smaller than a set and searched as fast."""


def stream_of(stimulus_id: str) -> str:
    """The stream of its facts."""
    return f"stimulus:{stimulus_id}"


def deadline_ms(arrived_at_ms: int, kept_until_ms: int | None, skew_ms: int) -> int:
    """The last instant at which a bookmark may be committed for its wait to be met (STM-05).

    Two processes' clocks may differ by `skew_ms`, so what was committed so little after the arrival counts as before.
    A time to live never makes it earlier.
    """
    deadline = arrived_at_ms + skew_ms
    return deadline if kept_until_ms is None or kept_until_ms < deadline else kept_until_ms


def met_by(event: StimulusRouted) -> tuple[str, ...] | set[str]:
    """The executions that it met when it was routed."""
    met = (*[started.execution_id for started in event.starts], *[resumed.execution_id for resumed in event.resumes])
    return met if len(met) <= _MET_TUPLE_MAX else set(met)


@dataclass(slots=True, kw_only=True)
class KnownStimulus:
    """A stimulus that was routed; changed by `RoutingShard.apply` alone."""

    stimulus_id: str
    key: MeetingKey
    number: int
    """Its place in the order of the shard's stimuli, from 1."""
    arrived_at_ms: int
    kept_until_ms: int | None
    one: bool
    """It ends at the first wait that it meets."""
    data: str
    met: tuple[str, ...] | set[str]
    """The executions that it started or resumed, those that declined it included: none meets it again."""
    taker: WaitKey | None
    """The wait where it ended, if it is for one and has met it."""
    kept: bool
    """Its time to live has not passed, as far as is recorded, and it has not ended at a first wait."""
    since_ms: int
    """The shard's clock when it was routed, or ended being kept: what it is forgotten by."""
    queued: int = 0
    """How often it stands in the queue of what is forgotten; its last place counts."""
    reach_ms: int = 0
    """Up to when it, or one before it in `OpenStimuli`, may meet waits; without what clocks may differ by."""

    @property
    def open(self) -> bool:
        """Whether it may meet further waits."""
        return self.taker is None

    def meet(self, execution_id: str) -> None:
        """Remembers an execution; none is met twice."""
        if isinstance(self.met, set):
            self.met.add(execution_id)
        elif len(self.met) < _MET_TUPLE_MAX:
            self.met = (*self.met, execution_id)
        else:
            self.met = {*self.met, execution_id}

    def same_content(self, data: str, ttl_ms: int | None, one: bool) -> bool:
        """Whether what came under its id says the same; its identity and correlation do, since the id holds them."""
        known_ttl_ms = None if self.kept_until_ms is None else self.kept_until_ms - self.arrived_at_ms
        return self.data == data and known_ttl_ms == ttl_ms and self.one == one


class KeptStimulus(NamedTuple):
    """What is kept of a `KnownStimulus`: all of it, field by field, in an object that never changes."""

    stimulus_id: str
    key: MeetingKey
    number: int
    arrived_at_ms: int
    kept_until_ms: int | None
    one: bool
    data: str
    met: tuple[str, ...]
    taker: WaitKey | None
    kept: bool
    since_ms: int
    queued: int
    reach_ms: int


_fields = cast("Callable[[KnownStimulus], tuple[Any, ...]]", attrgetter(*KeptStimulus._fields))
_MET = KeptStimulus._fields.index("met")


def keep_stimuli(stimuli: Iterable[KnownStimulus]) -> tuple[KeptStimulus, ...]:
    """What is kept of stimuli. There are many, and a shard stands still meanwhile: about 1 µs each."""
    # Plain tuples are like named ones but for their names, and take half the time.
    rows = list(map(_fields, stimuli))
    for at in [at for at, row in enumerate(rows) if type(row[_MET]) is set]:
        row = rows[at]
        rows[at] = (*row[:_MET], tuple(sorted(row[_MET])), *row[_MET + 1 :])
    return cast("tuple[KeptStimulus, ...]", tuple(rows))


def restored_stimulus(kept: KeptStimulus) -> KnownStimulus:
    """The stimulus again."""
    stimulus = KnownStimulus(**kept._asdict())
    if len(kept.met) > _MET_TUPLE_MAX:
        stimulus.met = set(kept.met)
    return stimulus


def _number(stimulus: KnownStimulus) -> int:
    return stimulus.number


def _reach(stimulus: KnownStimulus) -> int:
    return stimulus.reach_ms


@dataclass(slots=True, eq=False)
class OpenStimuli:
    """The open stimuli of one meeting key in the order of the shard, searched by the instant that they reach up to.

    `reach_ms` never falls along the list, so the first candidate for a wait is found by halving, and what is passed
    over is only what lies behind it. Taking from the front, which is where stimuli are forgotten, moves nothing.
    """

    items: list[KnownStimulus | None] = field(default_factory=list[KnownStimulus | None])
    start: int = 0
    """Before it, all are gone (None)."""

    def __len__(self) -> int:
        """How many there are."""
        return len(self.items) - self.start

    def __eq__(self, other: object) -> bool:
        """Whether the same ones are open in the same order; what was taken out before makes no difference."""
        return isinstance(other, OpenStimuli) and self.items[self.start :] == other.items[other.start :]

    def add(self, stimulus: KnownStimulus) -> None:
        """Puts one where its number belongs; which is at the end, but for one that was returned."""
        items = self._present()
        reach_ms = stimulus.arrived_at_ms if stimulus.kept_until_ms is None else stimulus.kept_until_ms
        at = len(items)
        if at > self.start and items[-1].number > stimulus.number:
            at = bisect_left(items, stimulus.number, self.start, key=_number)
        if at > self.start:
            reach_ms = max(reach_ms, items[at - 1].reach_ms)
        stimulus.reach_ms = reach_ms
        items.insert(at, stimulus)
        for later in range(at + 1, len(items)):
            if items[later].reach_ms >= reach_ms:
                break
            items[later].reach_ms = reach_ms

    @classmethod
    def restored(cls, stimuli: list[KnownStimulus]) -> "OpenStimuli":
        """Some that know their reach, in their order."""
        return cls(items=list(stimuli))

    def remove(self, stimulus: KnownStimulus) -> None:
        """Takes one out that is in."""
        at = bisect_left(self._present(), stimulus.number, self.start, key=_number)
        if at > self.start:
            del self.items[at]
            return
        self.items[at] = None
        self.start += 1
        if self.start > 32 and self.start > len(self.items) // 2:
            del self.items[: self.start]
            self.start = 0

    def reaching(self, at_ms: int) -> Iterator[KnownStimulus]:
        """In order, all that reach up to an instant, and some that don't."""
        items = self._present()
        for at in range(bisect_left(items, at_ms, self.start, key=_reach), len(items)):
            yield items[at]

    def _present(self) -> list[KnownStimulus]:
        """The list, of which nothing before `start` is looked at."""
        return cast("list[KnownStimulus]", self.items)
