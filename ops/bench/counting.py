"""Counts what a log holds, by reading it: records, bytes, and what was written at once."""

import sqlite3
import struct
from collections.abc import Sequence
from pathlib import Path

from interlock.log.kafka import wire
from interlock.log.kafka.log import KafkaLog
from interlock.log.port import Log, Shard, Stored, TopicSpec
from interlock.log.sqlite.log import SqliteLog
from ops.bench.bare import content_bytes
from ops.bench.subject import Counts

_BATCH_HEAD = struct.Struct(">qi")
"""How a record batch begins: base offset, and the length of what follows (KIP-98)."""


class Counter:
    """Counts what comes behind a mark, in the topics of an engine."""

    def __init__(self, log: Log, topics: Sequence[TopicSpec]) -> None:
        self._log = log
        self._shards = [Shard(spec.name, number) for spec in topics for number in range(spec.partitions)]
        self._from: dict[Shard, int] = {}
        self._rows = self._flushes = 0

    async def mark(self) -> None:
        """Begins to count anew."""
        self._from = {shard: await self._log.end(shard) for shard in self._shards}
        self._rows = self._batch_rows()
        self._flushes = flushes_of(self._log)

    async def counts(self) -> Counts:
        """What was written since `mark`."""
        records = size = batches = 0
        for shard, start in self._from.items():
            end = await self._log.end(shard)
            for stored in await read(self._log, shard, start, end):
                records += 1
                size += content_bytes(stored)
            if isinstance(self._log, KafkaLog):
                batches += await _kafka_batches(self._log, shard, start, end)
        flushes = flushes_of(self._log) - self._flushes
        return Counts(records, size, batches or self._batch_rows() - self._rows, flushes)

    def _batch_rows(self) -> int:
        return batch_rows(self._log.path) if isinstance(self._log, SqliteLog) else 0


def flushes_of(log: Log) -> int:
    """How many appending transactions this process has flushed; 0 where a log is not flushed by its writers."""
    return log.flushes if isinstance(log, SqliteLog) else 0


async def read(log: Log, shard: Shard, start: int, end: int) -> list[Stored]:
    """The records of a shard from `start` to before `end`."""
    reader = log.reader(shard, start)
    found: list[Stored] = []
    try:
        while len(found) < end - start:
            found.extend(await reader.read(1.0))
    finally:
        await reader.close()
    return found[: end - start]


def batch_rows(path: Path) -> int:
    """How many batches a SQLite log holds: one a shard and transaction."""
    connection = sqlite3.connect(path)
    try:
        (rows,) = connection.execute("SELECT count(*) FROM batch").fetchone()
    finally:
        connection.close()
    return int(rows)


async def _kafka_batches(log: KafkaLog, shard: Shard, start: int, end: int) -> int:
    """How many record batches a partition holds from `start` on, told by their heads."""
    node = await log.cluster.leader(shard)
    batches, offset = 0, start
    while offset < end:
        call = wire.fetch(shard, offset, wait_s=1.0, bytes_max=8 << 20, committed=False)
        data = (await log.cluster.call(node, call, timeout_s=10.0, lane="bench")).data
        for base, count in _heads(data):
            if base >= offset:
                batches += 1
                offset = base + count
    return batches


def _heads(data: bytes) -> list[tuple[int, int]]:
    """Base offset and number of records of each whole batch in what was fetched."""
    found: list[tuple[int, int]] = []
    place = 0
    while place + _BATCH_HEAD.size <= len(data):
        base, length = _BATCH_HEAD.unpack_from(data, place)
        if place + _BATCH_HEAD.size + length > len(data):
            break
        # The last offset, relative to the base, stands 23 bytes into a batch.
        (last,) = struct.unpack_from(">i", data, place + 23)
        found.append((base, last + 1))
        place += _BATCH_HEAD.size + length
    return found
