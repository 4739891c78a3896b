"""The publishing walk (S1), step by step, with separate processes on a real Kafka, and a failure at each step.

    policy and slot ─► compile ─► claims ─► artifact ─► prepare ─► compare-and-swap ─► select, refer, retire, show

Stimuli come in all the time. Whatever fails, the old publication goes on serving; at the end the journals tell that
each stimulus was answered by the one publication that had authority where it was decided, and by nothing else.
"""

import asyncio
import json
import os
import random
import signal
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from interlock.domain.publishing.publication.events import PublicationActivated
from interlock.domain.publishing.slot.events import SlotActivated
from interlock.domain.routing.stimulus.events import StimulusRouted
from interlock.domain.sharding import slot_id
from interlock.log.journal import JournalReader
from interlock.log.kafka.log import KafkaLog
from interlock.log.port import Record
from interlock.processors.ports import Topics
from interlock.projections.recorded import decode_append
from interlock.runtime.settings import Settings
from interlock.runtime.topics import topics_of
from interlock.schemas.codec import AvroCodec
from tests.support import errands, histories
from tests.support.acme import installed
from tests.support.fleet import Fleet, Member
from tests.support.histories import Histories

PREPARE_S = 30
"""Long enough for a process to be started anew on a busy machine, and short enough to wait for its end."""
ENVIRONMENT = {
    "INTERLOCK_ROUTING_SHARDS": "2",
    "INTERLOCK_EXECUTIONS_SHARDS": "2",
    "INTERLOCK_STIMULI_PARTITIONS": "2",
    "INTERLOCK_SESSION_TIMEOUT_MS": "3000",
    "INTERLOCK_PREPARE_MS": str(PREPARE_S * 1000),
}
PATIENCE_S = 60.0
"""How long anything may take on a busy machine."""
WAIT_S = 60
PACE_S = 0.03
SERVED = 20
"""So many stimuli have to be answered by the old publication after each failure."""
ASKED = [{"type": "event", "name": "errand.asked"}]
SLOT = slot_id("default", "errands", "default")


def errand(version: str, **more: object) -> str:
    """The workflow that takes part in the walk, as a version of its own."""
    return json.dumps({**errands.errands.document(), "version": version, **more})


