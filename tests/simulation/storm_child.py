"""A storm in a process of its own: prints what landed on the log, line by line. For `test_repetition.py`."""

import asyncio
import hashlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from interlock.log.port import Record, Shard
from interlock.testing.virtual_time import SeededLoop, run_virtual
from tests.simulation.test_storms import Client, document
from tests.simulation.world import World

STORM_S = 30.0
ORDERS = 15


async def storm(seed: int, data: Path) -> list[str]:
    """Each batch in the order of landing: when, after how many steps, where, at which offset, and a digest of its bytes."""
    world, lines = World(seed, data), list[str]()
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SeededLoop)

    def landed(shard: Shard, base: int, batch: Sequence[Record]) -> None:
        digest = hashlib.sha256(repr([(each.key, each.value, tuple(each.headers)) for each in batch]).encode())
        lines.append(f"{loop.time():.9f} {loop.steps} {shard} {base} {len(batch)} {digest.hexdigest()}")

    world.broker.on_landing = landed
    client = Client(world)
    listening = asyncio.create_task(client.gateway.run())
    await world.start()
    await client.publish("v1", document("ship"))
    orders = [asyncio.create_task(client.order(number)) for number in range(ORDERS)]
    trouble = asyncio.create_task(world.storm(STORM_S))
    await client.publish("v2", document("deliver"))
    await asyncio.gather(trouble, *orders)
    await asyncio.sleep(120.0)
    listening.cancel()
    await world.close()
    return lines


if __name__ == "__main__":
    number = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        print("\n".join(run_virtual(storm(number, Path(folder)), seed=number)))
