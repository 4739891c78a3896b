"""Lets the engine tell a history: a few users, everything that may happen to a run once, and a takeover of every shard.

tell: what landed, in its order, as a `Story` · live: the same with a judge who watches
"""

import asyncio
import json
import random
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from interlock.domain import sharding
from interlock.domain.executions.execution.decide import Invocation
from interlock.domain.executions.execution.events import BookmarkCreated, ExecutionStarted
from interlock.domain.messages import CancelExecution, Publish, RepairProjection, Restore, StartTestRun, Unpublish
from interlock.domain.progress import Progress
from interlock.log.faults import LANDS, SEEN, AskOutcome, SendOutcome
from interlock.log.group import MemoryPositions, ReadingGroup
from interlock.log.memory import FixedAssignment, MemoryBroker, MemoryLog
from interlock.log.port import Record, Shard
from interlock.processors.ports import Bounds
from interlock.runtime.backend import Backend
from interlock.runtime.engine import Engine, Parts
from interlock.runtime.gateway import Gateway
from interlock.runtime.roles import Role
from interlock.runtime.topics import topic_specs
from interlock.testing.virtual_time import LoopClock, run_virtual
from tests.simulation.checks import Seen, Violation
from tests.simulation.checks.judge import Judge
from tests.simulation.checks.story import CODEC, SETTINGS, TOPICS, Asked, Decided, Heard, Landed, Step, Story, Written
from tests.simulation.checks.tape import Home
from tests.simulation.checks.trials import reference_of, run_of
from tests.simulation.ledger import Command, Ledger, Sent, Told


class _Late:
    """Withdrawals of waits land three seconds late, so that a stimulus may take a wait that is over."""

    def on_send(self, shard: Shard, batch: Sequence[Record]) -> SendOutcome:
        """At once, but for withdrawals."""
        names = {dict(record.headers).get("type") for record in batch}
        return SendOutcome(landings_s=(3.0,)) if b"messages.WithdrawWait" in names else LANDS

    def on_ask(self, shard: Shard) -> AskOutcome:
        """At once."""
        return SEEN


class _Chores:
    """Activities that are done at once."""

    def serves(self, activity: str) -> bool:
        """All of them."""
        return True

    async def invoke(self, invocation: Invocation) -> str:
        """Takes a moment."""
        await asyncio.sleep(0.01)
        return json.dumps({"by": invocation.activity})


