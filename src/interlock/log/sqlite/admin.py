"""What is done to topics of the embedded log: each function works inside a transaction that its caller owns."""

import sqlite3
import uuid
from collections.abc import Iterator, Sequence

from interlock.log.port import Extent, NoSuchShard, OffsetGone, Shard, TopicFault, TopicSpec
from interlock.log.sqlite.file import OFFSET_BITS, shard_range

SHARDS_MAX = 1 << (63 - OFFSET_BITS)
"""SQLite's integers have 63 bits beside the sign; the rest is for offsets."""

TRIM_ROWS_MAX = 1000
"""How many rows one transaction of a trim drops: appends wait meanwhile."""


def create_topics(connection: sqlite3.Connection, topics: Sequence[TopicSpec]) -> list[str]:
    """Makes those topics that are missing and returns their names."""
    made: list[str] = []
    for spec in topics:
        if spec.partitions < 1:
            raise ValueError(f"expected {spec.name} to have at least one partition, found {spec.partitions}")
        topic = connection.execute(
            "INSERT INTO topic (name, uuid, partitions, compacted) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING RETURNING id",
            (spec.name, str(uuid.uuid4()), spec.partitions, spec.compacted),
        ).fetchone()
        if topic is None:
            continue
        for partition in range(spec.partitions):
            row = connection.execute(
                "INSERT INTO shard (topic, partition, first) VALUES (?, ?, 0)", (topic[0], partition)
            )
            if (row.lastrowid or 0) >= SHARDS_MAX:
                raise ValueError(f"expected at most {SHARDS_MAX} partitions ever made in one file; use a new file")
        made.append(spec.name)
    if made:
        _revise(connection)
    return made


def delete_topic(connection: sqlite3.Connection, topic: str) -> None:
    """Deletes a topic with its records; raises `NoSuchShard`."""
    row = connection.execute("SELECT id FROM topic WHERE name = ?", (topic,)).fetchone()
    if row is None:
        raise NoSuchShard(f"expected a topic {topic}, found none; create it first")
    for (shard,) in connection.execute("SELECT id FROM shard WHERE topic = ?", row).fetchall():
        connection.execute("DELETE FROM batch WHERE id >= ? AND id < ?", shard_range(shard))
    connection.execute("DELETE FROM shard WHERE topic = ?", row)
    connection.execute("DELETE FROM topic WHERE id = ?", row)
    _revise(connection)


def trim_shard(connection: sqlite3.Connection, shard: Shard, first: int) -> bool:
    """Makes `first` the first offset and drops some of the rows before it; True if there are more to drop.

    Raises `OffsetGone` where `first` is behind the end, `NoSuchShard`.
    """
    row = connection.execute(
        "SELECT shard.id, shard.first FROM shard JOIN topic ON topic.id = shard.topic"
        " WHERE topic.name = ? AND shard.partition = ?",
        shard,
    ).fetchone()
    if row is None:
        raise NoSuchShard(f"expected a shard {shard}, found none; create it first")
    shard_id, first_before = row
    low, high = shard_range(shard_id)
    last = connection.execute(
        "SELECT id, count FROM batch WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1", (low, high)
    ).fetchone()
    end = first_before if last is None else max(first_before, last[0] - low + last[1])
    if first > end:
        raise OffsetGone(shard, first, Extent(first_before, end))
    if first > first_before:
        connection.execute("UPDATE shard SET first = ? WHERE id = ?", (first, shard_id))
        # A process that knows only what was dropped must not append there: it compares the revision.
        _revise(connection)
    dropped = connection.execute(
        "DELETE FROM batch WHERE id IN"
        " (SELECT id FROM batch WHERE id >= ?1 AND id < ?2 AND id + count <= ?2 ORDER BY id LIMIT ?3)",
        (low, low + max(first, first_before), TRIM_ROWS_MAX),
    )
    return dropped.rowcount == TRIM_ROWS_MAX


def topic_uuid(connection: sqlite3.Connection, topic: str) -> str:
    """The id that the topic was given when it was made; raises `NoSuchShard`."""
    row = connection.execute("SELECT uuid FROM topic WHERE name = ?", (topic,)).fetchone()
    if row is None:
        raise NoSuchShard(f"expected a topic {topic}, found none; create it first")
    found: str = row[0]
    return found


def find_faults(connection: sqlite3.Connection, topics: Sequence[TopicSpec], path: str) -> Iterator[TopicFault]:
    """How the file and its topics differ from what keeps journals safe and shards in their place."""
    for setting, expected, meaning in (("journal_mode", "wal", "wal"), ("synchronous", 2, "full (2)")):
        (found,) = connection.execute(f"PRAGMA {setting}").fetchone()
        if found != expected:
            yield TopicFault(
                topic=path,
                setting=setting,
                expected=meaning,
                found=str(found),
                remedy="stop what else changes the file, and open it again",
            )
    for spec in topics:
        row = connection.execute("SELECT partitions, compacted FROM topic WHERE name = ?", (spec.name,)).fetchone()
        if row is None:
            yield TopicFault(
                topic=spec.name, setting="topic", expected="present", found="missing", remedy="run `topics create`"
            )
            continue
        for setting, wanted, actual in (
            ("partitions", spec.partitions, row[0]),
            ("compacted", spec.compacted, bool(row[1])),
        ):
            if wanted != actual:
                yield TopicFault(
                    topic=spec.name,
                    setting=setting,
                    expected=str(wanted),
                    found=str(actual),
                    remedy="set what was recorded when it was made, or use another prefix",
                )


def _revise(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE meta SET revision = revision + 1")
