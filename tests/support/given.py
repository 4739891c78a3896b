"""Tests of decisions as sentences: given these facts, when this is asked, then one of three endings.

    given(evolve, INITIAL, Requested(...)).when(lambda state: decide(command, state, NOW)).then(Staged(...))

The endings are: these events (`then`), this refusal (`then_refused`), nothing (`then_nothing`). A container of many
aggregates, which folds in place, is given by `given_shard`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from interlock.domain.decider import NOTHING, Change, Decided, Decision, Intent, fold
from interlock.domain.refusal import Refusal, RefusalKind

S = TypeVar("S")
E = TypeVar("E")


class Container(Protocol):
    """What holds the aggregates of a shard."""

    def apply(self, stream: str, event: object) -> None:
        """Takes an event."""
        ...


C = TypeVar("C", bound=Container)


def given(evolve: Callable[[S, E], S], initial: S, *events: E) -> "Given[S]":
    """The state of one aggregate after the events."""
    return Given(fold(evolve, initial, events))


def given_shard(shard: C, changes: Iterable[Change] = ()) -> "Given[C]":
    """A shard after further changes."""
    for change in changes:
        shard.apply(change.stream, change.event)
    return Given(shard)


@dataclass(frozen=True, slots=True)
class Given(Generic[S]):
    """What is so."""

    state: S

    def when(self, decide: Callable[[S], Decided]) -> "Outcome":
        """What is asked."""
        return Outcome(decide(self.state))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What comes of it."""

    decided: Decided

    def then(self, *events: object, intents: tuple[Intent, ...] | None = None) -> Decision:
        """Exactly these events, in order; and exactly these intents, where they are named."""
        decision = self.decision()
        assert [change.event for change in decision.changes] == list(events)
        if intents is not None:
            assert decision.intents == intents
        return decision

    def then_refused(self, kind: RefusalKind, *words: str) -> Refusal:
        """A refusal of this kind, whose sentence holds the words."""
        assert isinstance(self.decided, Refusal), f"expected a refusal, found {self.decided}"
        assert self.decided.kind == kind, self.decided.sentence
        assert [word for word in words if word not in self.decided.sentence] == [], self.decided.sentence
        return self.decided

    def then_nothing(self) -> None:
        """It is so already."""
        assert self.decided is NOTHING

    def decision(self) -> Decision:
        """The decision that was made, whatever it says."""
        assert isinstance(self.decided, Decision), f"expected a decision, found {self.decided}"
        return self.decided