class Teller:
    """Runs the engine, and keeps what lands."""

    def __init__(self, data: Path) -> None:
        loop = asyncio.get_running_loop()
        self.clock = LoopClock(loop)
        self.broker = MemoryBroker(self.clock.now_ms)
        for spec in topic_specs(SETTINGS):
            self.broker.create(spec)
        self.log = MemoryLog(self.broker, faults=_Late())
        self.users = MemoryLog(self.broker)
        self.steps: list[Step] = []
        self.ledger = Ledger()
        self.assignments: dict[str, tuple[FixedAssignment, int]] = {}
        chance = random.Random(1)
        backend = Backend(
            log=self.log,
            admin=self.log,
            assign=self._assign,
            stimuli=lambda topic, partitions: ReadingGroup(
                self.log, {topic: FixedAssignment(frozenset(range(partitions)))}, MemoryPositions()
            ),
            close=self.log.close,
            makes_topics=True,
        )
        parts = Parts(
            backend=backend,
            codec=CODEC,
            clock=self.clock,
            ids=lambda: f"{chance.getrandbits(128):032x}",
            invoker=_Chores(),
            chance=chance,
            bounds=Bounds(),
        )
        roles: tuple[Role, ...] = ("publishing", "routing", "executions", "projector")
        self.engine = Engine(SETTINGS.model_copy(update={"data": data}), roles, parts)
        self.gateway = Gateway(self.users, CODEC, TOPICS)
        self.views = data / "views"

    def judge(self) -> Judge:
        """A judge of this very run."""
        seen = Seen(
            log=self.users,
            topics=TOPICS,
            codec=CODEC,
            ledger=self.ledger,
            now_ms=self.clock.now_ms,
            engines=lambda: [self.engine],
            views=lambda: self.views,
            references_ms=SETTINGS.test_reference_s * 1000,
        )
        return Judge(seen)

    def _assign(self, topic: str, partitions: int) -> FixedAssignment:
        assignment = FixedAssignment(frozenset(range(partitions)))
        self.assignments[topic] = assignment, partitions
        return assignment

    async def move(self) -> None:
        """Every shard is given up and taken over."""
        for assignment, _ in self.assignments.values():
            assignment.assign(frozenset())
        await asyncio.sleep(1.0)
        for assignment, partitions in self.assignments.values():
            assignment.assign(frozenset(range(partitions)))
        await asyncio.sleep(1.0)

    def restore(self, command_id: str) -> Restore:
        """Asks for the publication that had authority before the present one."""
        return Restore(
            command_id=command_id,
            shell="default",
            definition_id="orders",
            slot=None,
            publication_id=None,
            expect_revision=None,
            requested_by="client",
            requested_at_ms=1_700_000_000_000,
        )

    def repair(self) -> RepairProjection:
        """What a reconciler asks for that found the first publication's rows wrong."""
        return RepairProjection(
            command_id="repair",
            reconciliation_id="pass",
            shell="default",
            kind="trigger-index",
            publication_id=sharding.digest("publication", "default", "v2"),
            standing="active",
            revision=2,
            position=1,
            holder="somebody's",
            missing=1,
            foreign=0,
            flipped=0,
            changed=0,
            requested_by="",
        )

    async def ask(self, what: Command) -> None:
        """Sends a command and hears its answer."""
        entry = self._sends(what, None)
        if isinstance(what, Publish | Restore | Unpublish):
            answer = await self.gateway.publish(what, 30.0)
        elif isinstance(what, StartTestRun):
            answer = await self.gateway.start_test_run(what, 30.0)
        elif isinstance(what, RepairProjection):
            answer = await self.gateway.repair(what, 30.0)
        else:
            answer = await self.gateway.cancel(what, 30.0)
        assert answer.status != "pending", answer
        self._hears(entry, Told(self.clock.now_ms(), answer.status, answer.body))
        await asyncio.sleep(0.1)

    async def emit(self, value: dict[str, object] | bytes) -> None:
        """Writes a stimulus."""
        data = value if isinstance(value, bytes) else json.dumps({"type": "Event", **value}).encode()
        shard = TOPICS.user("stimuli")
        entry = self._sends(data, shard)
        offset = await self.users.send(shard, [Record(b"any", data)])
        self._hears(entry, Told(self.clock.now_ms(), "landed", {}, offset))
        await asyncio.sleep(1.0)

    def _sends(self, what: Command | bytes, shard: Shard | None) -> Sent:
        self.steps.append(Asked(self.clock.now_ms(), what, shard))
        return self.ledger.send("client", self.clock.now_ms(), what, shard)

    def _hears(self, entry: Sent, told: Told) -> None:
        self.steps.append(Heard(entry.number, told))
        entry.told.append(told)

    async def order(self, order_id: str, key: str = "") -> None:
        """Places an order."""
        await self.emit({"name": "order.placed", "data": {"order_id": order_id}, "idempotencyKey": key or order_id})

    async def pay(self, order_id: str, key: str, **more: object) -> None:
        """Pays an order."""
        payment: dict[str, object] = {"name": "payment.received", "data": {"for": order_id}, "correlation": order_id}
        await self.emit({**payment, "idempotencyKey": key, **more})

    def run_of(self, order_id: str) -> str:
        """The run that an order has started."""
        for shard in _shards():
            for stored in self.broker.partition(shard).records:
                if dict(stored.headers).get("type") == b"executions.ExecutionStarted":
                    event = CODEC.decode(stored.value)
                    assert isinstance(event, ExecutionStarted)
                    if order_id in event.data:
                        return event.execution_id
        raise LookupError(f"expected a run of {order_id}, found none")

    def waits_until(self, run: str) -> int:
        """When the wait of a run is over, in milliseconds since 1970."""
        for shard in _shards():
            for stored in self.broker.partition(shard).records:
                if dict(stored.headers).get("type") == b"executions.BookmarkCreated" and run in stored.key.decode():
                    event = CODEC.decode(stored.value)
                    assert isinstance(event, BookmarkCreated)
                    assert event.expires_at_ms is not None
                    return event.expires_at_ms
        raise LookupError(f"expected {run} to wait, found that it doesn't")

    def land(self, shard: Shard, batch: Sequence[Record]) -> None:
        """Keeps a batch that has landed."""
        at_ms = self.clock.now_ms()
        home = next((one for one in _homes() if TOPICS.journal(*one) == shard), None)
        if home is None:
            self.steps.append(Landed(at_ms, shard, list(batch)))
            return
        frame = dict(batch[0].headers)
        progress = CODEC.decode(batch[0].value)
        assert isinstance(progress, Progress)
        written = [_written(record) for record in batch[1:]]
        opened, owner = frame["opened"] == b"1", frame["owner"].decode()
        self.steps.append(Decided(at_ms, home, opened, owner, progress, written))


