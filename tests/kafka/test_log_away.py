"""The log when its only broker hangs, dies and comes back: what is told, and what is true afterwards."""

import asyncio
from collections.abc import Callable

import pytest

from interlock.log.kafka.log import KafkaLog
from interlock.log.port import Doubt, NotNow, Shard, Stored, Unavailable
from tests.kafka.conftest import OpenLog, make_shard, read_all, record
from tests.support.kafka import Brokers

pytestmark = pytest.mark.kafka

QUICK = {"send_s": 2.0, "connect_s": 0.5, "ask_s": 1.0, "fetch_wait_s": 0.5}
"""Short bounds, so that what takes as long as it may takes a second."""

BACK_SECONDS_MAX = 60


async def send_until_told(log: KafkaLog, shard: Shard, value: str) -> int:
    """The offset of the first batch that is acknowledged; a doubt before it may have landed."""
    async with asyncio.timeout(BACK_SECONDS_MAX):
        while True:
            try:
                return await log.send(shard, [record(value)])
            except (NotNow, Doubt):
                continue


async def send_until_in_doubt(log: KafkaLog, shard: Shard) -> dict[str, str]:
    """Sends numbered batches on a connection that is open, until one is in doubt; says what was told of each."""
    told: dict[str, str] = {}
    while "doubt" not in told.values():
        value = f"{len(told)}"
        try:
            await log.send(shard, [record(value)])
        except Doubt:
            told[value] = "doubt"
        else:
            told[value] = "landed"
    return told


async def test_a_broker_that_hangs_leaves_a_doubt_and_what_was_not_sent_never_lands(
    start_kafka: Callable[[int], Brokers], open_log: OpenLog
) -> None:
    """A batch that was sent may land later; one for which there was no connection was never sent, and that is told.

    Proves: LOG-02, LOG-06 (a doubt is told as one; what is refused stays away).
    """
    brokers = await asyncio.to_thread(start_kafka, 1)
    log = open_log(brokers.bootstrap, **QUICK)
    shard = await make_shard(log)
    await send_until_told(log, shard, "before")
    brokers.pause(1)
    told = await send_until_in_doubt(log, shard)
    with pytest.raises(NotNow):
        await log.send(shard, [record("never sent")])
    with pytest.raises(Unavailable):
        await log.end(shard)
    brokers.resume(1)
    after = await send_until_told(log, shard, "after")
    values = [stored.value.decode() for stored in await read_all(log, shard)]
    # The broker reads what hung in its socket, but perhaps after what came on a new connection.
    assert values[after] == "after"
    assert "never sent" not in values
    assert all(values.count(each) == 1 for each, what in told.items() if what == "landed")
    assert all(values.count(each) <= 1 for each, what in told.items() if what == "doubt")


async def test_a_reader_keeps_its_place_while_the_broker_is_away(
    start_kafka: Callable[[int], Brokers], open_log: OpenLog
) -> None:
    """Killed and restarted: reads and questions say `Unavailable` meanwhile, and afterwards nothing is missing.

    Proves: LOG-02.
    """
    brokers = await asyncio.to_thread(start_kafka, 1)
    log = open_log(brokers.bootstrap, **QUICK)
    shard = await make_shard(log)
    await log.send(shard, [record(0), record(1)])
    reader = log.reader(shard, 0)
    assert len(await reader.read(10.0)) == 2
    await asyncio.to_thread(brokers.kill, 1)
    with pytest.raises(Unavailable):
        await reader.read(0.1)
    with pytest.raises(Unavailable):
        await log.end(shard)
    with pytest.raises(NotNow):
        await log.send(shard, [record("never")])
    restarting = asyncio.create_task(asyncio.to_thread(brokers.restart, 1))
    last = await send_until_told(log, shard, "back")
    await restarting
    found: list[Stored] = []
    async with asyncio.timeout(BACK_SECONDS_MAX):
        while not found or found[-1].offset < last:
            try:
                found.extend(await reader.read(1.0))
            except Unavailable:
                continue
    assert [stored.offset for stored in found] == list(range(2, last + 1))
    assert {stored.value for stored in found} == {b"back"}
    assert await log.end(shard) >= last + 1
    await reader.close()


async def test_closing_ends_what_is_under_way_at_once(start_kafka: Callable[[int], Brokers], open_log: OpenLog) -> None:
    """A broker that hangs holds nobody up: what was sent is in doubt, readers are told, and the close returns."""
    brokers = await asyncio.to_thread(start_kafka, 1)
    log = open_log(brokers.bootstrap)  # with the usual bounds, which are longer than this test may take
    shard = await make_shard(log)
    await log.send(shard, [record(0)])
    reader = log.reader(shard, 1)
    await reader.read(0.0)
    brokers.pause(1)
    sending = asyncio.create_task(log.send(shard, [record(1)]))
    reading = asyncio.create_task(reader.read(60.0))
    await asyncio.wait({sending}, timeout=1.0)
    async with asyncio.timeout(3.0):
        await log.close()
        answers = await asyncio.gather(sending, reading, return_exceptions=True)
    # A loaded machine may take a while to stop the broker, which then answers both.
    assert isinstance(answers[0], int | Doubt)
    assert isinstance(answers[1], list | Unavailable)
    with pytest.raises(NotNow):
        await log.send(shard, [record(2)])
    with pytest.raises(Unavailable):
        await reader.read(0.0)
    await reader.close()
