"""What an aggregate was, as of any of its events: folded by the domain's own `evolve`, whatever kind it is of (PRJ-10).

It is what deciders would hold of it then: replaying never decides again, and no view has to keep old states.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from interlock.domain.decider import fold
from interlock.domain.executions.execution import state as execution
from interlock.domain.publishing.claims import state as claims
from interlock.domain.publishing.publication import state as publication
from interlock.domain.publishing.reconciliation import state as reconciliation
from interlock.domain.publishing.reference import state as reference
from interlock.domain.publishing.slot import state as slot
from interlock.domain.publishing.unpublish import state as unpublish
from interlock.domain.routing.shard import RoutingShard

JsonState = None | bool | int | float | str | list["JsonState"] | dict[str, "JsonState"]
"""A state as JSON knows it."""

_FOREVER_MS: Final = 2**62
"""A routing shard with this horizon forgets nothing."""


class UnknownKind(Exception):
    """There are no aggregates of this kind; the message says which there are."""


def state_of(stream: str, events: Sequence[object]) -> JsonState:
    """The state of an aggregate behind these events, which are all from its first one on. Raises `UnknownKind`."""
    require_known(stream)
    return as_json(STATES[stream.partition(":")[0]](stream, events))


def require_known(stream: str) -> None:
    """Raises `UnknownKind` for a stream of no kind that there is."""
    if stream.partition(":")[0] not in STATES:
        raise UnknownKind(f"expected an aggregate of {', '.join(sorted(STATES))}, found {stream[:200]!r}")


def as_json(value: object) -> JsonState:
    """Any part of a state as JSON: fields by their names, sets in order, keys of several parts with `/` between."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, execution.ExecutionState):
        return {name: as_json(each) for name, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {_key(key): as_json(each) for key, each in cast("Mapping[object, object]", value).items()}
    if isinstance(value, set | frozenset):
        return [as_json(each) for each in sorted(cast("set[Any]", value))]
    if isinstance(value, Sequence):
        return [as_json(each) for each in cast("Sequence[object]", value)]
    raise TypeError(f"expected a state of plain data, found {type(value).__name__}")


def _key(key: object) -> str:
    return "/".join(map(str, cast("tuple[object, ...]", key))) if isinstance(key, tuple) else str(key)


def _folded(
    evolve: Callable[[Any, Any], object], initial: Callable[[], object]
) -> Callable[[str, Sequence[object]], object]:
    return lambda stream, events: fold(evolve, initial(), events)


def _fact(stream: str, events: Sequence[object]) -> object:
    """An aggregate of which one fact is all there is to know."""
    return events[-1]


def _stimulus(stream: str, events: Sequence[object]) -> object:
    (known,) = _routing(stream, events).stimuli.values()
    return known


def _wait(stream: str, events: Sequence[object]) -> object:
    (known,) = _routing(stream, events).waits.values()
    return known


def _routing(stream: str, events: Sequence[object]) -> RoutingShard:
    """A shard to which nothing else ever came."""
    shard = RoutingShard(horizon_ms=_FOREVER_MS)
    for event in events:
        shard.apply(stream, event)
    return shard


STATES: Final[Mapping[str, Callable[[str, Sequence[object]], object]]] = {
    "execution": _folded(execution.evolve, lambda: execution.INITIAL),
    "publication": _folded(publication.evolve, lambda: publication.INITIAL),
    "slot": _folded(slot.evolve, lambda: slot.INITIAL),
    "claims": _folded(claims.evolve, claims.initial),
    "executable": _fact,
    "reconciliation": _folded(reconciliation.evolve, lambda: reconciliation.INITIAL),
    "source-reference": _folded(reference.evolve, lambda: reference.INITIAL),
    "unpublish": _folded(unpublish.evolve, lambda: unpublish.INITIAL),
    "stimulus": _stimulus,
    "wait": _wait,
    "dead-letter": _fact,
}
"""Kind of stream → how its state is folded. A ledger of claims is folded in place, so it begins anew each time."""
