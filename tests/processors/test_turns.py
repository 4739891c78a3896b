"""One turn of a shard's owner: what is decided is appended, whatever comes behind it in the mail."""

import asyncio
import json
from dataclasses import replace

from interlock.domain.definitions.compiler import compile_document
from interlock.domain.definitions.executable import Executable
from interlock.domain.executions.execution.events import CheckpointsCoalesced, ExecutionStarted
from interlock.domain.messages import StartExecution
from interlock.domain.publishing.authority import Authority
from interlock.log.journal import JournalReader
from interlock.log.memory import MemoryLog
from interlock.log.port import Record, TopicSpec
from interlock.processors.executions.handler import ExecutionsHandler, ExecutionsOptions
from interlock.processors.mail import Cause, client_record
from interlock.processors.ownership import Ownership
from interlock.processors.ports import Bounds, Topics
from interlock.schemas.codec import AvroCodec
from interlock.testing.virtual_time import LoopClock, run_virtual
from tests.simulation.chores import Chores

CODEC = AvroCodec()
TOPICS = Topics("t", {"executions": 1})
DOCUMENT = json.dumps(
    {
        "name": "naps",
        "triggers": [{"type": "event", "name": "tired"}],
        "steps": [{"id": "nap", "sleep": "1h"}],
        "checkpoints": "coalesced",
    }
)
"""Sleeps, so that a run that has begun owes nothing at once."""


def executable() -> Executable:
    found = compile_document(DOCUMENT)
    assert isinstance(found, Executable), found
    return found


class Knowing(Authority):
    """Knows one executable."""

    def executable(self, artifact_id: str) -> Executable | None:
        return executable()


class Behind:
    """A replica that never comes to what is asked of it."""

    position = 0

    async def reached(self, position: int) -> None:
        if position > self.position:
            await asyncio.get_running_loop().create_future()


class NoSchemas:
    async def find(self, fingerprint: str, /) -> str | None:
        return None


def start(execution_id: str) -> Record:
    message = StartExecution(
        execution_id=execution_id,
        shell="default",
        definition_id="naps",
        slot_id="slot",
        publication_id="publication",
        artifact_id=executable().artifact_id,
        trigger_node="event:tired",
        stimulus_id=f"stimulus-{execution_id}",
        stimulus_name="tired",
        data="{}",
    )
    return client_record(CODEC, execution_id, message, Cause("test", "", ""))


def ownership(log: MemoryLog) -> Ownership:
    ids = iter(f"{number:032x}" for number in range(1, 100))
    options = ExecutionsOptions(checkpoints="coalesced", coalesce_wait_ms=5, output_bytes_max=1000)
    return Ownership(
        context="executions",
        partition=0,
        source="executions/0@1",
        handler=ExecutionsHandler(Knowing(), Chores(1, lambda: 1), options),
        replica=Behind(),
        wire=log,
        codec=CODEC,
        schemas=NoSchemas(),
        clock=LoopClock(asyncio.get_running_loop()),
        ids=lambda: next(ids),
        topics=TOPICS,
        bounds=Bounds(),
    )


async def _log_with(context: str, records: list[Record]) -> MemoryLog:
    log = MemoryLog()
    inbox = TOPICS.inbox(context, 0)
    topics = (TOPICS.journal(context, 0).topic, inbox.topic)
    await log.create([TopicSpec(name=topic, partitions=1) for topic in topics])
    await log.send(inbox, records)
    return log


async def assigned() -> bool:
    return True


async def _started(records: list[Record]) -> list[str]:
    """The runs whose start counts, some time after these messages came."""
    log = await _log_with("executions", records)
    owner = ownership(log)
    await owner.open(assigned)
    working = asyncio.create_task(owner.work())
    await asyncio.sleep(60)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    await owner.close()
    appends = await JournalReader(log, TOPICS.journal("executions", 0)).read(0)
    events = [CODEC.decode(entry.value) for append in appends for entry in append.entries]
    steps = [step for event in events for step in (event.steps if isinstance(event, CheckpointsCoalesced) else [event])]
    return [step.execution_id for step in steps if isinstance(step, ExecutionStarted)]


def test_what_was_gathered_is_appended_before_the_owner_waits_for_publishing() -> None:
    """Or else its state would stay ahead of the journal, and the snapshot of an orderly end would keep that."""
    waiting = start("second")
    waiting = replace(waiting, headers=(*waiting.headers, ("publishing", b"9")))
    assert run_virtual(_started([start("first"), waiting])) == ["first"]
