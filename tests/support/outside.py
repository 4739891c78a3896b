"""The log as everybody else sees it: raw records, written and read without the program."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, cast

from aiokafka import AIOKafkaProducer

from examples import plain_client
from interlock.log.port import Record, Shard
from interlock.log.sqlite.log import SqliteLog

RECORD_BYTES_MAX = 2 << 20
"""More than any broker takes, so that it is the broker who says what is too large."""


@dataclass(frozen=True, slots=True)
class Written:
    """Where a record lies."""

    partition: int
    offset: int


class Outside(Protocol):
    """A client of the log; used by one thread, and closed at the end."""

    def write(self, topic: str, partition: int, values: Sequence[bytes], *, key: bytes = b"") -> list[Written]:
        """Writes records one behind the other, and returns once all are durable."""
        ...

    def read(self, topic: str, partition: int = 0) -> Sequence[plain_client.Record]:
        """Everything that there is now."""
        ...

    def close(self) -> None:
        """Lets go of connections and files."""
        ...


class _Client:
    """What is asynchronous runs on a loop of its own, and only while something is asked."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.runner.close()


class Embedded(_Client):
    """The file of an embedded log, as another process that shares it."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._path = url.removeprefix("sqlite:///")

    def write(self, topic: str, partition: int, values: Sequence[bytes], *, key: bytes = b"") -> list[Written]:
        """In one batch where that is small enough, as clients do."""
        return self.runner.run(self._write(Shard(topic, partition), [Record(key, value) for value in values]))

    def read(self, topic: str, partition: int = 0) -> Sequence[plain_client.Record]:
        """All records of a shard."""
        return self.runner.run(self._read(Shard(topic, partition)))

    async def _write(self, shard: Shard, records: list[Record]) -> list[Written]:
        log = SqliteLog(self._path)
        try:
            firsts = await asyncio.gather(*(log.send(shard, [record]) for record in records))
        finally:
            await log.close()
        return [Written(shard.partition, first) for first in firsts]

    async def _read(self, shard: Shard) -> Sequence[plain_client.Record]:
        log = SqliteLog(self._path)
        records: list[plain_client.Record] = []
        try:
            end = await log.end(shard)
            reader = log.reader(shard, 0)
            while len(records) < end:
                records += await reader.read(1.0)
            await reader.close()
        finally:
            await log.close()
        return records


class Kafka(_Client):
    """A plain client of Kafka: aiokafka, and nothing of Interlock."""

    def __init__(self, bootstrap: str, **producer: object) -> None:
        """`producer` are settings of aiokafka's producer."""
        super().__init__()
        self.bootstrap = bootstrap
        self._settings = producer
        self._producer: Any = None

    def write(self, topic: str, partition: int, values: Sequence[bytes], *, key: bytes = b"") -> list[Written]:
        """Leaves it to the client how it makes batches."""
        return self.runner.run(self._write(topic, partition, values, key))

    def read(self, topic: str, partition: int = 0) -> Sequence[plain_client.Record]:
        """All records of a partition."""
        return self.runner.run(plain_client.read(self.bootstrap, topic, partition))

    def close(self) -> None:
        """Closes the producer too."""
        if self._producer is not None:
            self.runner.run(self._producer.stop())
            self._producer = None
        super().close()

    async def _write(self, topic: str, partition: int, values: Sequence[bytes], key: bytes) -> list[Written]:
        if self._producer is None:
            producer = cast("Any", AIOKafkaProducer)(
                bootstrap_servers=self.bootstrap, max_request_size=RECORD_BYTES_MAX, **self._settings
            )
            await producer.start()
            self._producer = producer
        sent = [await self._producer.send(topic, value, key=key, partition=partition) for value in values]
        found = await asyncio.gather(*sent)
        return [Written(each.partition, each.offset) for each in found]
