"""The state that owners hold equals what the log says: for each shard a shadow is folded from the stored bytes.

After each commit what it touched is compared, and at each takeover, and whenever it is asked for, everything.

Rules: state-differs, revisions-differ, timer-index.
"""

from collections.abc import Iterator
from typing import TypeVar, cast

from interlock.domain.executions.execution.decide import due_at_ms
from interlock.domain.executions.execution.events import ExecutionEvent
from interlock.domain.executions.execution.state import ExecutionState
from interlock.domain.executions.shard import ExecutionsShard
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.routing.shard import RoutingShard
from interlock.domain.routing.wait.state import stream_of as wait_stream
from interlock.processors.ownership import Ownership
from interlock.processors.unit import Book
from tests.simulation.checks import Violation
from tests.simulation.checks.runs import PREFIX
from tests.simulation.checks.tape import Commit, Home, name

Aggregates = PublishingShard | RoutingShard | ExecutionsShard

T = TypeVar("T")


class Shadow:
    """One shard, folded from the bytes of its journal."""

    def __init__(self, home: Home, horizon_ms: int) -> None:
        self.home = home
        self.number = 0
        self.shard = _empty(home, horizon_ms)
        self.touched: dict[int, list[str]] = {}
        """Append → the streams that it touched; for appends whose owner was not compared yet."""

    def take(self, commit: Commit) -> None:
        """Folds an append."""
        self.number = commit.number
        streams: dict[str, None] = {}
        for stream, event in commit.events:
            streams[stream] = None
            if isinstance(self.shard, ExecutionsShard):
                self.shard.apply(stream, cast("ExecutionEvent", event))
            else:
                self.shard.apply(stream, event)
        self.touched[commit.number] = list(streams)
        if len(self.touched) > 100:
            del self.touched[next(iter(self.touched))]


class ShadowsCheck:
    """All shards, and the owners that are seen beside them."""

    def __init__(self, shadows: dict[Home, Shadow], revisions: dict[Home, dict[str, int]]) -> None:
        self.compared = 0
        """Comparisons of an owner's state so far."""
        self._shadows = shadows
        self._revisions = revisions

    def committed(self, ownership: Ownership) -> None:
        """An append of this owner counts, and it has decided nothing since."""
        found = self._beside(ownership)
        if found is None:
            return
        shadow, live, book = found
        for stream in shadow.touched.get(shadow.number, ()):
            _same(shadow, f"{stream} after append {shadow.number}", _found(live, stream), _found(shadow.shard, stream))
            revision = self._revisions[shadow.home][stream]
            if book.revisions.get(stream) != revision:
                raise Violation(
                    "revisions-differ",
                    f"expected revision {revision} of {stream} in {name(shadow.home)} with its owner, found "
                    f"{book.revisions.get(stream)}",
                )
        self.compared += 1

    def whole(self, ownership: Ownership) -> None:
        """Everything that an owner holds, where it has decided nothing beyond its last append."""
        found = self._beside(ownership)
        if found is None:
            return
        shadow, live, book = found
        for part, mine, right in _parts(live, shadow.shard):
            _same(shadow, part, mine, right)
        if book.revisions != self._revisions[shadow.home]:
            raise Violation(
                "revisions-differ", f"expected the owner of {name(shadow.home)} to hold the log's revisions"
            )
        if isinstance(live, ExecutionsShard):
            _timers(shadow, live, ownership)
        self.compared += 1

    def _beside(self, ownership: Ownership) -> tuple[Shadow, Aggregates, Book] | None:
        """The shadow and the live state, where both are behind the same append."""
        home = inside(ownership, "_context", str), inside(ownership, "_partition", int)
        shadow = self._shadows[home]
        if ownership.journal is None or ownership.journal.position.number != shadow.number:
            return None
        handler = inside(ownership, "_handler", object)
        live = inside(handler, "shard", type(shadow.shard))
        return shadow, live, inside(ownership, "_book", Book)


def inside(holder: object, attribute: str, kind: type[T]) -> T:
    """What an object of the engine keeps for itself; the judge alone looks there."""
    found = getattr(holder, attribute)
    assert isinstance(found, kind), f"expected {attribute} to be a {kind}, found {type(found)}"
    return found


def _empty(home: Home, horizon_ms: int) -> Aggregates:
    if home[0] == "publishing":
        return PublishingShard()
    return RoutingShard(horizon_ms=horizon_ms) if home[0] == "routing" else ExecutionsShard()


def _found(shard: Aggregates, stream: str) -> object:
    """One aggregate; None also where a stream is a record alone, as that of a repair."""
    kind, _, key = stream.partition(":")
    if isinstance(shard, ExecutionsShard):
        return shard.find(stream.removeprefix(PREFIX))
    if isinstance(shard, PublishingShard):
        held: dict[str, dict[str, object]] = {
            "slot": dict(shard.slots),
            "publication": dict(shard.publications),
            "claims": dict(shard.ledgers),
            "unpublish": dict(shard.unpublishes),
            "source-reference": dict(shard.references),
        }
        return key in shard.executables if kind == "executable" else held.get(kind, {}).get(key)
    if kind == "stimulus":
        return shard.stimuli.get(key)
    if kind == "dead-letter":
        return key in shard.dead_letters
    execution_id, _, bookmark_id = key.partition(":")
    assert wait_stream(execution_id, bookmark_id) == stream
    return shard.waits.get((execution_id, bookmark_id))


def _parts(live: Aggregates, right: Aggregates) -> Iterator[tuple[str, object, object]]:
    """What two shards hold, in pieces that a sentence can name."""
    if isinstance(live, ExecutionsShard) and isinstance(right, ExecutionsShard):
        for run_id in sorted({*live.live, *right.live, *live.terminal, *right.terminal}):
            yield run_id, live.find(run_id), right.find(run_id)
        yield "what is owed", set(live.owed), set(right.owed)
        yield "what is unserved", set(live.unserved), set(right.unserved)
        yield "what is being cancelled", set(live.cancelling), set(right.cancelling)
        return
    for attribute in getattr(type(live), "__dataclass_fields__", {}):
        yield attribute, getattr(live, attribute), getattr(right, attribute)


def _timers(shadow: Shadow, live: ExecutionsShard, ownership: Ownership) -> None:
    """Every run that is due some time stands in the index, or is the one that is being decided."""
    index = cast("dict[str, int]", inside(live, "_due_at", dict))
    held = getattr(inside(ownership, "_handler", object), "_due", None)
    for run_id in live.live:
        state = live.find(run_id)
        due_ms = due_at_ms(state) if isinstance(state, ExecutionState) else None
        if index.get(run_id) != due_ms and run_id != held:
            raise Violation(
                "timer-index",
                f"expected run {run_id} to be due at {due_ms} with the owner of {name(shadow.home)}, found "
                f"{index.get(run_id)}",
            )


def _same(shadow: Shadow, what: str, mine: object, right: object) -> None:
    if mine != right:
        raise Violation(
            "state-differs",
            f"expected {what} of {name(shadow.home)} with its owner as the log says it after append "
            f"{shadow.number}: {right}, found {mine}",
        )
