"""The whole engine and its API in this process, on a memory log whose absence a test may order."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette

from interlock.activities import Activities, activity
from interlock.api import create_app, open_queries
from interlock.domain.definitions.providers import PROVIDERS, TriggerProvider
from interlock.domain.publishing.policy import HostPolicy
from interlock.log.faults import LANDS, SEEN, Answer, AskOutcome, SendOutcome
from interlock.log.group import MemoryPositions, ReadingGroup
from interlock.log.memory import FixedAssignment, MemoryLog
from interlock.log.port import Record, Shard
from interlock.processors.ports import Codec
from interlock.runtime import compose
from interlock.runtime.backend import Backend
from interlock.runtime.engine import Engine
from interlock.runtime.extensions import Extensions
from interlock.runtime.roles import ROLES, Role
from interlock.runtime.settings import Settings

WAIT_S = 20
"""How long a request waits for what the engine does in milliseconds; a machine may be busy."""


class Absence:
    """A log that is away while `away` is set: nothing lands, nothing can be asked."""

    def __init__(self) -> None:
        self.away = False

    def on_send(self, shard: Shard, batch: object) -> SendOutcome:
        """Refuses for the time being, or lands."""
        return SendOutcome(landings_s=(), answer=Answer.REFUSED) if self.away else LANDS

    def on_ask(self, shard: Shard) -> AskOutcome:
        """Unavailable, or seen."""
        return AskOutcome(unavailable=True) if self.away else SEEN


@activity
async def reserve(order: dict[str, object]) -> dict[str, object]:
    """The first step."""
    return {"reservation": order["id"]}


@activity
async def refuse(order: dict[str, object]) -> None:
    """A step that fails."""
    raise ValueError(f"expected stock for {order['id']}, found none")


@activity
async def linger(order: dict[str, object]) -> None:
    """A step that takes longer than a test."""
    await asyncio.sleep(3600)


def document(
    name: str = "orders", *, event: str = "order.placed", calls: str = "reserve", wait: str | None = None
) -> str:
    """A definition with a step, and a wait behind it where `wait` names an event."""
    steps: list[dict[str, object]] = [{"id": "first", "activity": calls, "inputs": {"order": "input"}}]
    if wait is not None:
        steps.append({"id": "payment", "wait": {"event": wait, "correlate": "input.id", "timeout": "2d"}})
    return json.dumps({"name": name, "triggers": [{"type": "event", "name": event}], "steps": steps})


@dataclass
class Service:
    """What a test talks to."""

    engine: Engine
    app: Starlette
    http: httpx.AsyncClient
    log: Absence

    async def get(self, path: str, **query: Any) -> Any:
        """The JSON of an answer that is expected to be 200."""
        answer = await self.http.get(path, params=query)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()

    async def post(self, path: str, body: object, status: int = 200) -> Any:
        """The JSON of an answer that is expected to have this status."""
        answer = await self.http.post(path, json=body)
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()

    async def publish(self, text: str | None = None, **more: object) -> Any:
        """Publishes a definition and waits until it is active."""
        return await self.post("/v1/publish", {"document": text or document(), "wait": WAIT_S, **more})

    async def emit(self, name: str = "order.placed", data: object = None, **more: object) -> str:
        """Emits a stimulus; its id."""
        body = {"type": "Event", "name": name, "data": data or {"id": "o-1"}, **more}
        found: str = (await self.post("/v1/stimuli", body, 202))["stimulusId"]
        return found

    async def started(self, **stimulus: Any) -> str:
        """The run that a new stimulus starts, once it can be shown; its id."""
        identity = await self.emit(**stimulus)
        detail = await self.get(f"/v1/stimuli/{identity}", wait=WAIT_S)
        found: str = detail["starts"][0]["executionId"]
        await self.get(f"/v1/runs/{found}", wait=WAIT_S, seen="nothing")
        return found


@asynccontextmanager
async def serving(
    data: Path,
    *,
    roles: tuple[Role, ...] = ROLES,
    activities: Activities | None = None,
    log: MemoryLog | None = None,
    codec: Codec | None = None,
    providers: Sequence[TriggerProvider] = PROVIDERS,
    extensions: Extensions | None = None,
    slot_policy: HostPolicy = "default",
    backlog_max_s: float = 300.0,
) -> AsyncGenerator[Service, None]:
    """A service from its start to its end; it is not said to be ready. `codec` is that of another release."""
    absence = Absence()
    log = log or MemoryLog(faults=absence)
    settings = Settings(
        log="memory:",
        data=data,
        routing_shards=2,
        executions_shards=2,
        stimuli_partitions=1,
        slot_policy=slot_policy,
        backlog_max_s=backlog_max_s,
    )
    presented = activities or Activities((reserve, refuse, linger))
    added = extensions or Extensions(providers=tuple(providers))
    engine = compose.build(settings, roles, presented, backend=_backend(log), extensions=added)
    parts = replace(engine.parts, codec=codec or engine.parts.codec)
    engine = Engine(settings, roles, parts)
    await engine.start()
    app = create_app(engine, open_queries(data / "views", engine.parts.codec))
    context = app.state.context
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://api", timeout=60) as http:
            yield Service(engine, app, http, absence)
    finally:
        absence.away = False
        context.stop()
        context.close()
        await engine.close()


@asynccontextmanager
async def ready(data: Path, log: MemoryLog | None = None) -> AsyncGenerator[Service, None]:
    """A service that serves."""
    async with serving(data, log=log) as service:
        await service.get("/health/ready", wait=WAIT_S)
        yield service


def _backend(log: MemoryLog) -> Backend:
    return Backend(
        log=log,
        admin=log,
        assign=lambda _, partitions: FixedAssignment(frozenset(range(partitions))),
        stimuli=lambda topic, partitions: ReadingGroup(
            log, {topic: FixedAssignment(frozenset(range(partitions)))}, MemoryPositions()
        ),
        close=log.close,
        makes_topics=True,
    )


def record(value: bytes) -> Record:
    """A record of the topic `stimuli`, as any client writes it."""
    return Record(b"any", value)
