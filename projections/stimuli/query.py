"""Questions to stimuli and dead letters."""

from dataclasses import dataclass
from typing import Protocol

from interlock.projections.paging import Cursor, Filter
from interlock.projections.reader import ViewReader
from interlock.projections.stimuli.store import (
    DEAD_LETTERS,
    RESUMES,
    STARTS,
    STIMULI,
    DeadLetterRow,
    Outcome,
    ResumeRow,
    StartRow,
    StimulusRow,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StimulusView:
    """A stimulus with what it did."""

    stimulus: StimulusRow
    starts: tuple[StartRow, ...]
    """By binding."""
    resumes: tuple[ResumeRow, ...]
    """By execution; those that the execution declined are among them."""


class Stimuli(Protocol):
    """What may be asked; each answer is of one moment. Every question may raise `WarmingUp`."""

    def stimuli(
        self,
        shell: str,
        *,
        outcome: Outcome | None = None,
        name: str | None = None,
        after: Cursor | None = None,
        limit: int = 50,
    ) -> tuple[StimulusRow, ...]:
        """Stimuli, the newest first; `after` is the cursor of the last one that is known."""
        ...

    def stimulus(self, stimulus_id: str) -> StimulusView | None:
        """A stimulus; None if none of this id was routed."""
        ...

    def dead_letters(
        self, shell: str, *, reason: str | None = None, after: Cursor | None = None, limit: int = 50
    ) -> tuple[DeadLetterRow, ...]:
        """Dead letters, the newest first."""
        ...

    def dead_letter(self, dead_letter_id: str) -> DeadLetterRow | None:
        """A dead letter; None if there is none of this id."""
        ...

    def count(self, shell: str) -> dict[str, int]:
        """How many stimuli have each outcome."""
        ...


def cursor_of(row: StimulusRow | DeadLetterRow) -> Cursor:
    """Where a list goes on behind this row."""
    if isinstance(row, StimulusRow):
        return row.arrived_at_ms, row.stimulus_id
    return row.rejected_at_ms, row.dead_letter_id


class SqliteStimuli:
    """Answers from the view's file; implements `Stimuli`."""

    def __init__(self, reader: ViewReader) -> None:
        self._reader = reader

    def stimuli(
        self,
        shell: str,
        *,
        outcome: Outcome | None = None,
        name: str | None = None,
        after: Cursor | None = None,
        limit: int = 50,
    ) -> tuple[StimulusRow, ...]:
        """Stimuli, the newest first."""
        chosen = Filter().equal("shell", shell).equal("outcome", outcome).equal("name", name)
        chosen.newest_first("arrived_at_ms", "stimulus_id", after, limit)
        with self._reader.snapshot() as snapshot:
            return tuple(snapshot.page(STIMULI, chosen.rest, chosen.values))

    def stimulus(self, stimulus_id: str) -> StimulusView | None:
        """A stimulus; None if none of this id was routed."""
        by_id = (stimulus_id,)
        with self._reader.snapshot() as snapshot:
            row = snapshot.get(STIMULI, stimulus_id)
            if row is None:
                return None
            return StimulusView(
                stimulus=row,
                starts=tuple(snapshot.select(STARTS, "stimulus_id = ? ORDER BY binding_id", by_id)),
                resumes=tuple(snapshot.select(RESUMES, "stimulus_id = ? ORDER BY execution_id, bookmark_id", by_id)),
            )

    def dead_letters(
        self, shell: str, *, reason: str | None = None, after: Cursor | None = None, limit: int = 50
    ) -> tuple[DeadLetterRow, ...]:
        """Dead letters, the newest first."""
        chosen = Filter().equal("shell", shell).equal("reason", reason)
        chosen.newest_first("rejected_at_ms", "dead_letter_id", after, limit)
        with self._reader.snapshot() as snapshot:
            return tuple(snapshot.page(DEAD_LETTERS, chosen.rest, chosen.values))

    def dead_letter(self, dead_letter_id: str) -> DeadLetterRow | None:
        """A dead letter; None if there is none of this id."""
        with self._reader.snapshot() as snapshot:
            return snapshot.get(DEAD_LETTERS, dead_letter_id)

    def count(self, shell: str) -> dict[str, int]:
        """How many stimuli have each outcome."""
        with self._reader.snapshot() as snapshot:
            return snapshot.count(STIMULI, "outcome", "shell = ?", (shell,))
