"""Orders and payments through storms: crashes, pauses, moved and doubly owned shards, a republish in the middle."""

import asyncio
import json
from pathlib import Path

import pytest

from interlock.domain.messages import Publish
from interlock.log.port import LogError, Record
from interlock.runtime.gateway import Answer, Gateway
from interlock.testing.virtual_time import run_virtual
from tests.simulation.world import World
from tests.support import deliveries
from tests.support import histories as judge

STORM_S = 60.0
ORDERS = 40


def document(tail: str) -> str:
    """A workflow that waits for a payment between two activities; `tail` makes one version differ from another."""
    return json.dumps(
        {
            "name": "orders",
            "triggers": [{"type": "event", "name": "order.placed"}],
            "steps": [
                {"id": "reserve", "activity": "reserve", "inputs": {"order": "input"}},
                {
                    "id": "payment",
                    "wait": {"event": "payment.received", "correlate": "input.order_id", "timeout": "10m"},
                },
                {"id": tail, "activity": tail, "inputs": {"order": "input"}},
            ],
        }
    )


class Client:
    """Writes stimuli and commands as any client does: again after a doubt, under the same key."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.gateway = Gateway(world.quiet, world.codec, world.topics, read_wait_s=1.0)
        self.orders = 0

    async def publish(self, command_id: str, text: str) -> Answer:
        """Until it is answered."""
        now_ms = self.world.clock.now_ms()
        message = Publish(
            command_id=command_id,
            shell="default",
            document=text,
            slot=None,
            expect_revision=None,
            requested_by="client",
            requested_at_ms=now_ms,
        )
        while True:
            answer = await self.gateway.publish(message, 20.0)
            if answer.status != "pending":
                return answer

    async def emit(self, name: str, order_id: str, *, key: str, ttl: str | None = None) -> None:
        """Writes one stimulus, sometimes twice."""
        chance = self.world.chance
        body: dict[str, object] = {"type": "Event", "name": name, "data": {"order_id": order_id}, "idempotencyKey": key}
        body |= {"correlation": order_id} if name == "payment.received" else {}
        body |= {} if ttl is None else {"ttl": ttl}
        for _ in range(1 if chance.random() < 0.8 else 2):
            await self._write(json.dumps(body).encode())

    async def _write(self, value: bytes) -> None:
        shard = self.world.topics.user("stimuli", self.world.chance.randrange(2))
        while True:
            try:
                await self.world.quiet.send(shard, [Record(b"any", value)])
            except LogError:
                await asyncio.sleep(0.1)
            else:
                return

    async def order(self, number: int) -> None:
        """Places an order and pays it, now and then before."""
        chance = self.world.chance
        order_id = f"o{number}"
        await asyncio.sleep(chance.uniform(0.0, STORM_S))
        if chance.random() < 0.3:
            await self.emit("payment.received", order_id, key=f"p{number}", ttl="1h")
            await asyncio.sleep(chance.uniform(0.0, 3.0))
            await self.emit("order.placed", order_id, key=order_id)
        else:
            await self.emit("order.placed", order_id, key=order_id)
            await asyncio.sleep(chance.uniform(0.0, 10.0))
            await self.emit("payment.received", order_id, key=f"p{number}", ttl="1h")
        if chance.random() < 0.1:
            await self._write(chance.choice((b"\xff\x00", b'{"type":"Nope"}', b"[]")))
        self.orders += 1


async def _storm(seed: int, data: Path, checkpoints: str) -> None:
    world = World(seed, data, checkpoints=checkpoints)
    client = Client(world)
    listening = asyncio.create_task(client.gateway.run())
    await world.start()
    first = await client.publish("v1", document("ship"))
    assert first.status == "done", first
    storm = asyncio.create_task(world.storm(STORM_S))
    orders = [asyncio.create_task(client.order(number)) for number in range(ORDERS)]
    await asyncio.sleep(world.chance.uniform(5.0, 40.0))
    second = await client.publish("v2", document("deliver"))
    assert second.status == "done", second
    arrived_after = world.clock.now_ms()
    for number in range(ORDERS, ORDERS + 10):
        await client.emit("order.placed", f"o{number}", key=f"o{number}")
        await client.emit("payment.received", f"o{number}", key=f"p{number}", ttl="1h")
    await asyncio.gather(storm, *orders)
    histories = await _settled(world)
    judge.check_revisions(histories)
    judge.check_starts(histories)
    judge.check_waits(histories)
    judge.check_slot(histories)
    judge.check_each_by_its_authority(histories, "order.placed")
    assert judge.owed(histories) == []
    assert len(judge.started(histories)) == ORDERS + 10
    assert set(judge.outcomes(histories).values()) == {"ExecutionCompleted"}
    judge.check_after_active(histories, arrived_after, str(second.body["publicationId"]))
    arrived = await deliveries.read(world.quiet, world.topics, histories)
    deliveries.check_promises(arrived)
    deliveries.check_marks(arrived)
    deliveries.check_answers(arrived)
    assert deliveries.undelivered(arrived) == []
    listening.cancel()
    await world.close()


async def _settled(world: World) -> judge.Histories:
    """Waits, in calm weather, until every run has ended."""
    histories = await judge.read(world.quiet, world.topics, world.codec)
    for _ in range(400):
        await asyncio.sleep(5.0)
        histories = await judge.read(world.quiet, world.topics, world.codec)
        if len(judge.started(histories)) == ORDERS + 10 and not judge.unfinished(histories):
            return histories
    faults = [fault for one in world.processes if one.engine is not None for fault in one.engine.faults()]
    raise AssertionError(
        f"{len(judge.started(histories))} started, unfinished {judge.unfinished(histories)[:3]}, faults {faults}"
    )


@pytest.mark.simulation
@pytest.mark.parametrize("checkpoints", ["immediate", "coalesced"])
@pytest.mark.parametrize("seed", range(10))
def test_every_order_is_done_once_by_one_authority(seed: int, checkpoints: str, tmp_path: Path) -> None:
    """Proves: PUB-11, PUB-16, PRJ-04, STM-04, STM-05, EXE-02, CHK-01, CHK-02, BKM-03, OWN-01, LOG-06."""
    run_virtual(_storm(seed, tmp_path, checkpoints))