def _homes() -> Iterable[Home]:
    return [(context, partition) for context, count in TOPICS.partitions.items() for partition in range(count)]


def _written(record: Record) -> Written:
    headers = dict(record.headers)
    placed = ("kind", "append", "size", "owner", "index", "position", "type", "revision", "number", "destination")
    kept = tuple((name, value) for name, value in record.headers if name not in placed)
    kind, destination = headers["kind"].decode(), headers.get("destination", b"").decode()
    return Written(kind, record.key.decode(), CODEC.decode(record.value), kept, destination)


def document(name: str, trigger: str, tail: str) -> str:
    """A workflow with an activity, a wait, a sleep and another activity."""
    wait = {"event": "payment.received", "correlate": "input.order_id", "timeout": "1m"}
    return json.dumps(
        {
            "name": name,
            "triggers": [{"type": "event", "name": trigger}],
            "steps": [
                {"id": "reserve", "activity": "reserve", "inputs": {"order": "input"}},
                {"id": "payment", "wait": wait},
                {"id": "pause", "sleep": "5s"},
                {"id": tail, "activity": tail},
            ],
        }
    )


async def _tell(data: Path) -> Story:
    teller = Teller(data)
    partition_type = type(teller.broker.partition(TOPICS.journal("publishing", 0)))
    original = partition_type.land

    def land(partition: Any, batch: Sequence[Record], now_ms: int) -> int:
        shard = next((one for one in _shards() if teller.broker.partition(one) is partition), None)
        if shard is not None:
            teller.land(shard, batch)
        return original(partition, batch, now_ms)

    setattr(partition_type, "land", land)  # noqa: B010 - it is put back below
    listening = asyncio.create_task(teller.gateway.run())
    try:
        await teller.engine.start()
        await _happen(teller)
    finally:
        setattr(partition_type, "land", original)  # noqa: B010
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening
        await teller.engine.close()
    return Story(teller.steps)


def _shards() -> list[Shard]:
    return [Shard(spec.name, partition) for spec in topic_specs(SETTINGS) for partition in range(spec.partitions)]


