"""Two releases on one log: the newer one reads all that the older one wrote, wherever it stands; the older one leaves
alone what the newer one wrote, and says so. The two differ in every stored type (`tests.support.releases`)."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from interlock.domain.messages import Origin, RouteStimulus
from interlock.domain.routing import intake
from interlock.domain.sharding import routing_key
from interlock.log.frame import is_event
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Record, Shard, Stored
from interlock.log.schema_topic import SchemaTopic
from interlock.processors.mail import Cause, client_record
from interlock.processors.ports import Codec
from interlock.runtime.clock import wall_ms
from interlock.runtime.settings import Settings
from interlock.runtime.topics import topics_of
from tests.api.service import WAIT_S, Service, document, serving
from tests.support.held_up import HeldUp
from tests.support.releases import NewerRelease, OlderRelease

TOPICS = topics_of(Settings(routing_shards=2, executions_shards=2, stimuli_partitions=1))
CADENCES = ("immediate", "coalesced")


class Installation:
    """A log that outlives the releases which serve on it."""

    def __init__(self, folder: Path) -> None:
        self.newer = NewerRelease(folder / "schemas")
        self.older = OlderRelease(self.newer)
        self.broker = MemoryBroker()
        self.held = HeldUp()
        self.data = folder / "data"

    @asynccontextmanager
    async def serving(self, codec: Codec, data: Path | None = None) -> AsyncGenerator[Service, None]:
        """A process of one release; it is not said to be ready."""
        async with serving(data or self.data, log=self.log(), codec=codec) as service:
            yield service

    def log(self) -> MemoryLog:
        """One more connection."""
        return MemoryLog(self.broker, faults=self.held)

    async def records(self, name: str, partitions: int = 2) -> list[Stored]:
        """Everything in a topic."""
        log, found = self.log(), list[Stored]()
        for partition in range(partitions):
            shard = Shard(f"{TOPICS.prefix}.{name}", partition)
            end = await log.end(shard)
            found += await log.reader(shard, 0).read(0) if end else []
        await log.close()
        return found

    async def send(self, shard: Shard, record: Record) -> None:
        """Writes a record."""
        log = self.log()
        await log.send(shard, [record])
        await log.close()

    async def settled(self, service: Service) -> None:
        """Returns once the payments that are owed are decided: taken, and promised to their runs."""

        async def taken() -> bool:
            records = await self.records("routing.journal")
            return sum(dict(each.headers).get("type") == b"routing.WaitTaken" for each in records) == 4

        await until(taken)

    async def journals(self) -> dict[str, list[Stored]]:
        """Context → all records of its journal."""
        counts = {"publishing": 1, "routing": 2, "executions": 2}
        return {context: await self.records(f"{context}.journal", count) for context, count in counts.items()}


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    """Looks again and again until it is so."""
    async with asyncio.timeout(WAIT_S):
        while True:
            if await look():
                return
            await asyncio.sleep(0.01)


async def becomes(service: Service, run: str, *statuses: str) -> Any:
    """The run, once its status is one of these."""
    seen = ""
    async with asyncio.timeout(WAIT_S):
        while True:
            found = await service.get(f"/v1/runs/{run}", wait=1, seen=seen)
            if found["run"]["status"] in statuses:
                return found
            seen = found["mark"]


async def order(service: Service, name: str, cadence: str, *, status: str = "waiting") -> str:
    """A run of an order, once it waits for its payment."""
    run = await service.started(name=f"order.{cadence}", data={"id": name}, idempotencyKey=name)
    await becomes(service, run, status)
    return run


async def pay(service: Service, name: str, **more: object) -> str:
    """Pays an order; the stimulus's id, once it was routed."""
    found = await service.emit("paid", {"id": name}, correlation=name, idempotencyKey=f"pay-{name}", **more)
    await service.get(f"/v1/stimuli/{found}", wait=WAIT_S)
    return found