class Load:
    """Writes stimuli without end, and follows what each was answered with."""

    def __init__(self, log: KafkaLog, topics: Topics) -> None:
        self.sent = 0
        self.answers: list[tuple[str, tuple[str, ...]]] = []
        """The stimulus, and the publications of the runs that it started; in the order of the shards' journals."""
        self.going = True
        self._log = log
        self._topics = topics
        self._moved = asyncio.Condition()

    async def write(self) -> None:
        """One stimulus after the other, for as long as it goes."""
        while self.going:
            key = f"errand-{self.sent}"
            body = {"type": "Event", "name": "errand.asked", "data": {"n": self.sent}, "idempotencyKey": key}
            value = json.dumps(body | {"correlation": key}).encode()
            await self._log.send(self._topics.user("stimuli", self.sent % 2), [Record(b"", value)])
            self.sent += 1
            await asyncio.sleep(PACE_S)

    async def follow(self, partition: int) -> None:
        """Reads the journal of a routing shard for ever."""
        reader, codec = JournalReader(self._log, self._topics.journal("routing", partition)), AvroCodec()
        try:
            while True:
                for append in await reader.read(1.0):
                    for one in decode_append(append, codec):
                        if isinstance(event := one.event, StimulusRouted):
                            started = tuple(start.publication_id for start in event.starts)
                            self.answers.append((event.stimulus_id, started))
                async with self._moved:
                    self._moved.notify_all()
        finally:
            await reader.close()

    async def answered(self, publication_id: str, count: int = SERVED) -> None:
        """Returns once so many more stimuli were answered, each by this publication alone."""
        before = len(self.answers)
        await self.until(lambda: len(self.answers) >= before + count)
        assert {started for _, started in self.answers[before:]} == {(publication_id,)}

    async def all_answered(self) -> None:
        """Returns once whatever was sent was answered."""
        await self.until(lambda: len(self.answers) >= self.sent)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Returns once this holds of what was answered."""
        async with asyncio.timeout(PATIENCE_S), self._moved:
            await self._moved.wait_for(holds)


class Walk:
    """What the steps share: the processes, a client, the load, and who serves now."""

    def __init__(self, fleet: Fleet, http: httpx.AsyncClient, load: Load) -> None:
        self.fleet = fleet
        self.load = load
        self.serving = ""
        """The publication that has authority."""
        self.revision = 0
        self.position = 0
        self.active: list[tuple[int, str]] = []
        """When "active" was told, in milliseconds since 1970, and of which publication."""
        self._http = http

    async def post(self, path: str, body: dict[str, object], status: int = 200) -> Any:
        """What the API answers with this status."""
        answer = await self._http.post(path, json=body)
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()

    async def publish(self, text: str, status: int = 200, *, wait: int = WAIT_S, **more: object) -> Any:
        """Publishes, and notes who serves where that succeeds."""
        found = await self.post("/v1/publish", {"document": text, "wait": wait, **more}, status)
        if status == 200 and found["definitionId"] == "errands":
            self.took_over(found)
        return found

    async def try_publish(self, text: str, **more: object) -> tuple[int, Any]:
        """Publishes, whatever comes of it: the status and what was answered."""
        answer = await self._http.post("/v1/publish", json={"document": text, "wait": WAIT_S, **more})
        return answer.status_code, answer.json()

    def took_over(self, found: Any) -> None:
        """Notes that "active" was answered."""
        assert (found["status"], found["revision"]) == ("active", self.revision + 1), found
        self.active.append((time.time_ns() // 1_000_000, found["publicationId"]))
        self.serving, self.revision, self.position = found["publicationId"], found["revision"], found["position"]

    async def publication(self, publication_id: str, status: str) -> Any:
        """A publication, once it has this status."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                answer = await self._http.get(f"/v1/publications/{publication_id}")
                if answer.status_code == 200 and answer.json()["publication"]["status"] == status:
                    return answer.json()
                assert answer.status_code in (200, 404, 503), answer.text
                await asyncio.sleep(0.1)

    async def failed(self, publication_id: str) -> Any:
        """A publication that has failed, with what it had asked for taken back; the old one serves."""
        shown = await self.publication(publication_id, "failed")
        assert shown["publication"]["reason"]
        assert [each["status"] for each in shown["intents"] if each["operation"] == "activate"] == []
        await self.still_serving()
        return shown["publication"]

    async def still_serving(self) -> None:
        """The slot is as it was, and stimuli are answered by what it selects."""
        # What was answered "active" is in the journal; the view that is asked here may be behind it for a moment.
        answer = await self._http.get("/v1/slots/errands/default", params={"position": self.position})
        assert answer.status_code == 200, answer.text
        slot = answer.json()["slot"]
        assert (slot["publicationId"], slot["revision"]) == (self.serving, self.revision)
        await self.load.answered(self.serving)

    def one(self, role: str) -> Member:
        """The first process of a role."""
        return self.fleet.of(role)[0]


@asynccontextmanager
async def walking(bootstrap: str, folder: Path) -> AsyncGenerator[tuple[Walk, KafkaLog, Topics], None]:
    """A fleet with one publication that serves and stimuli that come in."""
    prefix = f"walk{random.randrange(10**9)}"
    url = f"kafka://{bootstrap}?prefix={prefix}"
    topics = topics_of(Settings(log=url, routing_shards=2, executions_shards=2, stimuli_partitions=2))
    fleet = Fleet(url, folder, app="tests.support.errands", settings=ENVIRONMENT)
    path = [str(installed(folder / "site")), fleet.environment["PYTHONPATH"]]
    fleet.environment["PYTHONPATH"] = os.pathsep.join(path)
    code, output = await fleet.run("topics", "create")
    assert code == 0, output
    for role in ("publishing", "routing", "executions", "projector", "api"):
        fleet.add(role)
    log = KafkaLog(url)
    load = Load(log, topics)
    tasks: list[asyncio.Task[None]] = []
    try:
        await fleet.start()
        async with httpx.AsyncClient(base_url=fleet.api, timeout=WAIT_S + 30) as http:
            walk = Walk(fleet, http, load)
            await walk.publish(errand("v1"))
            tasks += [asyncio.create_task(load.follow(partition)) for partition in range(2)]
            tasks.append(asyncio.create_task(load.write()))
            await load.answered(walk.serving)
            yield walk, log, topics
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        await log.close()
        codes = await fleet.close()
    assert codes == [0] * len(codes)


