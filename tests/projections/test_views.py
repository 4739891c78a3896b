"""What holds of every view: it knows every event of its journals, and the order between shards changes nothing."""

import typing
from itertools import zip_longest
from types import UnionType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.domain.decider import Change
from interlock.domain.executions.execution.events import ExecutionEvent
from interlock.domain.publishing.claims.events import ClaimsEvent
from interlock.domain.publishing.executable.events import ExecutableEvent
from interlock.domain.publishing.publication.events import PublicationEvent
from interlock.domain.publishing.slot.events import SlotEvent
from interlock.domain.routing.dead_letter.events import DeadLetterEvent
from interlock.domain.routing.stimulus.events import StimulusEvent
from interlock.domain.routing.wait.events import WaitEvent
from interlock.log.frame import Append, Frame
from interlock.log.port import Shard, Stored
from interlock.projections.rows import MemoryRows
from interlock.projections.view import CannotFold, View
from interlock.projections.views import VIEWS
from tests.projections.journals import CODEC, event_entry, topic_of
from tests.projections.stories import activation, candidate, prepared, routed, whole_run
from tests.schemas.strategies import objects

EVENTS: dict[str, tuple[object, ...]] = {
    "publishing": (PublicationEvent, SlotEvent, ClaimsEvent, ExecutableEvent),
    "routing": (StimulusEvent, WaitEvent, DeadLetterEvent),
    "executions": (ExecutionEvent,),
}


def members(union: object) -> tuple[type, ...]:
    """The classes of a union, or the one class."""
    return typing.get_args(union) if isinstance(union, UnionType) else (typing.cast(type, union),)


def append_of(changes: list[Change], *, number: int, position: int) -> Append:
    """An append with these events."""
    entries = [event_entry(change.stream, number * 100 + at, change.event) for at, change in enumerate(changes)]
    frame = Frame(
        id=f"{number:032x}",
        number=number,
        follows=f"{number - 1:032x}",
        end=0,
        owner="owner",
        opened=False,
        size=1 + len(entries),
        position=position,
    )
    stored = tuple(
        Stored(
            at, 1_000, each.key, each.value, (("kind", b"event"), ("position", b"%d" % (position + at)), *each.headers)
        )
        for at, each in enumerate(entries, 1)
    )
    return Append(frame, b"", 0, 1_000, stored)


def folded(view: View, appends: list[tuple[Shard, Append]]) -> str:
    """The digest of the view's rows after these appends."""
    rows = MemoryRows()
    for shard, append in appends:
        view.fold(shard, append, CODEC, rows)
    return rows.digest(view.tables)


@pytest.mark.parametrize(
    ("view", "event"),
    [
        pytest.param(view, event, id=f"{view.name}-{event.__name__}")
        for view in VIEWS
        for context in view.contexts
        for union in EVENTS[context]
        for event in members(union)
    ],
)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_a_view_knows_every_event_of_its_journals(view: View, event: type, data: st.DataObject) -> None:
    """An event that the fold has no branch for would stop the view; one that has no row yet to change is known."""
    append = append_of([Change("any:1", data.draw(objects(event)))], number=1, position=0)
    refusal = ""
    try:
        view.fold(Shard("t", 0), append, CODEC, MemoryRows())
    except CannotFold as error:
        refusal = str(error)
    assert not refusal or "no row of" in refusal


@st.composite
def interleavings(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """What each shard holds (numbers of stories), and in which order the shards' appends come."""
    shards = draw(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True), min_size=2, max_size=3))
    order = draw(st.permutations([at for at, stories in enumerate(shards) for _ in stories]))
    return shards, order


def story(context: str, shard: int, number: int) -> list[Change]:
    """Something that happens in a shard."""
    name = f"{shard}-{number}"
    if context == "executions":
        return whole_run(name)
    if context == "routing":
        return [routed(name, starts=(f"run-{name}",))]
    shell = f"shell-{shard}"
    return [*candidate(name, shell=shell), *prepared(name), *activation(name, revision=number, shell=shell)]


@pytest.mark.parametrize(
    ("view", "context"),
    [pytest.param(view, context, id=f"{view.name}-{context}") for view in VIEWS for context in view.contexts],
)
@settings(max_examples=30, deadline=None)
@given(drawn=interleavings())
def test_the_order_between_shards_changes_no_row(
    view: View, context: str, drawn: tuple[list[list[int]], list[int]]
) -> None:
    """Proves: PRJ-06."""
    shards, order = drawn
    queues = [
        [
            (Shard(topic_of(context), at), append_of(story(context, at, number), number=place, position=100 * place))
            for place, number in enumerate(stories, 1)
        ]
        for at, stories in enumerate(shards)
    ]
    shard_by_shard = [each for queue in queues for each in queue]
    taking_turns = [each for turn in zip_longest(*queues) for each in turn if each is not None]
    waiting = [iter(queue) for queue in queues]
    as_drawn = [next(waiting[at]) for at in order]
    assert folded(view, shard_by_shard) == folded(view, taking_turns) == folded(view, as_drawn)
