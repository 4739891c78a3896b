"""The rows of the bare hops: runs, stimuli and events, folded from the journals into one SQLite file."""

import asyncio
import sqlite3
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from interlock.domain.executions.execution.events import CheckpointsCoalesced, ExecutionCompleted, ExecutionStarted
from interlock.domain.routing.stimulus.events import StimulusRouted
from interlock.log.waiters import Waiters
from interlock.schemas.codec import AvroCodec
from ops.bench.bare import Heard, Told

_TABLES = """
PRAGMA journal_mode=WAL;
CREATE TABLE runs (id TEXT PRIMARY KEY, status TEXT, stimulus TEXT, publication TEXT, started INTEGER,
    ended INTEGER, output TEXT);
CREATE TABLE stimuli (id TEXT PRIMARY KEY, name TEXT, correlation TEXT, data TEXT, arrived INTEGER, run TEXT);
CREATE TABLE events (number INTEGER PRIMARY KEY, shard TEXT, stream TEXT, type TEXT, time TEXT, causation TEXT,
    correlation TEXT, value BLOB);
"""


class Rows:
    """What the projection writes and the caller reads. Everything that came within one turn of the loop is one
    transaction."""

    def __init__(self, path: Path) -> None:
        self.completed = 0
        """Runs whose end is in the rows."""
        self._codec = AvroCodec()
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.executescript(_TABLES)
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._reader = sqlite3.connect(path, isolation_level=None)
        self._taken: list[Heard] = []
        self._changed = Waiters()

    def take(self, heard: Heard) -> None:
        """Takes what came from the journals."""
        if not self._taken:
            asyncio.get_running_loop().call_soon(self._store)
        self._taken.append(heard)

    async def reached(self, completed: int) -> None:
        """Returns when so many runs are completed."""
        while self.completed < completed:
            await self._changed.wait()

    def status(self, run: str) -> str | None:
        """The status of a run, as another connection reads it."""
        row = self._reader.execute("SELECT status FROM runs WHERE id = ?", (run,)).fetchone()
        return None if row is None else row[0]

    def close(self) -> None:
        """Closes the file."""
        self._reader.close()
        self._connection.close()

    def _store(self) -> None:
        taken, self._taken = self._taken, []
        changes = _Changes()
        for shard, records in chain.from_iterable(taken):
            for record in records:
                headers = dict(record.headers)
                if headers["kind"] == b"event":
                    changes.take(str(shard), record, headers, self._codec.decode(record.value))
        self._write(changes)
        self.completed += changes.completed
        self._changed.wake()

    def _write(self, changes: "_Changes") -> None:
        execute, many = self._connection.execute, self._connection.executemany
        execute("BEGIN")
        many("INSERT INTO events VALUES (NULL,?,?,?,?,?,?,?)", changes.events)
        many("INSERT INTO stimuli VALUES (?,?,?,?,?,?)", changes.stimuli)
        many("INSERT INTO runs VALUES (?,?,?,?,?,?,?)", changes.started.values())
        many("UPDATE runs SET status = 'completed', ended = ?, output = ? WHERE id = ?", changes.ended)
        execute("COMMIT")


class _Changes:
    """The rows of one transaction."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []
        self.stimuli: list[tuple[object, ...]] = []
        self.started: dict[str, tuple[object, ...]] = {}
        self.ended: list[tuple[object, ...]] = []
        self.completed = 0

    def take(self, shard: str, record: Told, headers: Mapping[str, bytes], event: object) -> None:
        stream, type_ = record.key.decode(), headers["type"].decode()
        more = [headers[name].decode() for name in ("time", "causation", "correlation")]
        self.events.append((shard, stream, type_, *more, record.value))
        run = stream[len("execution:") :]
        for step in event.steps if isinstance(event, CheckpointsCoalesced) else (event,):
            if isinstance(step, ExecutionStarted):
                self.started[run] = (run, "running", step.stimulus_id, step.publication_id, step.at_ms, None, "")
            elif isinstance(step, ExecutionCompleted):
                self._complete(run, step)
            elif isinstance(step, StimulusRouted):
                self.stimuli.append(
                    (
                        step.stimulus_id,
                        step.name,
                        step.correlation,
                        step.data,
                        step.arrived_at_ms,
                        step.starts[0].execution_id,
                    )
                )

    def _complete(self, run: str, step: ExecutionCompleted) -> None:
        self.completed += 1
        begun = self.started.get(run)
        if begun is None:
            self.ended.append((step.at_ms, step.output, run))
        else:
            self.started[run] = (run, "completed", *begun[2:5], step.at_ms, step.output)