@pytest.mark.soak
@pytest.mark.kafka
@pytest.mark.timeout(290)
async def test_the_old_publication_serves_through_every_failure_of_every_step(
    kafka_bootstrap: str, tmp_path: Path
) -> None:
    """Proves: PUB-08, PUB-10, PUB-11, PUB-12, PUB-13, PUB-16, PRJ-02, PRJ-03, PRJ-04, OWN-01."""
    async with walking(kafka_bootstrap, tmp_path) as (walk, log, topics):
        await _policy_and_slot(walk)
        await _compile(walk)
        await _claims(walk)
        await _validate(walk)
        await _artifact_and_stage(walk)
        await _prepare_until_the_deadline(walk)
        await _prepare_with_a_projector_that_dies(walk)
        await _observe(walk)
        await _compare_and_swap(walk)
        await _select(walk)
        walk.load.going = False
        await walk.load.all_answered()
        found = await _settled(log, topics)
        _judge(walk, found)


async def _policy_and_slot(walk: Walk) -> None:
    """A workflow that demands a named slot; a slot that is somebody's."""
    refused = await walk.publish(errand("demanding", publish={"explicit": True}), 400)
    assert (refused["kind"], refused["details"]["policySource"]) == ("invalid", "workflow")
    await walk.publish(errand("odd"), 400, slot="two\nlines")
    await walk.still_serving()


async def _compile(walk: Walk) -> None:
    """A document whose step takes what there is not."""
    wrong = {"id": "answer", "activity": "answer", "inputs": {"input": "nowhere"}}
    refused = await walk.publish(errand("wrong", steps=[wrong]), 400)
    assert refused["kind"] == "invalid"
    assert (await walk.failed(refused["details"]["publicationId"]))["failure"] == "invalid"


async def _claims(walk: Walk) -> None:
    """Somebody else has an endpoint that the candidate needs."""
    endpoint = {"type": "http", "method": "POST", "path": "/errands"}
    keeper = json.dumps({"name": "keeper", "triggers": [endpoint], "steps": [{"id": "pause", "sleep": "1h"}]})
    kept = await walk.publish(keeper)
    clashing = errand("clashing", triggers=[*ASKED, endpoint])
    looked = await walk.post("/v1/preflight", {"document": clashing})
    assert looked["action"] == "conflict"
    clash = await walk.publish(clashing, 409)
    assert [each["publicationId"] for each in clash["conflicts"]] == [kept["publicationId"]]
    assert (await walk.failed(clash["details"]["publicationId"]))["failure"] == "conflict"


async def _validate(walk: Walk) -> None:
    """A third party's validator objects; nothing was asked of anybody."""
    rooted = errand("rooted", triggers=[*ASKED, {"type": "http", "method": "GET", "path": "/"}])
    refused = await walk.publish(rooted, 400)
    assert "validator 'no-root' objects" in refused["message"]
    identity = refused["details"]["publicationId"]
    assert (await walk.failed(identity))["failure"] == "invalid"
    assert (await walk.publication(identity, "failed"))["intents"] == []


async def _artifact_and_stage(walk: Walk) -> None:
    """The owner of publishing is killed with a candidate that is saved and staged; another one takes it on."""
    walk.one("projector").send(signal.SIGSTOP)
    pending = await walk.publish(errand("v2"), 202, wait=0, commandId="v2")
    assert pending["status"] == "pending"
    assert pending["missing"]
    await walk.load.answered(walk.serving)
    await walk.one("publishing").kill()
    await walk.load.answered(walk.serving)
    await walk.one("publishing").start()
    walk.one("projector").send(signal.SIGCONT)
    await walk.publish(errand("v2"), commandId="v2")
    await walk.still_serving()


async def _prepare_until_the_deadline(walk: Walk) -> None:
    """The projector says nothing until the candidate's time is over."""
    walk.one("projector").send(signal.SIGSTOP)
    try:
        late = await walk.publish(errand("late"), 409, commandId="late")
        assert "trigger-index" in late["message"], late
        await walk.load.answered(walk.serving)
    finally:
        walk.one("projector").send(signal.SIGCONT)
    shown = await walk.failed(late["details"]["publicationId"])
    assert shown["reason"] == late["message"]


