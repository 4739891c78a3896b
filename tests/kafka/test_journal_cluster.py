"""The journal's rule on three real brokers that are killed and paused under contending writers."""

import asyncio
import random
from collections.abc import Sequence

import pytest

from interlock.log.port import Log, Shard, TopicSpec, Unavailable
from tests.contract.contender import SLEEPY, Contender, Fates
from tests.kafka.conftest import OpenLog
from tests.support.appends import read_appends
from tests.support.kafka import Brokers

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

SHARD = Shard("t.journal", 0)
WRITERS = 3
COMMANDS = 60
"""As many as each writer brings through between two blows, at least."""


async def strike(brokers: Brokers, log: Log, node: int, blow: str) -> None:
    """One node falls and comes back; returns when every replica has caught up."""
    if blow == "kill":
        await asyncio.to_thread(brokers.kill, node)
        await asyncio.to_thread(brokers.restart, node)
    else:
        brokers.pause(node)
        # Paused until the others have gone on without it, so that it wakes up with a past of its own.
        await _until_longer(log)
        brokers.resume(node)
    await asyncio.to_thread(brokers.wait_in_sync)


async def _until_longer(log: Log) -> None:
    before = None
    async with asyncio.timeout(60):
        while True:
            try:
                end = await log.end(SHARD)
            except Unavailable:
                continue
            if before is not None and end > before:
                return
            before = before or end


async def run(writer: Contender, over: asyncio.Event) -> None:
    """Rounds of commands until the storm is over, and one behind it."""
    commands = 0
    while True:
        last = over.is_set()
        commands += COMMANDS
        await writer.run(commands)
        if last:
            return


async def storm(brokers: Brokers, open_log: OpenLog, blows: Sequence[str], chance: random.Random) -> None:
    """Three writers take one journal from each other all the time, while its leaders fall one after the other."""
    bounds = {"send_s": 2.0, "connect_s": 0.5, "ask_s": 4.0}
    logs = [open_log(brokers.bootstrap, **bounds) for _ in range(WRITERS + 1)]
    quiet = logs.pop()
    await quiet.create([TopicSpec(name=SHARD.topic, partitions=1)])
    fates, over = Fates(), asyncio.Event()
    writers = [Contender(f"w{number}", log, SHARD, fates.tell, chance, pace=SLEEPY) for number, log in enumerate(logs)]
    writing = [asyncio.create_task(run(writer, over)) for writer in writers]
    try:
        for blow in blows:
            await strike(brokers, quiet, await quiet.cluster.leader(SHARD), blow)
    finally:
        over.set()
    await asyncio.gather(*writing)
    appends = await read_appends(quiet, SHARD)
    fates.check(appends)
    assert len(fates.acknowledged) >= WRITERS * COMMANDS
    whole = [append.frame.id for append in appends]
    for log, middle in zip(logs, (len(whole), len(whole) * 2, len(whole) * 3), strict=True):
        found = [append.frame.id for append in await read_appends(log, SHARD, middle=middle)]
        assert found == whole[len(whole) - len(found) :]


async def test_acknowledged_counts_once_and_denied_never_while_brokers_fall(
    kafka_cluster: Brokers, open_log: OpenLog
) -> None:
    """The leader is killed, and the next one paused until the others have gone on without it.

    Proves: LOG-01, LOG-02, LOG-06, OWN-01.
    """
    await storm(kafka_cluster, open_log, ("kill", "pause"), random.Random(7))


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_a_long_storm(kafka_cluster: Brokers, open_log: OpenLog) -> None:
    """Proves: LOG-01, LOG-02, LOG-06, OWN-01 (a dozen leaders fall, by chance killed or paused)."""
    chance = random.Random()
    await storm(kafka_cluster, open_log, chance.choices(("kill", "pause"), k=12), chance)
