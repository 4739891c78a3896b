"""A member of a consumer group: joins, says that it lives, and learns which shards it should own.

    find the coordinator ─► join ─► sync ─► assigned ─► heartbeats ─┐
             ▲               ▲                                      ├ a rebalance: join again
             │               └──────────────────────────────────────┘
             └─── coordinator away or moved, member forgotten: after a pause

What is assigned changes only when a rebalance has finished, so a shard that comes back to the same process never
blinks. All of it is dropped when the coordinator has confirmed nothing for so long that others may have it: the
session timeout, or that and the rebalance timeout where a rebalance is under way. Nothing here is needed for safety.

aiokafka's consumer is not used: it would fetch what nobody reads, and it takes partitions away when a rebalance begins.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import TypeVar

from interlock.log.kafka import wire_group as wire
from interlock.log.kafka.cluster import CallFailed, Cluster
from interlock.log.kafka.share import share_out
from interlock.log.kafka.wire import Call, error_name
from interlock.log.kafka.wire_group import Claim
from interlock.log.port import Refused, Shard
from interlock.log.waiters import Waiters

T = TypeVar("T")

logger = logging.getLogger(__name__)

UNKNOWN_MEMBER = 25
REBALANCE = 27
MEMBER_ID_REQUIRED = 79

HEARTBEATS_A_SESSION = 3
"""Two of them may be lost before the group gives the shards to others."""

LEAVE_S = 1.0
"""How long a member that leaves waits for the answer; a broker that is away must not hold up the end of a process."""

RETRY_FIRST_S = 0.05
RETRY_MAX_S = 2.0


class _Again(Exception):
    """The group can't be joined now; the message says why. `forgotten`: and not as the same member."""

    def __init__(self, why: str, *, forgotten: bool = False) -> None:
        super().__init__(why)
        self.forgotten = forgotten


def _check(step: str, code: int) -> None:
    if code != 0:
        raise _Again(f"{step}: {error_name(code)}", forgotten=code == UNKNOWN_MEMBER)


