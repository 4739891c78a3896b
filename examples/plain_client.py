"""What a client of Kafka does to read a journal: the rule for void appends in ten lines, the schemas that records name
in as many, and nothing of Interlock.

    python -m examples.plain_client 127.0.0.1:9092 interlock.executions.journal 0

`counted`, `registered` and `decoded` are the code that docs/guides/reading-journals.md shows; tests hold them against
the engine's own rule and its journals.
"""

import asyncio
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

import fastavro
from aiokafka import AIOKafkaConsumer, TopicPartition

NOTHING = b"0" * 32
"""What the first append of a journal follows."""


class Record(Protocol):
    """A record as a client library gives it; aiokafka's `ConsumerRecord` is one."""

    @property
    def offset(self) -> int:
        """Its place in the partition."""
        ...

    @property
    def key(self) -> bytes:
        """The aggregate that it is about."""
        ...

    @property
    def value(self) -> bytes:
        """What it says, in Avro."""
        ...

    @property
    def headers(self) -> Sequence[tuple[str, bytes]]:
        """Its headers in order."""
        ...


R = TypeVar("R", bound=Record)


def counted(records: Iterable[R], last: bytes | None = NOTHING) -> Iterator[list[R]]:
    """The appends that count, each as its frame and then its events and intents; `last` is None to begin anywhere."""
    append: list[R] = []
    frame: dict[str, bytes] = {}
    for record in records:
        headers = dict(record.headers)
        if headers.get("kind") == b"frame":
            append, frame = [], headers
        append.append(record)
        if not frame or len(append) != int(frame["size"]):
            continue
        if frame["follows"] == last or (last is None and append[0].offset == int(frame["expected-end"])):
            last = frame["append-id"]
            yield append


def registered(records: Iterable[Record]) -> dict[str, Any]:
    """Fingerprint → schema, of the records of the topic of schemas."""
    return {record.key.decode(): json.loads(record.value) for record in records}


def decoded(value: bytes, schemas: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says, by the schema that its first bytes name."""
    if value[:2] != b"\xc3\x01":
        raise ValueError(f"expected a record in single-object encoding, found {value[:2].hex(' ')}")
    schema = schemas[value[2:10].hex()]  # missing: read the topic of schemas again; what a record needs is there first
    said: dict[str, Any] = cast("Any", fastavro).schemaless_reader(io.BytesIO(value[10:]), schema, None)
    return said


def main(bootstrap: str, journal: str, partition: int) -> None:
    """Prints every event of a journal that counts, as far as the journal goes now."""
    records = asyncio.run(read(bootstrap, journal, partition))
    prefix, _, _ = journal.rsplit(".", 2)
    schemas = registered(asyncio.run(read(bootstrap, f"{prefix}.schemas", 0)))
    for append in counted(records, last=None):
        for record in append:
            headers = dict(record.headers)
            if headers["kind"] == b"event":
                said = (headers["position"], headers["type"], record.key, b"revision " + headers["revision"])
                print(*(part.decode() for part in said), json.dumps(decoded(record.value, schemas)))


async def read(bootstrap: str, topic: str, partition: int) -> list[Record]:
    """The records of a partition, from the first that is kept to the one that is the last now."""
    # aiokafka says little of its types.
    consumer = cast("Any", AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False))
    shard = TopicPartition(topic, partition)
    records: list[Record] = []
    await consumer.start()
    try:
        consumer.assign([shard])
        await consumer.seek_to_beginning(shard)
        end: int = (await consumer.end_offsets([shard]))[shard]
        while await consumer.position(shard) < end:
            for found in (await consumer.getmany(shard, timeout_ms=1_000)).values():
                records += found
    finally:
        await consumer.stop()
    return records


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
