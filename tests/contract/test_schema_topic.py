"""Registering schemas, on every backend: all are there once it returns, whoever came first and whatever broke."""

import asyncio
import json
import random

import pytest

from examples import plain_client
from interlock.domain.executions.execution.events import TimerFired
from interlock.log.faults import LANDS, SEEN, Answer, AskOutcome, FaultRates, RandomFaults, SendOutcome
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Log, Refused, Shard, Stored, TopicSpec, Unavailable, batch_bytes
from interlock.log.schema_topic import SchemaTopic, schema_record
from interlock.schemas.codec import AvroCodec
from interlock.schemas.written import WrittenSchema
from interlock.testing.virtual_time import LoopClock, run_virtual
from tests.contract.backends import Backend

SCHEMAS = AvroCodec().schemas()
OLDER = WrittenSchema("00" * 8, "executions.Gone", 1, '{"type": "record", "name": "Gone", "fields": []}')
"""One of a release that this one knows nothing of."""


async def records(log: Log, shard: Shard) -> list[Stored]:
    """All that are there."""
    reader, found = log.reader(shard, 0), list[Stored]()
    while len(found) < await log.end(shard):
        found += await reader.read(1.0)
    await reader.close()
    return found


@pytest.mark.contract
async def test_what_is_registered_is_what_a_plain_client_decodes_records_with(backend: Backend) -> None:
    """Proves: LOG-03"""
    log, shard = backend.open().log, Shard(await backend.topic(), 0)
    assert sum(batch_bytes([schema_record(each)]) for each in SCHEMAS) > log.batch_bytes_max, "expected several batches"
    assert await SchemaTopic(log, shard).register(SCHEMAS) == SCHEMAS
    found = await records(log, shard)
    assert [dict(each.headers)["name"].decode() for each in found] == [each.name for each in SCHEMAS]
    assert {dict(each.headers)["version"] for each in found} >= {b"1"}
    record = AvroCodec().encode(TimerFired(node_id="n", at_ms=7))
    assert plain_client.decoded(record, plain_client.registered(found)) == {"node_id": "n", "at_ms": 7}


@pytest.mark.contract
async def test_schemas_are_registered_once_and_those_of_older_releases_stay(backend: Backend) -> None:
    log, shard = backend.open().log, Shard(await backend.topic(), 0)
    topic = SchemaTopic(log, shard)
    await topic.register([OLDER])
    await topic.register(SCHEMAS)
    end = await log.end(shard)
    assert await topic.register(SCHEMAS) == ()
    assert await log.end(shard) == end
    assert await topic.find(OLDER.fingerprint) == "executions.Gone v1"
    assert await topic.find(SCHEMAS[0].fingerprint) == str(SCHEMAS[0])
    assert await topic.find("11" * 8) is None


@pytest.mark.contract
async def test_several_processes_may_register_at_once(backend: Backend) -> None:
    shard = Shard(await backend.topic(), 0)
    topics = [SchemaTopic(backend.open().log, shard) for _ in range(4)]
    await asyncio.gather(*(topic.register(SCHEMAS) for topic in topics))
    assert [await topic.missing(SCHEMAS) for topic in topics] == [()] * 4


@pytest.mark.contract
async def test_what_a_crash_left_half_done_the_next_start_completes(backend: Backend) -> None:
    log, shard = backend.open().log, Shard(await backend.topic(), 0)
    topic = SchemaTopic(log, shard)
    await log.send(shard, [schema_record(each) for each in SCHEMAS[:3]])
    assert await topic.missing(SCHEMAS) == SCHEMAS[3:]
    assert await topic.register(SCHEMAS) == SCHEMAS[3:]
    assert await log.end(shard) == len(SCHEMAS)


@pytest.mark.contract
async def test_what_is_missing_is_a_fault_that_names_it_and_what_to_do(backend: Backend) -> None:
    """Proves: LOG-07"""
    log, shard = backend.open().log, Shard(await backend.topic(), 0)
    topic = SchemaTopic(log, shard)
    await topic.register(SCHEMAS[2:])
    fault = await topic.fault(SCHEMAS)
    assert fault is not None
    assert (fault.topic, fault.found) == (shard.topic, f"no {SCHEMAS[0]}, {SCHEMAS[1]}")
    assert "interlock topics create" in fault.remedy
    await topic.register(SCHEMAS)
    assert await topic.fault(SCHEMAS) is None


@pytest.mark.contract
async def test_another_schema_in_its_place_is_written_over_and_another_documentation_is_not(backend: Backend) -> None:
    log, shard = backend.open().log, Shard(await backend.topic(), 0)
    topic, schema = SchemaTopic(log, shard), SCHEMAS[0]
    improved = json.loads(schema.text) | {"doc": "Said better."}
    improved["fields"][0]["doc"] = "This too."
    await topic.register([schema._replace(text=json.dumps(improved))])
    assert await topic.missing([schema]) == ()
    for damaged in ("no JSON", "[]", OLDER.text):
        await log.send(shard, [schema_record(schema._replace(text=damaged))])
        assert await topic.register([schema]) == (schema,)
        assert await topic.missing([schema]) == ()


class Fixed:
    """A log that always answers the same."""

    def __init__(self, send: SendOutcome = LANDS, ask: AskOutcome = SEEN) -> None:
        self._send, self._ask = send, ask

    def on_send(self, shard: Shard, batch: object) -> SendOutcome:
        """The same."""
        return self._send

    def on_ask(self, shard: Shard) -> AskOutcome:
        """The same."""
        return self._ask


def memory(faults: Fixed | RandomFaults) -> tuple[MemoryBroker, SchemaTopic]:
    """A log of virtual time with faults, and the topic on it."""
    now_ms = LoopClock(asyncio.get_running_loop()).now_ms
    broker = MemoryBroker(now_ms)
    broker.create(TopicSpec(name="t.schemas", partitions=1, compacted=True))
    log = MemoryLog(broker, faults=faults, now_ms=now_ms, send_s=1.0, batch_bytes_max=1 << 14)
    return broker, SchemaTopic(log, Shard("t.schemas", 0))


@pytest.mark.parametrize("seed", range(5))
def test_writes_in_doubt_and_outages_are_gone_through(seed: int) -> None:
    """Proves: LOG-03"""
    rates = FaultRates(
        acknowledgement_lost=0.2, lands_late=0.1, never_lands=0.1, lands_twice=0.1, unavailable=0.2,
        latency_s=(0.0, 0.01), delay_s=(0.01, 1.0),
    )  # fmt: skip

    async def register() -> None:
        broker, topic = memory(RandomFaults(random.Random(seed), rates))
        await topic.register(SCHEMAS)
        assert await SchemaTopic(MemoryLog(broker), Shard("t.schemas", 0)).missing(SCHEMAS) == ()

    run_virtual(register())


def test_a_log_that_stays_away_or_refuses_is_told() -> None:
    async def register() -> None:
        _, away = memory(Fixed(ask=AskOutcome(unavailable=True)))
        with pytest.raises(Unavailable):
            await away.register(SCHEMAS)
        _, closed = memory(Fixed(send=SendOutcome(landings_s=(), answer=Answer.REFUSED)))
        with pytest.raises(Refused):
            await closed.register(SCHEMAS)

    run_virtual(register())
