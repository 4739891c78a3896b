"""A reader that waits is woken by what another process appends, whatever else this process asks meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from interlock.log.port import Log, Record, Shard
from tests.contract.backends import Admin, Backend

pytestmark = pytest.mark.contract

WAIT_S = 20.0
"""How long the reader would wait by itself."""


async def test_asking_for_the_end_keeps_no_reader_asleep(
    backend: Backend, make_log: Callable[[], Awaitable[tuple[Log, Admin]]]
) -> None:
    shard = Shard(await backend.topic(), 0)
    here, there = (await make_log())[0], (await make_log())[0]
    reader = here.reader(shard, 0)
    for offset in range(20):
        reading = asyncio.create_task(reader.read(WAIT_S))
        await asyncio.sleep(0)
        await there.send(shard, [Record(b"key", b"%d" % offset)])
        while await here.end(shard) <= offset:
            pass
        async with asyncio.timeout(WAIT_S / 2):
            assert [each.value for each in await reading] == [b"%d" % offset]
    await reader.close()
