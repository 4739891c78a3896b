"""What must hold in the journals after whatever happened, and what callers were told meanwhile."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from interlock.domain.executions.execution.events import (
    BookmarkConsumed,
    CheckpointsCoalesced,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionEvent,
    ExecutionFaulted,
    ExecutionStarted,
)
from interlock.domain.progress import Progress
from interlock.domain.publishing.publication.events import PublicationActivated
from interlock.domain.publishing.slot.events import SlotActivated
from interlock.domain.routing.stimulus.events import StimulusRouted
from interlock.domain.routing.wait.events import WaitTaken
from interlock.log.frame import Append
from interlock.log.port import Log
from interlock.processors.ports import Codec, Topics
from interlock.projections.recorded import Recorded, decode_append
from interlock.runtime.topics import CONTEXTS
from tests.support.appends import read_appends


@dataclass
class Histories:
    """Every event that counts, by context and shard, and by stream."""

    codec: Codec
    events: list[tuple[str, int, Recorded]] = field(default_factory=list[tuple[str, int, Recorded]])
    appends: dict[tuple[str, int], list[Append]] = field(default_factory=dict[tuple[str, int], list[Append]])

    def of(self, *types: type) -> list[Recorded]:
        """The events of some types, in the order of their shards."""
        return [one for _, _, one in self.events if isinstance(one.event, types)]

    def steps(self) -> list[tuple[str, ExecutionEvent]]:
        """The steps of executions by stream, coalesced ones apart."""
        found: list[tuple[str, ExecutionEvent]] = []
        for context, _, one in self.events:
            if context != "executions":
                continue
            event = one.event
            if isinstance(event, CheckpointsCoalesced):
                found += [(one.stream, step) for step in event.steps]
            else:
                found.append((one.stream, event))  # type: ignore[arg-type]
        return found


async def read(log: Log, topics: Topics, codec: Codec) -> Histories:
    """Reads all journals from their beginnings."""
    histories = Histories(codec)
    for context in CONTEXTS:
        for partition in range(topics.partitions[context]):
            shard = topics.journal(context, partition)
            histories.appends[context, partition] = appends = await read_appends(log, shard)
            for append in appends:
                histories.events += [(context, partition, one) for one in decode_append(append, codec)]
    return histories


def check_revisions(histories: Histories) -> None:
    """LOG-01: each stream lives in one shard, with contiguous revisions from 1."""
    homes: dict[str, tuple[str, int]] = {}
    last: dict[str, int] = defaultdict(int)
    for context, partition, one in histories.events:
        assert homes.setdefault(one.stream, (context, partition)) == (context, partition), one.stream
        assert one.revision == last[one.stream] + 1, (one.stream, one.revision, last[one.stream])
        last[one.stream] = one.revision


def check_starts(histories: Histories) -> None:
    """STM-04, EXE-01: what was decided to start started exactly once, and nothing else did."""
    decided = Counter(
        start.execution_id for one in histories.of(StimulusRouted) for start in getattr(one.event, "starts", ())
    )
    started = Counter(
        stream.removeprefix("execution:") for stream, s in histories.steps() if isinstance(s, ExecutionStarted)
    )
    assert all(count == 1 for count in decided.values()), decided.most_common(3)
    assert started == decided, (started - decided, decided - started)
    routed = Counter(one.stream for one in histories.of(StimulusRouted))
    assert all(count == 1 for count in routed.values()), routed.most_common(3)


def check_waits(histories: Histories) -> None:
    """STM-05, BKM-03: a wait is taken at most once, a stimulus resumes a run at most once, and what was taken comes."""
    taken = Counter(one.stream for one in histories.of(WaitTaken))
    assert all(count == 1 for count in taken.values()), taken.most_common(3)
    consumed = Counter(
        (stream, step.bookmark_id) for stream, step in histories.steps() if isinstance(step, BookmarkConsumed)
    )
    assert all(count == 1 for count in consumed.values()), consumed.most_common(3)


def check_slot(histories: Histories) -> None:
    """PUB-11: each activation raised the slot's revision by one (one slot in all)."""
    revisions = [one.event.revision for one in histories.of(SlotActivated) if isinstance(one.event, SlotActivated)]
    assert revisions == list(range(1, len(revisions) + 1)), revisions


def positions(histories: Histories) -> dict[str, int]:
    """Stimulus → the publishing position that it was decided at; positions of a shard never fall."""
    found: dict[str, int] = {}
    for (context, _), appends in histories.appends.items():
        if context != "routing":
            continue
        last = 0
        for append in appends:
            progress = histories.codec.decode(append.note)
            assert isinstance(progress, Progress)
            assert progress.publishing >= last, (progress.publishing, last)
            last = progress.publishing
            for one in decode_append(append, histories.codec):
                if isinstance(one.event, StimulusRouted):
                    found[one.event.stimulus_id] = progress.publishing
    return found


def served_at(histories: Histories, position: int) -> str | None:
    """The publication that had authority at a position (one slot in all)."""
    current: str | None = None
    for one in histories.of(PublicationActivated):
        event = one.event
        assert isinstance(event, PublicationActivated)
        if event.position <= position:
            current = event.publication_id
    return current


def check_each_by_its_authority(histories: Histories, name: str) -> None:
    """Every stimulus of `name` started exactly what had authority at the position that it was decided at."""
    at = positions(histories)
    for one in histories.of(StimulusRouted):
        event = one.event
        assert isinstance(event, StimulusRouted)
        if event.name != name:
            continue
        authority = served_at(histories, at[event.stimulus_id])
        expected = [] if authority is None else [authority]
        assert [start.publication_id for start in event.starts] == expected, (event.stimulus_id, at[event.stimulus_id])


def started(histories: Histories) -> set[str]:
    """The runs that there are."""
    return {stream for stream, step in histories.steps() if isinstance(step, ExecutionStarted)}


def outcomes(histories: Histories) -> dict[str, str]:
    """How each run ended."""
    ends = (ExecutionCompleted, ExecutionFaulted, ExecutionCancelled)
    return {stream: type(step).__name__ for stream, step in histories.steps() if isinstance(step, ends)}


def check_after_active(histories: Histories, arrived_after_ms: int, publication_id: str) -> None:
    """PUB-16: what arrived after "active" was answered was not decided by an older authority."""
    at = positions(histories)
    active = [
        one.event.position
        for one in histories.of(PublicationActivated)
        if isinstance(one.event, PublicationActivated) and one.event.publication_id == publication_id
    ]
    assert len(active) == 1
    for one in histories.of(StimulusRouted):
        event = one.event
        assert isinstance(event, StimulusRouted)
        if event.arrived_at_ms > arrived_after_ms:
            assert at[event.stimulus_id] >= active[0], event.stimulus_id
