"""The bare log on Kafka: aiokafka as its makers mean it to be used where speed matters."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from interlock.log.kafka.log import KafkaLog
from interlock.log.kafka.settings import KafkaSettings
from interlock.log.port import Record, Shard
from interlock.runtime.topics import topic_specs
from ops.bench.bare import Heard, Tally
from ops.bench.work import Scenario

FETCH_BYTES = 8 << 20
NOW_MS = 1_700_000_000_000
"""The topics have the broker's time, which replaces it."""


class BareKafka:
    """One producer, one consumer for each listener; implements `Bare`."""

    def __init__(self, bootstrap: str, producer: Any, partitions: dict[str, int]) -> None:
        self.tally = Tally()
        self._bootstrap = bootstrap
        self._producer = producer
        self._partitions = partitions
        self._consumers: list[Any] = []
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def open(cls, scenario: Scenario) -> "BareKafka":
        """Makes the topics, as the engine's are made, and connects."""
        specs = topic_specs(scenario.settings())
        log = KafkaLog(scenario.url)
        try:
            await log.create(specs)
        finally:
            await log.close()
        bootstrap = bootstrap_of(scenario.url)
        producer = await open_producer(bootstrap)
        return cls(bootstrap, producer, {spec.name: spec.partitions for spec in specs})

    async def listen(self, topics: Sequence[str], take: Callable[[Heard], None]) -> None:
        """Reads the topics from their ends on, and gives what comes to `take`."""
        consumer: Any = cast("Any", AIOKafkaConsumer)(
            bootstrap_servers=self._bootstrap,
            enable_auto_commit=False,
            max_partition_fetch_bytes=FETCH_BYTES,
            fetch_max_bytes=FETCH_BYTES,
            check_crcs=False,
        )
        await consumer.start()
        self._consumers.append(consumer)
        consumer.assign([TopicPartition(topic, n) for topic in topics for n in range(self._partitions[topic])])
        await consumer.seek_to_end()
        for partition in consumer.assignment():
            await consumer.position(partition)
        self._tasks.append(asyncio.create_task(_read(consumer, take)))

    async def send(self, shard: Shard, batch: Sequence[Record]) -> None:
        """Returns when the broker has acknowledged the batch."""
        self.tally.sent(batch)
        await send(self._producer, shard, batch)
        self.tally.flushed(1)

    async def close(self) -> None:
        """Disconnects."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for consumer in self._consumers:
            await consumer.stop()
        await self._producer.stop()


def bootstrap_of(url: str) -> str:
    """The brokers that an address names, as aiokafka takes them."""
    return ",".join(KafkaSettings.from_url(url).bootstrap)


async def open_producer(bootstrap: str) -> Any:
    """A producer that waits for all replicas, and never gathers by itself."""
    producer: Any = cast("Any", AIOKafkaProducer)(
        bootstrap_servers=bootstrap, acks="all", linger_ms=0, max_batch_size=1 << 20, max_request_size=8 << 20
    )
    await producer.start()
    return producer


async def send(producer: Any, shard: Shard, batch: Sequence[Record]) -> None:
    """Builds one batch by hand and returns when it is acknowledged."""
    builder = producer.create_batch()
    for record in batch:
        builder.append(key=record.key, value=record.value, timestamp=NOW_MS, headers=list(record.headers))
    await (await producer.send_batch(builder, shard.topic, partition=shard.partition))


async def _read(consumer: Any, take: Callable[[Heard], None]) -> None:
    while True:
        found = await consumer.getmany(timeout_ms=1000)
        take([(Shard(partition.topic, partition.partition), records) for partition, records in found.items()])
