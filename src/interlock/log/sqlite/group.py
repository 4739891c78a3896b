"""A group of batches for the embedded log: where each goes, and the one statement that puts them there.

Always true: a group is inserted at the offsets that were planned, or nothing of it is. Two things see to that: a row's
id holds its first offset and is unique, and `meta.revision` rises where rows go away (trims, topics).
"""

import asyncio
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from interlock.log.port import NotNow, Record, Shard
from interlock.log.sqlite.codec import Encoded
from interlock.log.sqlite.file import OFFSET_BITS, shard_range

ROW_BYTES_MAX = 1 << 20
"""Up to this size, in bytes, what one group appends to a shard goes into one row; a reader reads whole rows."""


class Send(NamedTuple):
    """A batch on its way."""

    shard: Shard
    batch: Sequence[Record]
    encoded: Encoded
    answer: asyncio.Future[int]


class Landed(NamedTuple):
    """A batch that is durable: where, and at which time of the log in milliseconds."""

    send: Send
    base: int
    time_ms: int


@dataclass(slots=True)
class Known:
    """What this process knows of a shard: id of its rows, next offset, time of the last append in milliseconds."""

    id: int
    next: int
    time_ms: int


class Plan(NamedTuple):
    """What a group becomes: rows (id, count, time, data), what to tell its senders, and what is known afterwards."""

    rows: list[tuple[int, int, int, bytes]]
    landed: list[Landed]
    after: list[tuple[Known, int, int]]


class Offsets:
    """The next offsets of shards, as far as this process knows; for one thread."""

    def __init__(self) -> None:
        self._known: dict[Shard, Known] = {}
        self._revision = -1

    def knows(self, shard: Shard) -> bool:
        """Whether the shard was found when it was last looked up."""
        return shard in self._known

    def clear(self) -> None:
        """Knows nothing any more."""
        self._known.clear()

    def look_up(self, connection: sqlite3.Connection, shards: Iterable[Shard]) -> None:
        """Knows of these shards what the file says, inside a transaction, and nothing of any other."""
        self._known.clear()
        (self._revision,) = connection.execute("SELECT revision FROM meta").fetchone()
        for shard in shards:
            row = connection.execute(
                "SELECT shard.id, shard.first FROM shard JOIN topic ON topic.id = shard.topic"
                " WHERE topic.name = ? AND shard.partition = ?",
                shard,
            ).fetchone()
            if row is None:
                continue
            low, high = shard_range(row[0])
            last = connection.execute(
                "SELECT id, count, time_ms FROM batch WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1", (low, high)
            ).fetchone()
            # After a trim up to the end there is no row any more, and `first` alone tells where to go on.
            end, time_ms = (row[1], 0) if last is None else (max(row[1], last[0] - low + last[1]), last[2])
            self._known[shard] = Known(row[0], end, time_ms)

    def plan(self, sends: Sequence[Send], now_ms: int) -> Plan:
        """Gives each batch its offset, and each shard one row or, where it has much, several. All must be known."""
        by_shard: dict[Shard, list[Send]] = {}
        for send in sends:
            by_shard.setdefault(send.shard, []).append(send)
        plan = Plan([], [], [])
        for shard, batches in by_shard.items():
            known = self._known[shard]
            time_ms = max(known.time_ms, now_ms)
            offset = known.next
            row: list[bytes] = []
            row_base, row_bytes = offset, 0
            for send in batches:
                if row and row_bytes + send.encoded.size > ROW_BYTES_MAX:
                    plan.rows.append(_row(known.id, row_base, offset, time_ms, row))
                    row, row_base, row_bytes = [], offset, 0
                row.append(send.encoded.data)
                row_bytes += send.encoded.size
                plan.landed.append(Landed(send, offset, time_ms))
                offset += send.encoded.records
            plan.rows.append(_row(known.id, row_base, offset, time_ms, row))
            plan.after.append((known, offset, time_ms))
        return plan

    def insert(self, connection: sqlite3.Connection, plan: Plan) -> bool:
        """Inserts the rows; False, with nothing written, if rows may have gone away since the look.

        Raises `sqlite3.IntegrityError`, with nothing written, where another process has appended.
        """
        parameters = [value for row in plan.rows for value in row]
        parameters.append(self._revision)
        return connection.execute(_insert_statement(len(plan.rows)), parameters).rowcount == len(plan.rows)

    def learn(self, plan: Plan) -> None:
        """Knows that the plan has been carried out."""
        for known, end, time_ms in plan.after:
            known.next = end
            known.time_ms = time_ms


@cache
def _insert_statement(rows: int) -> str:
    # The usual group of one row does without the subquery, which costs a fifth of the statement.
    values = ",".join(["(?,?,?,?)"] * rows)
    source = "SELECT ?,?,?,?" if rows == 1 else f"SELECT * FROM (VALUES {values})"
    return f"INSERT INTO batch {source} WHERE (SELECT revision FROM meta) = ?"


def _row(shard: int, base: int, end: int, time_ms: int, data: list[bytes]) -> tuple[int, int, int, bytes]:
    if end >> OFFSET_BITS:
        raise NotNow(f"expected shard {shard} to end before offset {1 << OFFSET_BITS}, found it full")
    return shard << OFFSET_BITS | base, end - base, time_ms, data[0] if len(data) == 1 else b"".join(data)
