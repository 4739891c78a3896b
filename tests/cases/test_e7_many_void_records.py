"""E7: a hundred thousand records that don't count cost a view no memory that stays, and leave it no lag."""

import asyncio
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

from interlock.log.frame import Frame, assemble
from interlock.log.port import Extent, Record, Refused, Shard, Stored
from interlock.projections.executions.fold import VIEW
from interlock.projections.host import ViewHost
from interlock.testing.virtual_time import run_virtual
from tests.projections.journals import CODEC, live

pytestmark = pytest.mark.cases

BATCH = 1_000
GROWTH_BYTES_MAX = 256 << 10


class Endless:
    """A log that makes up records as they are read: none of them counts, for they follow what there never was.

    Implements `Log`, for reading; a list of the records would be the memory that is measured.
    """

    batch_bytes_max = 1 << 20

    def __init__(self) -> None:
        self.records = 0

    async def send(self, shard: Shard, batch: Sequence[Record]) -> int:
        """Nobody writes."""
        raise Refused(f"expected nobody to write to {shard}")

    def reader(self, shard: Shard, offset: int) -> "EndlessReader":
        """From any place."""
        return EndlessReader(self, offset)

    async def end(self, shard: Shard) -> int:
        """As far as it goes by now."""
        return self.records

    async def extent(self, shard: Shard) -> Extent:
        """From its beginning as far as it goes by now."""
        return Extent(0, self.records)

    async def topic_id(self, topic: str) -> str:
        """It is always the same."""
        return "endless"

    async def close(self) -> None:
        """There is nothing to close."""


class EndlessReader:
    """A place in it."""

    def __init__(self, log: Endless, offset: int) -> None:
        self._log = log
        self._offset = offset

    @property
    def next_offset(self) -> int:
        """Where it goes on."""
        return self._offset

    async def read(self, wait_s: float) -> Sequence[Stored]:
        """Some more, or nothing after a while."""
        await asyncio.sleep(0 if self._offset < self._log.records else wait_s)
        first, self._offset = self._offset, min(self._offset + BATCH, self._log.records)
        return [void(offset) for offset in range(first, self._offset)]

    async def close(self) -> None:
        """There is nothing to close."""


def void(offset: int) -> Stored:
    """An append of one record, whose predecessor nobody knows."""
    frame = Frame(
        id=f"{offset:032x}",
        number=2,
        follows="f" * 32,
        end=10**9,
        owner=f"stranger {offset}",
        opened=False,
        size=1,
        position=0,
    )
    [record] = assemble(frame, b"", ())
    return Stored(offset, 1_000, record.key, record.value, record.headers)


@pytest.mark.parametrize("appends", [10_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_memory_stays_and_nothing_is_left_behind(tmp_path: Path, appends: int) -> None:
    """Proves: PRJ-07, PRJ-08."""

    async def main() -> list[int]:
        log = Endless()
        host = ViewHost(
            VIEW, tmp_path, log=log, topic_ids=log, codec=CODEC, shards=[Shard("interlock.executions.journal", 0)]
        )
        held: list[int] = []
        log.records = appends // 10
        await host.start()
        await live(host)
        tracemalloc.start()
        try:
            for records in (appends // 5, appends):
                log.records = records
                await live(host)
                held.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
        status = await host.status()
        assert (status.state, status.lag, status.shards[0].position.number) == ("live", 0, 0)
        await host.close()
        return held

    few, many = run_virtual(main())
    assert many - few < GROWTH_BYTES_MAX, (few, many)
