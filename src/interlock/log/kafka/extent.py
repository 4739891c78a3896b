"""Where a shard begins and ends, asked of its leader.

A broker that was paused may still believe that it leads, and answer with an end that others have passed. So an end
that is less than what this process was told to have landed is not believed: the leader is looked up anew. A leader
that was just elected says by itself when it does not know the end yet (KIP-207).
"""

import asyncio
from collections.abc import Callable

from interlock.log.kafka import wire
from interlock.log.kafka.cluster import CallFailed, Cluster
from interlock.log.port import Extent, NoSuchShard, Refused, Shard, Unavailable

RETRY_FIRST_S = 0.01
RETRY_MAX_S = 0.25


class Extents:
    """Asks for extents; `landed` tells the offset behind what this process was told to have landed, or 0."""

    def __init__(self, cluster: Cluster, landed: Callable[[Shard], int]) -> None:
        self._cluster = cluster
        self.landed = landed

    async def of(self, shard: Shard) -> Extent:
        """As `port.Log.extent`: one question behind the other, so the end is never before the first offset."""
        first = await self._told(shard, wire.FIRST)
        return Extent(first, await self.end(shard))

    async def end(self, shard: Shard) -> int:
        """As `port.Log.end`. One question and no task beside the caller's: preflights and queries wait for this."""
        return await self._told(shard, wire.END)

    async def _told(self, shard: Shard, which: int) -> int:
        """An offset as the leader tells it. Raises `Unavailable` after `ask_s` seconds, `NoSuchShard`."""
        if self._cluster.closed:
            raise Unavailable(f"expected an open log to ask for the end of {shard}, found it closed")
        problem = f"no answer from the leader of {shard}"
        pause = RETRY_FIRST_S
        try:
            async with asyncio.timeout(self._cluster.settings.ask_s):
                while True:
                    found = await self._ask(shard, which)
                    if isinstance(found, int):
                        return found
                    problem = found
                    self._cluster.suspect(shard.topic)
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, RETRY_MAX_S)
        except TimeoutError:
            raise Unavailable(
                f"expected the extent of {shard} within {self._cluster.settings.ask_s} s, found: {problem}"
            ) from None

    async def _ask(self, shard: Shard, which: int) -> int | str:
        """The offset, or why there is none now."""
        # Half of the time, so that the other half is left for a leader that takes over from one that hangs.
        timeout_s = self._cluster.settings.ask_s / 2
        try:
            node = await self._cluster.leader(shard)
            answer = await self._cluster.call(node, wire.offset_at(shard, which), timeout_s=timeout_s)
        except NoSuchShard:
            raise
        except Refused as error:
            raise Unavailable(str(error)) from error
        except CallFailed as error:
            return str(error)
        if answer.code != 0:
            return f"broker {node} answered {wire.error_name(answer.code)}"
        if which == wire.END and answer.offset < self.landed(shard):
            return (
                f"broker {node} says that it ends at {answer.offset}, but batches were acknowledged up to "
                f"{self.landed(shard)}: another broker leads, or the log has lost records"
            )
        return answer.offset
