"""A process of its own at the log under test; the suites start it, and kill some.

    python -m tests.contract.child write ADDRESS TOPIC PARTITIONS NAME SENDERS BATCHES
    python -m tests.contract.child own ADDRESS TOPIC

`write` sends batches from several tasks, BATCHES each or for ever (0), and prints a line for each that was told to have
landed: partition, offset of its first record, name. `own` takes part in sharing the topic, and prints what it has at
every change. What does not end by itself ends with its input.
"""

import asyncio
import sys

from interlock.log.kafka.log import KafkaLog
from interlock.log.port import Log, Record, Shard
from interlock.log.sqlite.log import SqliteLog

BATCH_RECORDS = 3

LEASE_S = 1.0
"""Short, so that what a killed process leaves behind is taken over soon."""


def kafka_url(bootstrap: str) -> str:
    """The log on a broker whose groups notice soon what a killed process leaves behind."""
    return f"kafka://{bootstrap}?prefix=contract&session_s={LEASE_S}&rebalance_s={3 * LEASE_S}"


def open_address(address: str) -> SqliteLog | KafkaLog:
    """Opens the log under test."""
    if address.startswith("kafka://"):
        return KafkaLog(address)
    if address.startswith("sqlite://"):
        return SqliteLog(address.removeprefix("sqlite://"), lease_s=LEASE_S)
    raise SystemExit(f"expected the address of a backend under test, found {address}")


def batch_of(name: str) -> list[Record]:
    """A batch that can be told from all others: its name is the key of its records, their index the value."""
    return [Record(name.encode(), str(index).encode(), (("of", b"3"),)) for index in range(BATCH_RECORDS)]


async def send_all(log: Log, shard: Shard, name: str, batches: int) -> None:
    """Sends batches one after the other and says what was acknowledged."""
    number = 0
    while not batches or number < batches:
        number += 1
        offset = await log.send(shard, batch_of(f"{name}-{number}"))
        print(shard.partition, offset, f"{name}-{number}", flush=True)


async def write(log: Log, topic: str, partitions: int, name: str, senders: int, batches: int) -> None:
    """Sends from several tasks, over all partitions."""
    shards = [Shard(topic, sender % partitions) for sender in range(senders)]
    await asyncio.gather(*(send_all(log, shard, f"{name}-{index}", batches) for index, shard in enumerate(shards)))


async def own(log: SqliteLog | KafkaLog, topic: str) -> None:
    """Says what this process has, at every change."""
    assignment = log.assignment(topic)
    owned: frozenset[int] = frozenset()
    while True:
        owned = await assignment.changed(owned)
        print("owns", *sorted(owned), flush=True)


async def main(what: str, address: str, topic: str, *rest: str) -> None:
    """Does what the arguments say."""
    log = open_address(address)
    try:
        if what == "own":
            task = asyncio.ensure_future(own(log, topic))
        else:
            partitions, name, senders, batches = int(rest[0]), rest[1], int(rest[2]), int(rest[3])
            task = asyncio.ensure_future(write(log, topic, partitions, name, senders, batches))
            if batches:
                await task
                return
        ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
        await asyncio.wait({task})
    finally:
        await log.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
