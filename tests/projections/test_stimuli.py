"""What is told of stimuli and dead letters."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.domain.decider import Change
from interlock.domain.routing.dead_letter.events import StimulusRejected
from interlock.domain.routing.stimulus.events import (
    StimulusEvent,
    StimulusExpired,
    StimulusMatched,
    StimulusReturned,
)
from interlock.projections.reader import ViewReader
from interlock.projections.rows import MemoryRows
from interlock.projections.stimuli.fold import VIEW, fold
from interlock.projections.stimuli.query import SqliteStimuli, cursor_of
from interlock.projections.stimuli.store import RESUMES, STIMULI
from interlock.testing.virtual_time import run_virtual
from tests.projections.journals import Journals, recorded
from tests.projections.stories import ORIGIN, SHELL, routed

MATCHED = StimulusMatched(stimulus_id="s", execution_id="late", bookmark_id="bookmark-late")
RETURNED = StimulusReturned(stimulus_id="s", execution_id="r", bookmark_id="bookmark-r")
RETURNED_LATE = StimulusReturned(stimulus_id="s", execution_id="late", bookmark_id="bookmark-late")
EXPIRED = StimulusExpired(stimulus_id="s", at_ms=5_000)


def folded(first: Change, *events: StimulusEvent) -> MemoryRows:
    rows = MemoryRows()
    for each in recorded(first, *(Change("stimulus:s", event) for event in events)):
        fold(each, rows)
    return rows


@pytest.mark.parametrize(
    ("first", "events", "outcome"),
    [
        (routed("s"), (), "unmatched"),
        (routed("s", kept_until_ms=5_000), (), "kept"),
        (routed("s", starts=("a",)), (), "started"),
        (routed("s", resumes=("r",)), (), "resumed"),
        (routed("s", starts=("a",), resumes=("r",)), (), "started"),
        (routed("s", kept_until_ms=5_000), (EXPIRED,), "expired"),
        (routed("s", kept_until_ms=5_000), (MATCHED,), "resumed"),
        (routed("s", kept_until_ms=5_000), (MATCHED, EXPIRED), "resumed"),
        (routed("s", kept_until_ms=5_000), (EXPIRED, MATCHED), "resumed"),
        (routed("s", kept_until_ms=5_000), (MATCHED, RETURNED_LATE), "kept"),
        (routed("s", resumes=("r",)), (RETURNED,), "unmatched"),
        (routed("s"), (MATCHED,), "resumed"),
        (routed("s", kept_until_ms=5_000, resumes=("r",)), (RETURNED, EXPIRED), "expired"),
    ],
)
def test_the_outcome_is_what_became_of_it(first: Change, events: tuple[StimulusEvent, ...], outcome: str) -> None:
    (row,) = folded(first, *events).all(STIMULI)
    assert row.outcome == outcome


def test_a_resume_tells_whether_it_came_late_and_whether_it_was_declined() -> None:
    rows = folded(routed("s", kept_until_ms=5_000, resumes=("r",)), MATCHED, RETURNED)
    assert [(row.execution_id, row.late, row.declined) for row in rows.all(RESUMES)] == [("late", 1, 0), ("r", 0, 1)]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[ViewReader]:
    found = ViewReader(tmp_path, VIEW)
    yield found
    found.close()


def rejected(dead_letter_id: str, *, at_ms: int) -> Change:
    event = StimulusRejected(
        dead_letter_id=dead_letter_id,
        shell=SHELL,
        reason="unreadable",
        detail="expected JSON, found }",
        excerpt="}",
        size=1,
        rejected_at_ms=at_ms,
        origin=ORIGIN,
    )
    return Change(f"dead-letter:{dead_letter_id}", event)


def test_stimuli_and_dead_letters_are_listed_newest_first_and_shown(tmp_path: Path, reader: ViewReader) -> None:
    async def main() -> None:
        journals = Journals(partitions=2)
        for number in range(5):
            await journals.commit(
                "routing",
                routed(f"s{number}", starts=(f"run-{number}",) if number % 2 else (), at_ms=1_000 + number),
                rejected(f"d{number}", at_ms=1_000 + number),
                partition=number % 2,
            )
        host = journals.host(VIEW, tmp_path)
        await host.start()
        while not host.caught_up:
            await host.changed(1.0)
        stimuli = SqliteStimuli(reader)
        newest = stimuli.stimuli(SHELL, limit=2)
        assert [row.stimulus_id for row in newest] == ["s4", "s3"]
        assert [row.stimulus_id for row in stimuli.stimuli(SHELL, after=cursor_of(newest[-1]))] == ["s2", "s1", "s0"]
        assert [row.stimulus_id for row in stimuli.stimuli(SHELL, outcome="started", name="order.placed")] == [
            "s3",
            "s1",
        ]
        assert stimuli.count(SHELL) == {"started": 2, "unmatched": 3}
        shown = stimuli.stimulus("s1")
        assert shown is not None
        assert [(start.execution_id, start.publication_id) for start in shown.starts] == [("run-1", "p1")]
        assert (shown.stimulus.channel, shown.stimulus.topic, shown.stimulus.offset) == (
            "kafka",
            "interlock.stimuli@1",
            7,
        )
        assert stimuli.stimulus("nothing") is None
        dead = stimuli.dead_letters(SHELL, reason="unreadable", limit=3)
        assert [row.dead_letter_id for row in dead] == ["d4", "d3", "d2"]
        assert len(stimuli.dead_letters(SHELL, after=cursor_of(dead[-1]))) == 2
        letter = stimuli.dead_letter("d0")
        assert letter is not None
        assert (letter.detail, letter.offset) == ("expected JSON, found }", 7)
        assert stimuli.dead_letter("nothing") is None
        await host.close()

    run_virtual(main())
