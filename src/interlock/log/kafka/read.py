"""Reading one shard: long polls on a connection of its own, decoded piece by piece.

An append ends a long poll at once, so the time that a broker may hold it is no latency. Each reader has its own
connection, because a broker answers the requests of one connection in order, and one that waits would hold up the next.

What would surprise: a fetch whose reader was cancelled goes on, and the next `read` takes its answer.
"""

import asyncio
from collections.abc import Sequence

from interlock.log.kafka import wire
from interlock.log.kafka.cluster import CallFailed, Cluster
from interlock.log.kafka.extent import Extents
from interlock.log.port import NoSuchShard, OffsetGone, Refused, Shard, Stored, Unavailable

RECORDS_A_READ = 500
"""How many records one `read` returns at most: some milliseconds of decoding, so that no heartbeat is late for it."""

PATIENCE_S = 3.0
"""How much longer than it was asked to hold a fetch a broker may take. Then its connection is given up."""

TROUBLE_S = 1.0
"""For how long `read` tries again at least, however short it was to wait: a change of leader takes a moment."""

GONE_SETTLES_S = 2.0
"""How long an offset behind the end must stay so before it is gone: a new leader may know of less for a moment."""

RETRY_FIRST_S = 0.01
RETRY_MAX_S = 0.25

OFFSET_OUT_OF_RANGE = 1


class KafkaReader:
    """A place in one shard; implements `port.Reader`.

    `lane` names a connection that nobody else uses. `committed` leaves out what other clients wrote in transactions
    that were aborted, and waits for those that are open.
    """

    def __init__(
        self, cluster: Cluster, extents: Extents, shard: Shard, offset: int, lane: str, *, committed: bool
    ) -> None:
        self._cluster = cluster
        self._extents = extents
        self._shard = shard
        self._lane = lane
        self._offset = offset
        self._committed = committed
        self._decoder: wire.Decoder | None = None
        self._fetching: asyncio.Task[wire.Fetched] | None = None
        self._node: int | None = None

    @property
    def next_offset(self) -> int:
        """Where `read` goes on."""
        return self._offset

    async def read(self, wait_s: float) -> Sequence[Stored]:
        """As `port.Reader.read`; returns some hundred records at most."""
        taken = self._decode()
        if taken:
            # Without a turn of the loop, a reader that catches up would keep all others waiting.
            await asyncio.sleep(0)
            return taken
        loop = asyncio.get_running_loop()
        began = loop.time()
        deadline = began + wait_s
        pause = RETRY_FIRST_S
        while True:
            problem = await self._await_fetch(deadline - loop.time())
            if self._cluster.closed:
                raise Unavailable(f"expected an open log to read {self._shard}, found it closed")
            taken = self._decode()
            if taken:
                return taken
            now = loop.time()
            if problem is None:
                if now >= deadline and self._offset >= self._extents.landed(self._shard):
                    return ()
                continue
            if now >= max(deadline, began + TROUBLE_S):
                raise Unavailable(f"{self._shard} can't be read from offset {self._offset} now: {problem}")
            self._cluster.suspect(self._shard.topic)
            await asyncio.sleep(pause)
            pause = min(2 * pause, RETRY_MAX_S)

    async def close(self) -> None:
        """Ends the fetch under way and closes the connection."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)
            self._fetching = None
        self._decoder = None
        if self._node is not None:
            self._cluster.disconnect(self._node, self._lane)

    def _decode(self) -> list[Stored]:
        """The next records of what was fetched already."""
        if self._decoder is None:
            return []
        try:
            taken = self._decoder.take(RECORDS_A_READ)
        except wire.Damaged as error:
            # Damage on the way is gone with the next fetch; damage on the disk stays, and is told again and again.
            self._decoder = None
            raise Unavailable(f"{self._shard} can't be read from offset {self._offset}: {error}") from error
        self._offset = self._decoder.next_offset
        if not taken:
            self._decoder = None
        return taken

    async def _await_fetch(self, wait_s: float) -> str | None:
        """Fetches once, or takes over the fetch of a `read` that was cancelled; says what went wrong, if anything."""
        wait_s = max(0.0, min(wait_s, self._cluster.settings.fetch_wait_s))
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._fetch(wait_s))
            self._fetching.add_done_callback(_look)
        done, _ = await asyncio.wait({self._fetching}, timeout=wait_s + PATIENCE_S + self._cluster.settings.connect_s)
        if not done:
            return f"broker {self._node} has not answered yet"
        fetching, self._fetching = self._fetching, None
        try:
            fetched = fetching.result()
        except NoSuchShard:
            raise
        except (Refused, CallFailed) as error:
            return str(error)
        if fetched.code == OFFSET_OUT_OF_RANGE:
            return await self._out_of_range()
        if fetched.code != 0:
            return f"broker {self._node} answered {wire.error_name(fetched.code)}"
        if fetched.data:
            self._decoder = wire.Decoder(fetched, self._offset, foreign=self._committed)
        return None

    async def _fetch(self, wait_s: float) -> wire.Fetched:
        settings = self._cluster.settings
        node = await self._cluster.leader(self._shard)
        if self._node is not None and node != self._node:
            self._cluster.disconnect(self._node, self._lane)
        self._node = node
        call = wire.fetch(
            self._shard, self._offset, wait_s=wait_s, bytes_max=settings.fetch_bytes, committed=self._committed
        )
        return await self._cluster.call(node, call, timeout_s=wait_s + PATIENCE_S, lane=self._lane)

    async def _out_of_range(self) -> str:
        """The broker does not hold the offset. Raises `OffsetGone` where that stays so, else says what was found."""
        loop = asyncio.get_running_loop()
        until = loop.time() + GONE_SETTLES_S
        while True:
            extent = await self._extents.of(self._shard)
            if extent.first <= self._offset <= extent.end:
                return f"offset {self._offset} was out of range, but {extent.first} to {extent.end} hold it now"
            if self._offset < extent.first or loop.time() >= until:
                raise OffsetGone(self._shard, self._offset, extent)
            self._cluster.suspect(self._shard.topic)
            await asyncio.sleep(RETRY_MAX_S)


def _look(done: asyncio.Task[wire.Fetched]) -> None:
    """A reader that is dropped without a close leaves a fetch that nobody awaits; its failure is nobody's concern."""
    if not done.cancelled():
        done.exception()
