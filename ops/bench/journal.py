"""The journal alone beside the bare store: one append after another, of 6, 60 and 600 encoded records.

Both write the same records: a frame, and events as the engine encodes them. The journal is asked as a processor asks it
(`Journal.append`), its frame, headers and placing included. The bare store is given the finished records:

- Kafka: a batch built by hand with aiokafka (`create_batch`, `append`, `send_batch`), acknowledged by all replicas;
- SQLite: one row with the finished bytes in a transaction of its own (WAL, `synchronous=FULL`), in this thread, which
  stands still meanwhile. An event loop may not stand still, so beside it stands the same from a thread that the loop
  waits for: what that costs more is no store's doing;
- memory: nothing; the journal stands alone.

They take turns, some hundred milliseconds each and each round in another order, so that a neighbour's load and what the
file system puts off fall on all of them.
"""

import asyncio
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

import uvloop

from interlock.domain.executions.execution.events import ActivityCompleted
from interlock.domain.progress import Progress
from interlock.log.frame import Entry, Frame, assemble
from interlock.log.journal import Journal
from interlock.log.port import Record, Shard, TopicSpec
from interlock.log.sqlite.codec import encode
from interlock.runtime import compose
from interlock.schemas.codec import AvroCodec
from ops.bench.bare_local import Row, insert_rows, open_bare_file
from ops.bench.figures import percentile
from ops.bench.process import answer
from ops.bench.work import Scenario

SIZES = (6, 60, 600)
"""Records of an append, its frame included."""
TURN_S = 0.3
"""How long each of them has its turn."""
WARM_S = 0.2
BARE_FROM_LOOP = "bare, from a loop"
TOPIC = "interlock.bench.journal"
BARE_TOPIC = "interlock.bench.bare"

Append = Callable[[], Awaitable[None]]


class Turn(NamedTuple):
    """What one of them did in its turn."""

    who: str
    """The journal, the bare store, or the bare store asked from a loop."""
    records: int
    """Of each append."""
    appends: int
    seconds: float
    p50_s: float
    p99_s: float


def main(connection: Connection, scenario: Scenario) -> None:
    """The main function of the process that measures."""
    uvloop.run(_main(connection, scenario))


async def _main(connection: Connection, scenario: Scenario) -> None:
    bench = JournalBench(scenario)
    await bench.start()

    async def questions(question: str, *_: object) -> object:
        if question == "round":
            return await bench.round()
        await bench.close()
        return None

    await answer(connection, questions)


class JournalBench:
    """The journal and the bare store on one log."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._chance = random.Random(1)
        self._turns: list[tuple[str, int, Append]] = []
        self._closers: list[Callable[[], Awaitable[object]]] = []

    async def start(self) -> None:
        """Opens both, and warms them up."""
        backend = compose.open_backend(self._scenario.settings())
        self._closers.append(backend.close)
        await backend.admin.create([TopicSpec(name=name, partitions=1) for name in (TOPIC, BARE_TOPIC)])
        journal = await Journal.open(
            backend.log,
            Shard(TOPIC, 0),
            ids=lambda: secrets.token_hex(16),
            fold=lambda _: None,
            note=lambda: NOTE,
            still_assigned=_always,
        )
        for size in SIZES:
            entries = _entries(size - 1)
            self._turns.append(("journal", size, _appending(journal, entries)))
            self._turns += [(who, size, append) for who, append in await self._bare(_finished(entries))]
        for who, size, append in self._turns:
            await _turn(who, size, append, WARM_S)

    async def round(self) -> list[Turn]:
        """A turn for each, in an order by chance: a file system's journal makes one pay for what another wrote."""
        turns = self._chance.sample(self._turns, len(self._turns))
        return [await _turn(who, size, append, TURN_S) for who, size, append in turns]

    async def close(self) -> None:
        """Closes both."""
        for close in reversed(self._closers):
            await close()

    async def _bare(self, records: list[Record]) -> list[tuple[str, Append]]:
        if self._scenario.log == "kafka":
            return [("bare", await self._bare_kafka(records))]
        if self._scenario.log == "sqlite":
            return self._bare_sqlite(records)
        return []

    async def _bare_kafka(self, records: list[Record]) -> Append:
        from ops.bench.bare_kafka import bootstrap_of, open_producer, send

        producer = await open_producer(bootstrap_of(self._scenario.url))
        self._closers.append(producer.stop)

        async def append() -> None:
            await send(producer, Shard(BARE_TOPIC, 0), records)

        return append

    def _bare_sqlite(self, records: list[Record]) -> list[tuple[str, Append]]:
        connection = open_bare_file(self._scenario.folder / f"bare-{len(records)}.sqlite")
        rows = [Row(1, len(records), 0, encode(records).data)]
        loop = asyncio.get_running_loop()

        async def append() -> None:
            insert_rows(connection, rows)

        async def append_from_loop() -> None:
            await loop.run_in_executor(None, insert_rows, connection, rows)

        async def close() -> None:
            connection.close()

        self._closers.append(close)
        return [("bare", append), (BARE_FROM_LOOP, append_from_loop)]


NOTE = AvroCodec().encode(
    Progress(inbox=1234, received=(("routing/0@" + "ab" * 16, 99),), delivered=(), answered=(), publishing=8)
)


def _entries(count: int) -> list[Entry]:
    """Events of runs, encoded, with the headers that the engine gives them."""
    codec = AvroCodec()
    entries: list[Entry] = []
    for number in range(count):
        event = ActivityCompleted(node_id="reserve", attempt=1, output='{"reservation": "0123456789"}', at_ms=number)
        headers = (
            ("type", b"executions.ActivityCompleted"),
            ("revision", b"%d" % (number + 2)),
            ("time", b"1700000000000"),
            ("causation", b"activity:reserve:1"),
            ("correlation", b"0123456789abcdef0123456789abcdef"),
        )
        entries.append(Entry("event", f"execution:{number:032x}".encode(), codec.encode(event), headers))
    return entries


def _finished(entries: Sequence[Entry]) -> list[Record]:
    """The records as the journal would write them."""
    frame = Frame(
        id="ab" * 16,
        number=1234,
        follows="cd" * 16,
        end=123_456,
        owner="ef" * 16,
        opened=False,
        size=1 + len(entries),
        position=123_456,
    )
    return assemble(frame, NOTE, entries)


def _appending(journal: Journal, entries: Sequence[Entry]) -> Append:
    async def append() -> None:
        await journal.append(NOTE, entries)

    return append


async def _turn(who: str, records: int, append: Append, seconds: float) -> Turn:
    taken: list[float] = []
    began = now = time.perf_counter()
    while now < began + seconds:
        await append()
        then, now = now, time.perf_counter()
        taken.append(now - then)
    return Turn(who, records, len(taken), now - began, percentile(taken, 50), percentile(taken, 99))


async def _always() -> bool:
    return True
