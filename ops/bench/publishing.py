"""Publishing at scale: many slots with claims, publishes at a steady rate with preflights beside, starts of a replica.

One process with every role has thousands of slots behind it (`ops/bench/history.py`), and its caller publishes a
changed workflow to one slot after another. A publish is measured from the request until its caller hears "active",
which is when every routing shard decides at it. A preflight is what the API does for one: it waits until the replica
knows all that is in the journal, and looks ahead. Both wait for their turn on the one loop that also does everything
else, so their tails tell what holds it up.
"""

import asyncio
import time
from multiprocessing.connection import Connection
from typing import NamedTuple

import uvloop

from interlock.domain.publishing.candidate import Wish
from interlock.domain.publishing.preflight import Preflight, preflight
from interlock.domain.publishing.shard import PublishingShard
from interlock.processors.replica import AuthorityReplica
from interlock.processors.snapshots import Keeper
from interlock.runtime import compose, garbage
from interlock.runtime.engine import Engine
from interlock.runtime.snapshot_files import SnapshotFiles
from interlock.runtime.topics import topic_specs, topics_of
from interlock.schemas.codec import AvroCodec
from ops.bench.engine import until_ready
from ops.bench.figures import used
from ops.bench.history import SHELL, document, request, write_history
from ops.bench.process import answer
from ops.bench.sampling import sampled
from ops.bench.stalls import stalls
from ops.bench.work import Echo, Scenario

LOOK_S = 0.001
READY_S = 540.0
"""A first start projects the whole history."""
HOT_FUNCTIONS = 25


class Start(NamedTuple):
    """One start of a replica that knows all of publishing, as a process with the API has it."""

    seconds: float
    cpu_s: float


class Steady(NamedTuple):
    """What was asked at a steady rate."""

    publishes_ms: list[float]
    preflights_ms: list[float]
    cpu_ms: float
    """CPU milliseconds of the process for each publish, with the preflights beside it."""


class PublishingSubject:
    """One engine on one log, with a history of publishing behind it."""

    def __init__(self, scenario: Scenario, slots: int) -> None:
        self._slots = slots
        self._settings = scenario.settings()
        self._topics = topics_of(self._settings)
        self._backend = compose.open_backend(self._settings)
        self._snapshots = SnapshotFiles(self._settings.data / "starts")
        self._engine: Engine | None = None
        self._next = 0

    async def write(self) -> float:
        """Writes the history; gives how many seconds it took."""
        began = time.perf_counter()
        await self._backend.admin.create(topic_specs(self._settings))
        await write_history(self._backend.log, self._topics, AvroCodec(), self._slots)
        return time.perf_counter() - began

    async def begin(self, kept: bool) -> Start:
        """Starts a replica, from a snapshot if one is kept, and keeps one."""
        journal, shard = self._topics.journal("publishing", 0), PublishingShard()
        replica = AuthorityReplica(self._backend.log, journal, AvroCodec(), whole=shard)
        keeper = Keeper(
            self._snapshots,
            "kept" if kept else "not kept",
            replica.form,
            journal=journal,
            topic_id=await self._backend.admin.topic_id(journal.topic),
            records_min=1 if kept else 1 << 40,
        )
        began, cpu_s = time.perf_counter(), used().cpu_s
        running = asyncio.create_task(replica.run(keeper))
        while not replica.warm:  # noqa: ASYNC110 - it tells by its state alone
            await asyncio.sleep(LOOK_S)
        start = Start(time.perf_counter() - began, used().cpu_s - cpu_s)
        if len(shard.slots) != self._slots:
            raise AssertionError(f"expected {self._slots} slots, found {len(shard.slots)}")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await replica.close()
        return start

    async def start(self) -> float:
        """Starts the engine; gives how many seconds it took until it served, its views filled from nothing."""
        began = time.perf_counter()
        self._engine = compose.build(
            self._settings, ("publishing", "routing", "executions", "projector", "api"), Echo(), backend=self._backend
        )
        await self._engine.start()
        await until_ready(self._engine, READY_S)
        return time.perf_counter() - began

    async def steady(self, publishes: int, rate: float, preflights: int) -> Steady:
        """So many publishes, `rate` a second, and beside each some preflights."""
        loop = asyncio.get_running_loop()
        cpu_s, began = used().cpu_s, loop.time()
        asked: list[asyncio.Task[float]] = []
        looked: list[asyncio.Task[float]] = []
        for number in range(publishes):
            await asyncio.sleep(began + number / rate - loop.time())
            # Neighbours in no order, so that nothing is found where something else just was.
            slot = (self._next * 7_919) % self._slots
            self._next += 1
            asked.append(asyncio.create_task(self._publish(slot, 2 + self._next // self._slots)))
            beside = [(slot + other) % self._slots for other in range(1, preflights + 1)]
            looked += [asyncio.create_task(self._preflight(other)) for other in beside]
        publishes_ms = [seconds * 1e3 for seconds in await asyncio.gather(*asked)]
        preflights_ms = [seconds * 1e3 for seconds in await asyncio.gather(*looked)]
        return Steady(publishes_ms, preflights_ms, (used().cpu_s - cpu_s) / publishes * 1e3)

    async def profile(self, publishes: int, rate: float, preflights: int) -> list[str]:
        """Where the process spends its CPU time meanwhile, and what holds its loop up, as lines of text."""
        async with stalls() as noticed:
            await self.steady(publishes, rate, preflights)
        with sampled() as samples:
            await self.steady(publishes, rate, preflights)
        lines = [f"{samples.taken} samples; own share, share with what it calls, function:"]
        lines += [f"  {hot.own:6.1%} {hot.whole:6.1%}  {hot.where}" for hot in samples.top(HOT_FUNCTIONS)]
        return lines + noticed.lines()

    async def memory_mb(self) -> float:
        """The most that the process held."""
        return used().memory_mb

    async def close(self) -> None:
        """Ends the engine, or the log where none was started."""
        await (self._backend.close() if self._engine is None else self._engine.close())

    async def _publish(self, slot: int, version: int) -> float:
        assert self._engine is not None, "expected start first"
        began = time.perf_counter()
        answered = await self._engine.gateway.publish(request(slot, version), 60.0)
        if answered.status != "done":
            raise AssertionError(f"expected slot {slot} to be published, found {answered}")
        return time.perf_counter() - began

    async def _preflight(self, slot: int) -> float:
        assert self._engine is not None, "expected start first"
        assert self._engine.publishing is not None, "expected the role api"
        began = time.perf_counter()
        await self._engine.replica.current()
        wish = Wish(shell=SHELL, slot=None, expect_revision=None, owner=None, take_over=False)
        now_ms = self._engine.parts.clock.now_ms()
        found = preflight(self._engine.publishing, wish, document(slot, 1_000), now_ms=now_ms)
        if not isinstance(found, Preflight) or found.action != "replace" or len(found.retained) != 3:
            raise AssertionError(f"expected slot {slot} to be one to replace, found {found}")
        return time.perf_counter() - began


def main(connection: Connection, scenario: Scenario, slots: int) -> None:
    """The main function of the measured process; it looks for garbage as the engine's own processes do."""
    garbage.look_seldom()
    uvloop.run(_main(connection, scenario, slots))


async def _main(connection: Connection, scenario: Scenario, slots: int) -> None:
    subject = PublishingSubject(scenario, slots)

    async def questions(question: str, *arguments: object) -> object:
        return await getattr(subject, question)(*arguments)

    await answer(connection, questions)
