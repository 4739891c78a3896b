"""The real program beside clients that know Kafka and nothing of Interlock: aiokafka to write and to read, fastavro and
the topic of schemas to understand, and the ten lines of `examples/plain_client.py` to tell what counts."""

import asyncio
import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

import pytest
from aiokafka import AIOKafkaProducer

from examples.plain_client import counted, decoded, read, registered
from tests.support.installation import Installation, install, until
from tests.support.outside import Kafka

pytestmark = [pytest.mark.acceptance, pytest.mark.kafka]

APP = "tests.support.errands"
Sent = dict[str, Any]
"""What aiokafka's producer is given for a record."""
CONTEXTS = {"publishing": 1, "routing": 2, "executions": 2}
"""Context → partitions, as the installation has them."""


@pytest.fixture(scope="module")
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A program that answers errands."""
    made = install("kafka", request, tmp_path_factory.mktemp("plain"))
    try:
        made.start(APP)
        made.publish(f"{APP}:errands")
        yield made
    finally:
        made.close()


@pytest.fixture
def bootstrap(installation: Installation) -> str:
    """Where the broker is."""
    assert isinstance(installation.outside, Kafka)
    return installation.outside.bootstrap


def errand(key: str, data: object) -> bytes:
    """What the guide shows."""
    return json.dumps(
        {"type": "Event", "name": "errand.asked", "data": data, "idempotencyKey": key, "correlation": key}
    ).encode()


async def produce(bootstrap: str, topic: str, sent: Iterable[Sent], **settings: object) -> None:
    """Writes with a plain producer."""
    producer = cast("Any", AIOKafkaProducer(bootstrap_servers=bootstrap, **cast("Any", settings)))
    await producer.start()
    try:
        for each in sent:
            await producer.send_and_wait(topic, **each)
    finally:
        await producer.stop()


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_a_stimulus_may_have_any_key_any_headers_and_any_compression(
    installation: Installation, bootstrap: str, codec: str | None
) -> None:
    """Proves: STM-01, LOG-03"""
    name = f"packed-{codec}"
    # Long and alike, so that it is worth compressing.
    data = {"words": "again and " * 500}
    headers: list[tuple[str, bytes | None]] = [("", b""), ("traceparent", b"\xff"), ("kind", b"frame"), ("none", None)]
    headers += [("source", b"me"), ("number", b"-1")]
    sent: list[Sent] = [
        {"key": key, "value": errand(f"{name}-{number}", data), "headers": headers if key == b"" else []}
        for number, key in enumerate([None, b"", b"\x00\xff" * 500])
    ]
    await produce(bootstrap, installation.topic("stimuli"), sent, compression_type=codec)
    for number in range(len(sent)):
        run = await asyncio.to_thread(installation.ended, "errand.asked", f"{name}-{number}", f"{name}-{number}")
        assert run.run.output == data


async def test_a_record_without_a_value_is_a_dead_letter(installation: Installation, bootstrap: str) -> None:
    """Proves: STM-07"""
    empty: list[Sent] = [
        {"key": b"k", "value": None, "partition": 0},
        {"value": errand("behind-nothing", 1), "partition": 0},
    ]
    await produce(bootstrap, installation.topic("stimuli"), empty)
    run = await asyncio.to_thread(installation.ended, "errand.asked", "behind-nothing", "behind-nothing")
    assert run.run.output == 1
    letters = await asyncio.to_thread(installation.client.dead_letters, reason="unreadable")
    assert [(each.size, each.excerpt) for each in letters.items] == [(0, "")]


async def test_what_a_transaction_took_back_starts_nothing(installation: Installation, bootstrap: str) -> None:
    """Proves: STM-01"""
    producer = cast(
        "Any", AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=installation.topic("somebody"))
    )
    topic = installation.topic("stimuli")
    await producer.start()
    try:
        await producer.begin_transaction()
        await producer.send_and_wait(topic, errand("taken-back", 1), partition=1)
        await producer.abort_transaction()
        await producer.begin_transaction()
        await producer.send_and_wait(topic, errand("meant", 2), partition=1)
        await producer.commit_transaction()
    finally:
        await producer.stop()
    assert (await asyncio.to_thread(installation.ended, "errand.asked", "meant", "meant")).run.output == 2
    known = await asyncio.to_thread(installation.client.stimuli, limit=500)
    assert "taken-back" not in {each.idempotency_key for each in known.items}


async def test_a_journal_is_read_event_by_event_with_the_schema_that_each_record_names(
    installation: Installation, bootstrap: str
) -> None:
    """Proves: LOG-03, LOG-01

    Every record of every journal is read: its key names the aggregate, its headers and its schema say the same, its
    revisions and positions have no gaps. What the journals say of a run is what the API says of it.
    """
    await produce(bootstrap, installation.topic("stimuli"), [{"key": b"any", "value": errand("read", {"a": "ü"})}])
    run = await asyncio.to_thread(installation.ended, "errand.asked", "read", "read")
    schemas = registered(await read(bootstrap, installation.topic("schemas"), 0))
    told: dict[str, list[tuple[int, str, dict[str, Any]]]] = {}
    for context, partitions in CONTEXTS.items():
        for partition in range(partitions):
            records = await read(bootstrap, installation.topic(f"{context}.journal"), partition)
            position = 0
            for append in counted(records):
                frame = dict(append[0].headers)
                assert frame["kind"] == b"frame"
                assert int(frame["position"]) == position
                assert len(append) == int(frame["size"])
                for record in append:
                    headers = dict(record.headers)
                    fact = decoded(record.value, schemas)
                    schema = schemas[record.value[2:10].hex()]
                    if headers["kind"] != b"event":
                        continue
                    position += 1
                    assert int(headers["position"]) == position
                    stored = headers["type"].decode()
                    assert f"interlock.{stored}" == f"{schema['namespace']}.{schema['name']}"
                    assert stored.partition(".")[0] == context
                    told.setdefault(record.key.decode(), []).append((int(headers["revision"]), stored, fact))
    for stream, facts in told.items():
        assert [revision for revision, _, _ in facts] == list(range(1, len(facts) + 1)), stream
    facts = told[f"execution:{run.run.execution_id}"]
    assert [stored for _, stored, _ in facts] == [
        "executions.ExecutionStarted",
        "executions.ActivityCompleted",
        "executions.ExecutionCompleted",
    ]
    assert facts[0][2]["stimulus_id"] == run.run.stimulus_id
    assert json.loads(facts[0][2]["data"]) == json.loads(facts[1][2]["output"]) == run.run.output == {"a": "ü"}
    page = await asyncio.to_thread(installation.client.history, f"execution:{run.run.execution_id}")
    assert [(each.revision, each.type, each.data) for each in page.items] == facts


async def test_what_a_stranger_writes_to_a_journal_does_not_count(installation: Installation, bootstrap: str) -> None:
    """Proves: LOG-03, OWN-01 (neither for the engine nor for whoever reads by the ten lines)."""
    topic = installation.topic("routing.journal")
    [append, *_] = [each for each in counted(await read(bootstrap, topic, 0)) if len(each) > 1]
    again: list[Sent] = [
        {"key": one.key, "value": one.value, "headers": list(one.headers), "partition": 0} for one in append
    ]
    await produce(bootstrap, topic, [*again, {"value": b"hello", "partition": 0}])
    written: list[Sent] = [{"value": errand(f"after-{number}", number)} for number in range(8)]
    await produce(bootstrap, installation.topic("stimuli"), written)
    for number in range(8):
        run = await asyncio.to_thread(installation.ended, "errand.asked", f"after-{number}", f"after-{number}")
        assert run.run.output == number
    found = [dict(each[0].headers)["append-id"] for each in counted(await read(bootstrap, topic, 0))]
    assert len(found) == len(set(found))
    live = await asyncio.to_thread(until, lambda: installation.client.live().ok, "a process that is well")
    assert live
