"""What counts of a journal, as the engine reads it."""

from interlock.log.frame import Append
from interlock.log.journal import START, JournalReader, Position
from interlock.log.port import Log, Shard


async def read_appends(log: Log, shard: Shard, start: Position = START, *, middle: int | None = None) -> list[Append]:
    """Every append up to what is the end now: behind `start`, or from the first recognisable one at or after `middle`.

    Raises what `JournalReader.read` raises.
    """
    end = await log.end(shard)
    reader = JournalReader(log, shard, start, middle=middle)
    appends: list[Append] = []
    try:
        while reader.next_offset < end:
            appends += await reader.read(1.0)
    finally:
        await reader.close()
    return appends
