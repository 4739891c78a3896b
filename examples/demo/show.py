"""How the demo looks: tables and lines for a person."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from interlock.sdk.types import DeadLetter, HistoryEntry, Run

RUNS_SHOWN = 12
WIDTH_WITHOUT_TERMINAL = 120
Counts = Mapping[str, Mapping[str, int]]
"""Title → name → how many."""


class Screen:
    """Where the demo writes."""

    def __init__(self) -> None:
        self.console = Console()
        if not self.console.is_terminal:
            self.console = Console(width=WIDTH_WITHOUT_TERMINAL)
        self._chapter = 0

    def chapter(self, title: str) -> None:
        """Begins a part of the story."""
        self._chapter += 1
        self.console.print()
        self.console.rule(f"[bold]{self._chapter}. {title}", align="left")

    def command(self, *arguments: str) -> None:
        """A command that is given."""
        self.console.print(Text.assemble(("$ ", "dim"), (f"interlock {' '.join(arguments)}", "bold")), soft_wrap=True)

    def said(self, text: str) -> None:
        """Something that has happened."""
        self.console.print(Text(text), soft_wrap=True)

    def held(self, what: str) -> None:
        """Something that was checked, and is so."""
        self.console.print(Text.assemble(("✓", "green"), " ", what), soft_wrap=True)

    def failed(self, what: str) -> None:
        """Something that was checked, and is not so."""
        self.console.print(Text.assemble(("\n✗", "red"), " ", what), soft_wrap=True)

    def counts(self, found: Counts, expected: Counts) -> None:
        """What was found beside what was counted in the input."""
        table = Table()
        table.add_column("")
        table.add_column("")
        table.add_column("found", justify="right")
        table.add_column("counted in the input", justify="right")
        for title in found:
            names = sorted({*found[title], *expected[title]})
            for name in names:
                counts = (str(side[title].get(name, 0)) for side in (found, expected))
                table.add_row(title if name == names[0] else "", name, *counts, end_section=name == names[-1])
        self.console.print(table)

    def runs(self, runs: Sequence[Run], names: Mapping[str, str]) -> None:
        """Some runs; `names` says what publications are called here."""
        rows = [
            (
                run.execution_id[:12],
                run.status,
                names.get(run.publication_id, run.publication_id),
                _at(run.started_at_ms),
                "" if run.ended_at_ms is None else f"{run.ended_at_ms - run.started_at_ms} ms",
                json.dumps(run.output, ensure_ascii=False),
            )
            for run in runs[:RUNS_SHOWN]
        ]
        title = f"the newest {len(rows)} of {len(runs)} runs"
        self._table(title, ("run", "status", "version", "started", "took", "output"), rows)

    def history(self, title: str, entries: Sequence[HistoryEntry]) -> None:
        """The events of an aggregate."""
        rows = [
            (
                str(entry.revision),
                _at(entry.time_ms),
                entry.type.partition(".")[2],
                entry.causation.removeprefix("interlock."),
                json.dumps(entry.data, ensure_ascii=False),
            )
            for entry in entries
        ]
        self._table(title, ("revision", "time", "event", "caused by", "data"), rows)

    def dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        """What could not be taken, and why."""
        rows = [(each.reason, f"{each.origin.partition}@{each.origin.offset}", each.detail) for each in letters]
        self._table("dead letters", ("reason", "partition@offset", "what was found"), rows)

    def _table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table whose last column takes what the others leave, and is cut there."""
        table = Table(title=title, title_justify="left", title_style="bold")
        left = self.console.width - 1
        for index, column in enumerate(columns):
            width = max(len(column), *(len(row[index]) for row in rows))
            if index == len(columns) - 1:
                width = max(len(column), min(width, left - 3))
            table.add_column(column, width=width, no_wrap=True, overflow="ellipsis")
            left -= width + 3
        for row in rows:
            # As they are: to rich, a plain string is markup, and ":ship:" a picture.
            table.add_row(*(Text(cell) for cell in row))
        self.console.print(table)


def _at(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H:%M:%S.%f}"[:-3]
