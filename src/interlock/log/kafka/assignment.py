"""Which shards of a topic this process should own, told by a consumer group."""

from interlock.log.kafka.cluster import Cluster
from interlock.log.kafka.member import Member


class KafkaAssignment:
    """Implements `port.Assignment` by a group that assigns only: nothing is fetched through it, no offset committed."""

    def __init__(self, cluster: Cluster, topic: str, group: str | None = None) -> None:
        """Joins `group` (named after the topic where None) at once; make it on a running loop."""
        self._topic = topic
        self.member = Member(cluster, group or f"{topic}.owners", [topic])
        """The membership, for those who commit offsets as this member."""

    def current(self) -> frozenset[int]:
        """The partitions that are this process's now, as far as it knows."""
        return frozenset(shard.partition for shard in self.member.assigned if shard.topic == self._topic)

    async def changed(self, known: frozenset[int]) -> frozenset[int]:
        """Waits until `current()` differs from `known`, then returns it. Returns the empty set once it is closed."""
        while self.current() == known and not self.member.closed:
            await self.member.changed.wait()
        return self.current()

    async def close(self) -> None:
        """Leaves the group, so that others take over without waiting for the session timeout."""
        await self.member.close()
