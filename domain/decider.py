"""The shape of every aggregate: `INITIAL`, `evolve(state, event)`, `decide(command, state, now_ms)`.

They are plain functions in `state.py` and `decide.py` of an aggregate's folder, over frozen data of `events.py` and
`commands.py`. `evolve` only assigns and never refuses: history can't be argued with. `decide` gives a `Decision`,
a `Refusal`, or `NOTHING`; time, ids and chance are arguments, so replaying never decides again.
"""

from collections.abc import Callable, Iterable
from dataclasses import field
from enum import Enum
from typing import Final, Literal, TypeVar

from interlock.domain.frozen import frozen
from interlock.domain.messages import Message
from interlock.domain.refusal import Refusal

S = TypeVar("S")
E = TypeVar("E")


class Nothing(Enum):
    """The result of a command that asks for what is so already; how idempotency is seen."""

    NOTHING = "nothing to do"


NOTHING: Final = Nothing.NOTHING


@frozen()
class Intent:
    """A message that a commit promises to a context's shard; part of the commit, delivered after it."""

    context: str
    """The context whose inbox takes it, such as "routing"."""
    shard_key: str
    """What decides the shard within that context; see `interlock.domain.sharding`."""
    message: Message
    partition: int | None = None
    """The shard itself, where the promise is to a shard and not to a key (`DecideAt`)."""


@frozen()
class Change:
    """An event of one aggregate, before the processor gives it a revision."""

    stream: str
    """The aggregate, as `kind:id`; it is the key of the record."""
    event: object


@frozen()
class Decision:
    """What one command makes: events in order, and intents. It commits as a whole or not at all."""

    changes: tuple[Change, ...] = field(default=())
    intents: tuple[Intent, ...] = field(default=())


Decided = Decision | Refusal | Literal[Nothing.NOTHING]


def fold(evolve: Callable[[S, E], S], state: S, events: Iterable[E]) -> S:
    """The state after the events."""
    for event in events:
        state = evolve(state, event)
    return state
