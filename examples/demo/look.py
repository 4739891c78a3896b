"""What came of it: asked through the API, read from the journals, and row by row from the views."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from interlock.log.journal import JournalReader
from interlock.log.port import Shard
from interlock.log.sqlite.log import SqliteLog
from interlock.projections.reader import ViewReader
from interlock.projections.views import VIEWS
from interlock.sdk import Client
from interlock.sdk.types import Page, Run

T = TypeVar("T")

EXECUTIONS = "interlock.executions.journal"
SHARDS = 4
ENDS = {b"executions.ExecutionCompleted", b"executions.ExecutionFaulted", b"executions.ExecutionCancelled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs as the journals tell them, whether or not anybody projects them."""

    begun: int
    ended: int

    @property
    def outstanding(self) -> int:
        """Begun and not ended."""
        return self.begun - self.ended


async def runs_in_the_journals(log_file: Path) -> Runs:
    """Counts the events that count, while no process of the engine runs."""
    log = SqliteLog(log_file)
    types: Counter[bytes] = Counter()
    try:
        for partition in range(SHARDS):
            shard = Shard(EXECUTIONS, partition)
            reader = JournalReader(log, shard)
            end = await log.end(shard)
            while reader.next_offset < end:
                for append in await reader.read(1.0):
                    types.update(dict(entry.headers).get("type", b"") for entry in append.entries)
            await reader.close()
    finally:
        await log.close()
    return Runs(begun=types[b"executions.ExecutionStarted"], ended=sum(types[end] for end in ENDS))


def everything(page_after: Callable[[str | None], Page[T]]) -> list[T]:
    """All pages of a list."""
    page = page_after(None)
    items = list(page.items)
    while page.next is not None:
        page = page_after(page.next)
        items += page.items
    return items


def all_runs(client: Client) -> list[Run]:
    """Every run, the newest first."""
    return everything(lambda after: client.runs(limit=500, after=after))


def dead_letters_by_reason(client: Client) -> dict[str, int]:
    """Reason → dead letters."""
    return dict(Counter(one.reason for one in everything(lambda after: client.dead_letters(limit=500, after=after))))


def stimuli_by_outcome(client: Client) -> dict[str, int]:
    """Outcome → stimuli."""
    return dict(Counter(one.outcome for one in everything(lambda after: client.stimuli(limit=500, after=after))))


Rows = dict[str, list[tuple[object, ...]]]
"""`view.table` → its rows in the order of their keys."""


def rows_of_all_views(data: Path) -> Rows:
    """Every row of every view."""
    found: Rows = {}
    for view in VIEWS:
        reader = ViewReader(data / "views", view)
        try:
            with reader.snapshot() as snapshot:
                for table in view.tables:
                    ordered = snapshot.select(table, f"1 ORDER BY {', '.join(table.key)}")
                    found[f"{view.name}.{table.name}"] = [tuple(row) for row in ordered]
        finally:
            reader.close()
    return found
