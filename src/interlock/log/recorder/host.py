"""What the recorders of one factory share: a loop on its thread, one log, and a store for each journal.

Always true: after `close` there is no thread, no connection and no open file left. A host that is dropped without it
is closed by the garbage collector, as soon as no recorder and no subscription holds it.

What would surprise: `Host` is only what is held from outside; what runs inside (`_Inside`) doesn't know it, so that it
can be dropped.
"""

import asyncio
import random
import weakref
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from eventsourcing.persistence import DataError, OperationalError, StoredEvent, Tracking

from interlock.log import schema_topic
from interlock.log.port import Log, LogAdmin, Shard, TopicSpec
from interlock.log.recorder.commit import Commit
from interlock.log.recorder.errors import translated
from interlock.log.recorder.follow import Follower
from interlock.log.recorder.index import Index
from interlock.log.recorder.loop import LoopThread
from interlock.log.recorder.writer import Writer
from interlock.log.schema_topic import SchemaTopic
from interlock.schemas.written import WrittenSchema

WRITE_S = 30.0
"""How long a call waits until its events count. It covers a broker that is away for a moment, and other writers."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedLog:
    """The log that a factory's settings name."""

    log: Log
    admin: LogAdmin
    prefix: str
    """What the names of topics begin with."""
    data: Path | None
    """The folder for indexes; None keeps them in memory."""
    schemas: Sequence[WrittenSchema] = ()
    """What records of facts are written with; registered before the first journal is opened."""


class Store:
    """One journal: what follows it, what writes it, and its index."""

    def __init__(self, log: Log, shard: Shard, index: Index, *, dense: bool, chance: random.Random) -> None:
        """Starts both; on the loop. `dense` and `chance` are as for `Writer`."""
        self.index = index
        self.shard = shard
        self.follower = Follower(log, shard, index)
        self.follower.start()
        self.writer = Writer(log, shard, self.follower, dense=dense, chance=chance)

    async def close(self) -> None:
        """Finishes what was asked, and ends."""
        reason = OperationalError(
            f"expected {self.shard} to stay open until the events count, found the application closed"
        )
        await self.writer.close(reason)
        await self.follower.close(reason)
        self.index.close()


class Host:
    """The stores of one factory; used from any thread."""

    def __init__(self, open_log: Callable[[], OpenedLog]) -> None:
        """`open_log` is called on the loop. Raises what it raises."""
        self._inside = _Inside()
        # Not at the interpreter's exit, where threads can't be waited for any more; the thread is a daemon.
        self._finalizer = weakref.finalize(self, self._inside.close)
        self._finalizer.atexit = False
        try:
            self._inside.loop.run(self._inside.open(open_log))
        except BaseException:
            self.close()
            raise

    @property
    def prefix(self) -> str:
        """What the names of topics begin with."""
        return self._inside.opened.prefix

    def store(self, topic: str, *, dense: bool, create: bool) -> Store:
        """The store of a topic, opened once; the topic is made if it is missing and `create` says so.

        Raises the library's exceptions: `ProgrammingError` where the topic is missing, `OperationalError` where the log
        can't be asked.
        """
        return self.run(self._inside.store(topic, dense=dense, create=create))

    def catch_up(self, store: Store) -> None:
        """Returns when all that was recorded before the call, by any process, is in the store's index."""
        self.run(store.follower.barrier())

    def insert(self, store: Store, events: Sequence[StoredEvent], tracking: Tracking | None) -> Sequence[int]:
        """Records events and tracking as a whole and returns the events' notification ids, once they count.

        Raises `IntegrityError` for a conflict, `DataError` for what no record can hold, `OperationalError` where the
        outcome is not known after `WRITE_S` seconds.
        """
        try:
            commit = Commit(events, tracking)
        except UnicodeEncodeError as error:
            raise DataError(f"expected text that has a UTF-8 form, found: {error}") from error
        self._inside.loop.post(store.writer.put, commit)
        try:
            return commit.answer.result(WRITE_S)
        except TimeoutError as error:
            commit.abandoned.set()
            raise OperationalError(
                f"expected events of {store.shard} to count within {WRITE_S:g} s, found no outcome: the log is away; "
                "read the aggregate before trying again, because they may have been recorded"
            ) from error

    def run(self, coroutine: Coroutine[None, None, T]) -> T:
        """Runs on the loop; what it raises is the library's exception."""
        try:
            return self._inside.loop.run(coroutine)
        except CancelledError as error:
            raise OperationalError("expected an answer from the log, found the application closed") from error
        except Exception as error:
            raise translated(error) from error

    def close(self) -> None:
        """Finishes what was asked, ends subscriptions, and returns when everything is closed; may be repeated."""
        self._finalizer()


class _Inside:
    """What lives on the loop."""

    def __init__(self) -> None:
        self.loop = LoopThread("interlock-recorder")
        self.opened: OpenedLog
        self._stores: dict[str, Store] = {}
        self._opening = asyncio.Lock()
        self._registered = False

    async def open(self, open_log: Callable[[], OpenedLog]) -> None:
        self.opened = open_log()

    async def store(self, topic: str, *, dense: bool, create: bool) -> Store:
        async with self._opening:
            store = self._stores.get(topic)
            if store is None:
                store = self._stores[topic] = await self._make(topic, dense=dense, create=create)
            return store

    async def _register(self, *, create: bool) -> None:
        opened = self.opened
        if opened.schemas:
            shard = Shard(f"{opened.prefix}.{schema_topic.TOPIC}", 0)
            if create:
                await opened.admin.create([schema_topic.spec(opened.prefix)])
            await SchemaTopic(opened.log, shard).register(opened.schemas)
        self._registered = True

    async def _make(self, topic: str, *, dense: bool, create: bool) -> Store:
        opened = self.opened
        if create:
            await opened.admin.create([TopicSpec(name=topic, partitions=1)])
        log_id = await opened.admin.topic_id(topic)
        if not self._registered:
            await self._register(create=create)
        path = None if opened.data is None else opened.data / f"{topic}.sqlite"
        return Store(opened.log, Shard(topic, 0), Index(path, log_id), dense=dense, chance=random.Random())

    def close(self) -> None:
        self.loop.close(self._close())

    async def _close(self) -> None:
        for store in self._stores.values():
            await store.close()
        if hasattr(self, "opened"):
            await self.opened.log.close()
