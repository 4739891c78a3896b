"""Writes lines to the topic `stimuli` as any client would: raw, malformed ones too, whether or not anybody reads."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from interlock.domain.sharding import shard_of
from interlock.log.port import Record, Shard
from interlock.log.sqlite.log import SqliteLog

TOPIC = "interlock.stimuli"
PARTITIONS = 4


async def write(log_file: Path, lines: Sequence[str], *, pause_s: float = 0.0) -> None:
    """Returns once all are durable; with a pause after every few, so that it takes as long as a morning's rush."""
    log = SqliteLog(log_file)
    try:
        for start in range(0, len(lines), 8):
            await asyncio.gather(*(log.send(_shard(line), [_record(line)]) for line in lines[start : start + 8]))
            await asyncio.sleep(pause_s)
    finally:
        await log.close()


def _record(line: str) -> Record:
    return Record(_key(line).encode(), line.encode())


def _shard(line: str) -> Shard:
    """A partition by the key, as Kafka's clients choose one: what belongs together stays in order."""
    return Shard(TOPIC, shard_of(_key(line), PARTITIONS))


def _key(line: str) -> str:
    """The correlation, where there is one; any key will do, or none."""
    try:
        found: object = json.loads(line)
    except ValueError:
        return ""
    return str(cast("dict[str, object]", found).get("correlation", "")) if isinstance(found, dict) else ""