async def _happen(teller: Teller) -> None:
    """One of everything."""
    await teller.ask(_publish("v1", document("orders", "order.placed", "ship"), None))
    await teller.ask(_publish("other", document("alerts", "alert.raised", "tell"), None))
    await teller.order("o1")
    await teller.pay("o1", "p1")
    await teller.pay("o2", "p2", ttl="PT1H")
    await teller.pay("o2", "p2 again", ttl="PT1H")
    await teller.order("o2")
    await teller.order("o3")
    run = teller.run_of("o3")
    await teller.ask(CancelExecution(command_id="c1", execution_id=run, requested_by="client", reason=""))
    await teller.ask(CancelExecution(command_id="c2", execution_id=run, requested_by="client", reason=""))
    await teller.emit(b"\xff no stimulus")
    await teller.order("o1 again", key="o1")
    await teller.order("o1", key="o1")
    await teller.pay("nobody", "p9", ttl="PT5S")
    await teller.move()
    await teller.ask(_publish("v2", document("orders", "order.placed", "deliver"), 1))
    await teller.ask(_publish("stale", document("orders", "order.placed", "late"), 1))
    await teller.order("o4")
    await teller.ask(_unpublish("u1", "alerts", None))
    await teller.ask(_unpublish("u2", "alerts", None))
    await teller.ask(_unpublish("u3", "orders", 1))
    await teller.ask(teller.repair())
    over_ms = teller.waits_until(teller.run_of("o4"))
    await asyncio.sleep(10.0)
    await teller.order("o4", key="o4 too")
    # The first wait's time is over, which routing hears of only later: what it takes is declined, and offered again.
    await asyncio.sleep((over_ms - teller.clock.now_ms()) / 1000 + 0.5)
    await teller.pay("o4", "p4", ttl="PT1H", deliver="one")
    await teller.ask(teller.restore("back"))
    await teller.ask(_trial("t1", document=document("orders", "order.placed", "try")))
    await teller.ask(_trial("t2", reference_id=reference_of("default", "t1")))
    await teller.pay("o1", "p5", testRun=run_of("default", "t2"))
    await teller.ask(_trial("t3", definition_id="orders", version="of nobody"))
    await teller.ask(_trial("v2", document=document("orders", "order.placed", "try")))
    await asyncio.sleep(120.0)
    await teller.ask(_trial("t4", reference_id=reference_of("default", "t1")))


def _trial(
    command_id: str, *, document: str = "", definition_id: str = "", version: str = "", reference_id: str = ""
) -> StartTestRun:
    return StartTestRun(
        command_id=command_id,
        shell="default",
        document=document,
        definition_id=definition_id,
        version=version,
        reference_id=reference_id,
        data='{"order_id":"o1"}',
        requested_by="client",
        requested_at_ms=1_700_000_000_000,
    )


def _publish(command_id: str, text: str, expect_revision: int | None) -> Publish:
    return Publish(
        command_id=command_id,
        shell="default",
        document=text,
        slot=None,
        expect_revision=expect_revision,
        requested_by="client",
        requested_at_ms=1_700_000_000_000,
    )


async def _live(data: Path, then: Callable[["Teller", Judge], None]) -> str:
    teller = Teller(data)
    judge = teller.judge()
    listening = asyncio.create_task(teller.gateway.run())
    happening = asyncio.create_task(asyncio.sleep(0))
    try:
        with judge.watching():
            await teller.engine.start()
            happening = asyncio.create_task(_happen(teller))
            while not happening.done():
                await asyncio.wait([happening], timeout=3.0)
                await judge.look()
                await judge.compare()
            happening.result()
            then(teller, judge)
            await judge.ended()
    except Violation as violation:
        if violation.__cause__ is not None:
            import traceback

            traceback.print_exception(violation.__cause__)
        return violation.rule
    finally:
        happening.cancel()
        await asyncio.gather(happening, return_exceptions=True)
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening
        await teller.engine.close()
    return ""


def live(then: Callable[["Teller", Judge], None] = lambda _, __: None) -> str:
    """The rule that a judge finds broken who watches while the history happens; `then` happens before it ends."""
    with tempfile.TemporaryDirectory() as data:
        return run_virtual(_live(Path(data), then))


def _unpublish(command_id: str, definition_id: str, expect_revision: int | None) -> Unpublish:
    return Unpublish(
        command_id=command_id,
        shell="default",
        definition_id=definition_id,
        slot=None,
        expect_revision=expect_revision,
        requested_by="client",
        requested_at_ms=1_700_000_000_000,
    )


def tell() -> Story:
    """The history: two definitions, a republish, and runs that end in every way."""
    with tempfile.TemporaryDirectory() as data:
        return run_virtual(_tell(Path(data)))