async def _prepare_with_a_projector_that_dies(walk: Walk) -> None:
    """The question is still there when the projector comes back, and so is the old publication until then."""
    await walk.one("projector").kill()
    pending = await walk.publish(errand("v3"), 202, wait=0, commandId="v3")
    assert pending["status"] == "pending"
    await walk.load.answered(walk.serving)
    await walk.one("projector").start()
    await walk.publish(errand("v3"), commandId="v3")
    await walk.still_serving()


async def _observe(walk: Walk) -> None:
    """A third party's observer raises when the rows are there; they are taken away again."""
    refused = await walk.publish(errand("observed", triggers=[*ASKED, {"type": "event", "name": "refused"}]), 409)
    assert "observer 'gateway' raised ConnectionError" in refused["message"]
    shown = await walk.failed(refused["details"]["publicationId"])
    assert shown["reason"] == refused["message"]


async def _compare_and_swap(walk: Walk) -> None:
    """A revision that is gone, one that never was, and two candidates that are staged on the same one."""
    lost = await walk.publish(errand("stale"), 409, expectRevision=walk.revision - 1)
    assert lost["kind"] == "superseded"
    await walk.publication(lost["details"]["publicationId"], "superseded")
    await walk.publish(errand("early"), 400, expectRevision=walk.revision + 1)
    await walk.still_serving()
    walk.one("projector").send(signal.SIGSTOP)
    rivals = ("rival-a", "rival-b")
    for each in rivals:
        await walk.publish(errand(each), 202, wait=0, commandId=each, expectRevision=walk.revision)
    await walk.load.answered(walk.serving)
    walk.one("projector").send(signal.SIGCONT)
    answers = await asyncio.gather(
        *(walk.try_publish(errand(each), commandId=each, expectRevision=walk.revision) for each in rivals)
    )
    [winner] = [found for status, found in answers if status == 200]
    [loser] = [found for status, found in answers if status == 409]
    assert loser["kind"] == "superseded"
    walk.took_over(winner)
    await walk.still_serving()


async def _select(walk: Walk) -> None:
    """The owner of the routing shards sleeps: the slot has moved, and "active" is not told until another one decides
    by it. What it dreams of after that counts for nothing."""
    sleeper = walk.one("routing")
    sleeper.send(signal.SIGSTOP)
    before = walk.serving
    pending = await walk.publish(errand("v4"), 202, wait=0, commandId="v4")
    shown = await walk.publication(pending["publicationId"], "active")
    assert (shown["pending"], shown["missingShards"], shown["publication"]["servedAtMs"]) == (True, [0, 1], None)
    await walk.publication(before, "retired")
    assert (await walk.publish(errand("v4"), 202, wait=1, commandId="v4"))["missing"]
    other = walk.fleet.add("routing")
    await other.start()
    await walk.publish(errand("v4"), commandId="v4")
    sleeper.send(signal.SIGCONT)
    await walk.load.answered(walk.serving)
    await walk.still_serving()


async def _settled(log: KafkaLog, topics: Topics) -> Histories:
    """The journals, once every run that was promised has ended."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await histories.read(log, topics, AvroCodec())
            decided = {
                start.execution_id
                for one in found.of(StimulusRouted)
                if isinstance(one.event, StimulusRouted)
                for start in one.event.starts
            }
            if decided == {stream.removeprefix("execution:") for stream in histories.outcomes(found)}:
                return found
            await asyncio.sleep(0.5)


def _judge(walk: Walk, found: Histories) -> None:
    histories.check_revisions(found)
    histories.check_starts(found)
    ours = _of_slot(found)
    histories.check_slot(ours)
    histories.check_each_by_its_authority(ours, "errand.asked")
    for answered_ms, publication_id in walk.active:
        histories.check_after_active(ours, answered_ms, publication_id)
    answered = [started for _, started in walk.load.answers]
    assert len(answered) == walk.load.sent
    assert set(answered) == {(publication_id,) for _, publication_id in walk.active}


def _of_slot(found: Histories) -> Histories:
    """The same without what became of other slots."""
    events = [
        each
        for each in found.events
        if not isinstance(event := each[2].event, PublicationActivated | SlotActivated) or event.slot_id == SLOT
    ]
    return Histories(found.codec, events, found.appends)
