"""The durable log on Apache Kafka: topics are topics, shards are partitions, and a batch is a record batch.

Nothing beyond plain writes and reads is used: no transaction, no idempotent producer, no offsets of a group. What makes
that safe stands in `interlock.log.journal`. `KafkaLog` is put together from small parts: `cluster` (connections
and leaders), `send`, `read`, `extent`; `admin` makes and checks topics, `assignment`
tells which shards this process should own.
"""

import asyncio
from collections.abc import Callable, Sequence
from itertools import count

from interlock.log.group import ReadingGroup
from interlock.log.kafka.admin import KafkaAdmin
from interlock.log.kafka.assignment import KafkaAssignment
from interlock.log.kafka.cluster import Cluster
from interlock.log.kafka.extent import Extents
from interlock.log.kafka.group import KafkaPositions
from interlock.log.kafka.read import KafkaReader
from interlock.log.kafka.send import Sender
from interlock.log.kafka.settings import KafkaSettings
from interlock.log.port import Extent, Reader, Record, Shard, TopicFault, TopicSpec


class KafkaLog:
    """One process's use of a Kafka cluster; implements `port.Log` and `port.LogAdmin`. Connects with the first call."""

    def __init__(self, settings: KafkaSettings | str) -> None:
        """`settings`, or a url as `KafkaSettings.from_url` takes. Raises `ValueError`, and `OSError` for TLS files."""
        self.settings = KafkaSettings.from_url(settings) if isinstance(settings, str) else settings
        self.cluster = Cluster(self.settings)
        """The connections, which admin and assignments of the same process share."""
        self._sender = Sender(self.cluster)
        self._extents = Extents(self.cluster, self._sender.landed)
        self._admin = KafkaAdmin(self.cluster)
        self._assignments: list[KafkaAssignment] = []
        self._readers = count(1)

    @property
    def batch_bytes_max(self) -> int:
        """The largest batch in bytes that `send` takes, as `port.batch_bytes` counts."""
        return self.settings.batch_bytes_max

    async def send(self, shard: Shard, batch: Sequence[Record]) -> int:
        """Appends the batch as a whole and returns the offset of its first record, once all in-sync replicas have it.

        Raises `Refused` (never lands; `NotNow` where only the log is away) or `Doubt`, after `send_s` at the latest.
        """
        return await self._sender.send(shard, batch)

    def reader(self, shard: Shard, offset: int) -> Reader:
        """A reader whose first `read` begins at `offset`; close it, it holds a connection."""
        return self._reader(shard, offset, committed=False)

    async def end(self, shard: Shard) -> int:
        """The high watermark. Raises `Unavailable` or `NoSuchShard`."""
        return await self._extents.end(shard)

    async def extent(self, shard: Shard) -> Extent:
        """From the first offset kept to the high watermark; two questions. Raises `Unavailable` or `NoSuchShard`."""
        return await self._extents.of(shard)

    async def create(self, topics: Sequence[TopicSpec]) -> Sequence[str]:
        """Makes the topics that are missing and returns their names. Raises `Refused`, `Unavailable`."""
        return await self._admin.create(topics)

    async def check(self, topics: Sequence[TopicSpec]) -> Sequence[TopicFault]:
        """Every fault of the topics. Raises `Refused` where they may not be looked at, `Unavailable`."""
        return await self._admin.check(topics)

    async def topic_id(self, topic: str) -> str:
        """Kafka's uuid of the topic. Raises `NoSuchShard`, `Unavailable`."""
        return await self._admin.topic_id(topic)

    async def clock_skew_s(self, now_ms: Callable[[], int]) -> float:
        """The brokers' clock minus the given one, in seconds. Raises `Refused`, `Unavailable`."""
        return await self._admin.clock_skew_s(now_ms)

    async def trim(self, shard: Shard, first: int) -> None:
        """Drops the records before offset `first`. Raises `OffsetGone` where that is behind the end, and as `end`."""
        await self._admin.trim(shard, first, self._extents)

    async def delete(self, topic: str) -> None:
        """Deletes the topic with its records. Raises `NoSuchShard`, `Refused`, `Unavailable`."""
        await self._admin.delete(topic)

    def group_source(self, topics: Sequence[str], group: str) -> ReadingGroup:
        """The records of user topics, shared out in one consumer group a topic; make it on a running loop.

        Transactions of other clients are honoured: what they aborted is not seen. Implements `port.GroupSource`.
        """
        assignments = {topic: self.assignment(topic, f"{topic}.{group}") for topic in topics}
        positions = KafkaPositions({topic: each.member for topic, each in assignments.items()})
        return ReadingGroup(_Committed(self), assignments, positions)

    def assignment(self, topic: str, group: str | None = None) -> KafkaAssignment:
        """Joins the group that shares out the shards of `topic`; closed with the log at the latest."""
        assignment = KafkaAssignment(self.cluster, topic, group)
        self._assignments.append(assignment)
        return assignment

    async def close(self) -> None:
        """Leaves all groups, ends what is under way as `Doubt` (or `NotNow` where it was not sent), and disconnects."""
        await asyncio.gather(*(assignment.close() for assignment in self._assignments))
        await self._sender.close()
        await self.cluster.close()

    def committed_reader(self, shard: Shard, offset: int) -> Reader:
        """As `reader`, but leaves out what other clients wrote in transactions that were aborted."""
        return self._reader(shard, offset, committed=True)

    def _reader(self, shard: Shard, offset: int, *, committed: bool) -> Reader:
        lane = f"reader {next(self._readers)}"
        return KafkaReader(self.cluster, self._extents, shard, offset, lane, committed=committed)


class _Committed:
    """A log as an ingress reads it: what anybody may write to, without what was taken back."""

    def __init__(self, log: KafkaLog) -> None:
        self.reader = log.committed_reader
        self.extent = log.extent