def paid(name: str, codec: Codec) -> tuple[Shard, Record]:
    """A payment as an API of some release writes it, and the inbox where it belongs."""
    message = intake.read_stimulus(
        json.dumps({"type": "Event", "name": "paid", "correlation": name, "idempotencyKey": f"pay-{name}"}).encode(),
        origin=Origin(channel="test"),
        arrived_at_ms=wall_ms(),
        shell="default",
        bytes_max=10_000,
        request_id="1",
    )
    assert isinstance(message, RouteStimulus)
    key = routing_key("default", message.identity, message.correlation)
    inbox = TOPICS.inbox("routing", TOPICS.partition("routing", key))
    return inbox, client_record(codec, key, message, Cause("test", message.stimulus_id, ""))


async def publish(service: Service, cadence: str) -> None:
    """Orders that wait for a payment, with checkpoints of this cadence."""
    text = document(cadence, event=f"order.{cadence}", wait="paid")
    await service.publish(json.dumps(json.loads(text) | {"checkpoints": cadence}))


async def history(service: Service, stream: str) -> list[Any]:
    """What has happened to an aggregate."""
    found: list[Any] = (await service.get(f"/v1/history/{stream}"))["items"]
    return found


@pytest.mark.parametrize("views", ["kept", "anew"])
async def test_a_newer_release_reads_all_that_an_older_one_wrote(installation: Installation, views: str) -> None:
    """Proves: LOG-04

    In journals: by the owner of a shard, by replicas, by views that go on and views that are filled anew, by the
    history; also what is nested in coalesced checkpoints. In inboxes, and as promises that nobody has delivered.
    """
    async with installation.serving(installation.older) as old:
        await old.get("/health/ready", wait=WAIT_S)
        runs: dict[str, str] = {}
        for cadence in CADENCES:
            await publish(old, cadence)
            for state in ("done", "waits", "owed"):
                runs[f"{state}-{cadence}"] = await order(old, f"{state}-{cadence}", cadence)
            await pay(old, f"done-{cadence}")
            await becomes(old, runs[f"done-{cadence}"], "completed")
        await pay(old, "early", ttl="PT1H")
        installation.held.topics = ".executions.inbox"
        for cadence in CADENCES:
            await pay(old, f"owed-{cadence}")
        streams = [*(f"execution:{run}" for run in runs.values()), *(f"{cadence}/default" for cadence in CADENCES)]
        told = [await history(old, stream) for stream in streams]
        ended = [await old.get(f"/v1/runs/{runs[f'done-{cadence}']}") for cadence in CADENCES]
        slots, publications = await old.get("/v1/slots"), await old.get("/v1/publications")
        await installation.settled(old)
    written = await installation.journals()
    await installation.send(*paid("waits-immediate", installation.older))
    installation.held.topics = "none"
    types = {dict(each.headers).get("type", b"") for each in written["executions"]}
    assert {b"executions.CheckpointsCoalesced", b"executions.ActivityCompleted"} <= types
    assert all(installation.older.wrote(each.value) for records in written.values() for each in records)

    data = installation.data if views == "kept" else installation.data.with_name("anew")
    async with installation.serving(installation.newer, data) as new:
        await new.get("/health/ready", wait=WAIT_S)
        for stream, before in zip(streams, told, strict=True):
            assert (await history(new, stream))[: len(before)] == before
        assert [await new.get(f"/v1/runs/{runs[f'done-{cadence}']}") for cadence in CADENCES] == ended
        assert (await new.get("/v1/slots"), await new.get("/v1/publications")) == (slots, publications)
        for name in ("owed-immediate", "owed-coalesced", "waits-immediate"):
            await becomes(new, runs[name], "completed")
        await pay(new, "waits-coalesced")
        await becomes(new, runs["waits-coalesced"], "completed")
        await order(new, "early", "immediate", status="completed")
        assert (await new.get("/v1/dead-letters"))["items"] == []
        for name, view in new.engine.views.items():
            rebuilt = await view.rebuild(compare=True)
            assert rebuilt.replaced_digest == rebuilt.rebuilt_digest != "", name
    for context, records in (await installation.journals()).items():
        added = set(records) - set(written[context])
        assert added or context == "publishing"
        assert not any(installation.older.wrote(each.value) for each in added if is_event(each))