class Member:
    """One membership in one group, from its making (on a running loop) until `close`."""

    def __init__(self, cluster: Cluster, group: str, topics: Sequence[str]) -> None:
        self.group = group
        self.assigned: frozenset[Shard] = frozenset()
        """The shards of this member, as far as is known."""
        self.changed = Waiters()
        """Woken whenever `assigned` has changed, and when the member is closed."""
        self.closed = False
        self.generation = -1
        self.member = ""
        self._cluster = cluster
        self._settings = cluster.settings
        self._topics = tuple(topics)
        self._lane = f"group {group}"
        self._node = -1
        self._claim = Claim(-1, frozenset())
        self._dropping: asyncio.TimerHandle | None = None
        self._running = asyncio.create_task(self._run(), name=f"member of {group}")

    async def call(self, call: Call[T]) -> T:
        """Asks the coordinator. Raises `CallFailed`; also where none is known now."""
        if self._node < 0:
            raise CallFailed(f"the coordinator of group {self.group} is not known now")
        return await self._cluster.call(self._node, call, timeout_s=self._settings.ask_s)

    async def close(self) -> None:
        """Leaves the group at once; never raises for a log that is away."""
        if self.closed:
            return
        self.closed = True
        self._take(frozenset())
        self.changed.wake()
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        if self._dropping is not None:
            self._dropping.cancel()
        if self.member and self._node >= 0:
            # Beside the lane of the group: there a join may be waiting, and answers come in order.
            leaving = wire.leave_group(self.group, self.member)
            try:
                async with asyncio.timeout(LEAVE_S):
                    await self._cluster.call(self._node, leaving, timeout_s=LEAVE_S)
            except (CallFailed, TimeoutError) as error:
                logger.info("group %s was left without an answer: %r", self.group, error)
            self._cluster.disconnect(self._node, self._lane)

    async def _run(self) -> None:
        pause = RETRY_FIRST_S
        while True:
            try:
                await self._find()
                while True:
                    await self._join()
                    pause = RETRY_FIRST_S
                    await self._stay()
            except _Again as error:
                problem: Exception = error
                if error.forgotten:
                    self.member = ""
            except (CallFailed, Refused) as error:
                problem = error
            except Exception as error:  # a member that dies silently would leave its shards without an owner
                problem = error
                logger.exception("expected to be a member of group %s, found an error", self.group)
            # The first tries fail often and for good reasons (a coordinator that moves); the last ones do not.
            level = logging.WARNING if pause == RETRY_MAX_S else logging.INFO
            logger.log(level, "group %s is joined again in %.2f s: %s", self.group, pause, problem)
            await asyncio.sleep(pause)
            pause = min(2 * pause, RETRY_MAX_S)

    async def _find(self) -> None:
        """Learns which broker keeps the group."""
        found = await self._cluster.ask_any(wire.find_coordinator(self.group))
        if found.code != 0:
            raise _Again(f"no coordinator: {error_name(found.code)}")
        if self._node not in (-1, found.node):
            self._cluster.disconnect(self._node, self._lane)
        self._node = found.node

    async def _join(self) -> None:
        """Joins and takes what it is given, as often as another rebalance begins meanwhile."""
        while True:
            joined = await self._ask(self._joining(), self._patience_s)
            if joined.code == MEMBER_ID_REQUIRED:
                self.member = joined.member
                joined = await self._ask(self._joining(), self._patience_s)
            _check("join", joined.code)
            self._confirmed(self._patience_s)
            self.member, self.generation = joined.member, joined.generation
            shares: dict[str, frozenset[Shard]] = {}
            if joined.leader == joined.member:
                shares = share_out(await self._all_shards(), joined.claims)
            syncing = wire.sync_group(self.group, self.generation, self.member, shares)
            synced = await self._ask(syncing, self._patience_s)
            if synced.code == REBALANCE:
                continue
            _check("sync", synced.code)
            self._claim = Claim(self.generation, synced.shards)
            self._confirmed(self._settings.session_s)
            self._take(synced.shards)
            return

    async def _stay(self) -> None:
        """Says at intervals that it lives; returns when the group shares out anew."""
        interval_s = self._settings.session_s / HEARTBEATS_A_SESSION
        while True:
            await asyncio.sleep(interval_s)
            code = await self._ask(wire.heartbeat(self.group, self.generation, self.member), interval_s)
            if code == REBALANCE:
                self._confirmed(self._patience_s)
                return
            _check("heartbeat", code)
            self._confirmed(self._settings.session_s)

    @property
    def _patience_s(self) -> float:
        """How long a rebalance may take before this member counts as gone."""
        return self._settings.rebalance_s + self._settings.session_s

    def _joining(self) -> Call[wire.Joined]:
        return wire.join_group(
            self.group,
            self.member,
            self._topics,
            self._claim,
            session_s=self._settings.session_s,
            rebalance_s=self._settings.rebalance_s,
        )

    async def _ask(self, call: Call[T], timeout_s: float) -> T:
        return await self._cluster.call(self._node, call, timeout_s=timeout_s, lane=self._lane)

    async def _all_shards(self) -> list[Shard]:
        return [
            Shard(topic, partition)
            for topic in self._topics
            for partition in sorted((await self._cluster.topic(topic)).partitions)
        ]

    def _confirmed(self, holds_s: float) -> None:
        """The coordinator knows this member; without news, what is assigned is dropped after `holds_s` seconds."""
        if self._dropping is not None:
            self._dropping.cancel()
        self._dropping = asyncio.get_running_loop().call_later(holds_s, self._drop)

    def _drop(self) -> None:
        if self.assigned:
            logger.warning(
                "group %s: nothing heard for so long that others may own the shards of this member", self.group
            )
            self._take(frozenset())

    def _take(self, shards: frozenset[Shard]) -> None:
        if shards != self.assigned:
            self.assigned = shards
            self.changed.wake()