async def test_a_message_of_a_newer_release_is_left_to_it(installation: Installation) -> None:
    """Proves: LOG-04"""
    async with installation.serving(installation.older) as old:
        await old.get("/health/ready", wait=WAIT_S)
        await publish(old, "immediate")
        run = await order(old, "o", "immediate")
        await SchemaTopic(installation.log(), TOPICS.user("schemas")).register(installation.newer.schemas())
        inbox, record = paid("o", installation.newer)
        await installation.send(inbox, record)
        [problem] = await problems(old)
        assert f"this release doesn't know the messages.RouteStimulus v2 at {inbox}@" in problem
        assert "upgrade this process" in problem
    assert await installation.records("dead-letters", 1) == []
    async with installation.serving(installation.newer) as new:
        await becomes(new, run, "completed")
        types = [each["type"] for each in await history(new, f"execution:{run}")]
        assert types.count("executions.BookmarkConsumed") == 1
        assert (await new.get("/v1/dead-letters"))["items"] == []


async def test_what_only_looks_like_a_message_is_a_dead_letter_and_holds_nothing_up(installation: Installation) -> None:
    """Proves: LOG-04 (a fingerprint that no release has registered is nobody's)."""
    async with installation.serving(installation.older) as old:
        await old.get("/health/ready", wait=WAIT_S)
        await publish(old, "immediate")
        run = await order(old, "o", "immediate")
        inbox, record = paid("o", installation.newer)
        for value in (record.value, b"\xc3\x01" + b"nobody's", record.value, b"\xc3\x01", b"\xc3\x01short"):
            await installation.send(inbox, Record(record.key, value, record.headers))
        await installation.send(*paid("o", installation.older))
        await becomes(old, run, "completed")
        letters = (await old.get("/v1/dead-letters"))["items"]
        assert [each["reason"] for each in letters] == ["unreadable"] * 5
        await old.get("/health/live")


async def test_an_older_release_stands_still_before_what_a_newer_one_has_written(installation: Installation) -> None:
    """Proves: LOG-04"""
    async with installation.serving(installation.newer) as new:
        await new.get("/health/ready", wait=WAIT_S)
        await publish(new, "immediate")
        run = await order(new, "o", "immediate")
        told = await history(new, f"execution:{run}")
    written = await installation.journals()
    async with installation.serving(installation.older) as old:
        found = await problems(old, count=6)
        assert all("this release doesn't know the schema" in each and "upgrade" in each for each in found), found
        answer = await old.http.get(f"/v1/history/execution:{run}")
        assert answer.status_code == 500
        assert "this release doesn't know" in answer.json()["message"]
    assert await installation.journals() == written
    async with installation.serving(installation.newer) as new:
        await pay(new, "o")
        await becomes(new, run, "completed")
        assert (await history(new, f"execution:{run}"))[: len(told)] == told


async def test_a_view_of_an_older_release_stops_before_an_event_of_a_newer_one(installation: Installation) -> None:
    """Proves: LOG-04"""
    async with installation.serving(installation.newer) as new:
        await new.get("/health/ready", wait=WAIT_S)
        await publish(new, "immediate")
        await order(new, "o", "immediate")
    async with installation.serving(installation.older, installation.data.with_name("anew")) as old:
        for name in old.engine.views.keys() - {"history"}:
            await until(partial(stopped, old, name))
            error = (await old.get(f"/v1/projections/{name}"))["error"]
            assert "this release can read" in error
            assert "run a release that knows it" in error


async def stopped(service: Service, view: str) -> bool:
    """Whether a view stands still."""
    return bool((await service.get(f"/v1/projections/{view}"))["state"] == "stopped")


async def problems(service: Service, count: int = 1) -> list[str]:
    """What stands still, once it is so many things."""
    async with asyncio.timeout(WAIT_S):
        while True:
            found: list[str] = (await service.http.get("/health/live")).json()["problems"]
            if len(found) >= count:
                return found
            await asyncio.sleep(0.01)
