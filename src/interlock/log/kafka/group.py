"""The positions of an ingress in a consumer group's offsets: the only place where the engine uses those."""

from collections.abc import Mapping

from interlock.log.kafka import wire_group as wire
from interlock.log.kafka.cluster import CallFailed, unavailable
from interlock.log.kafka.member import REBALANCE, UNKNOWN_MEMBER, Member
from interlock.log.kafka.wire import error_name
from interlock.log.port import Shard, Unavailable

ILLEGAL_GENERATION = 22
GIVEN_AWAY = frozenset({ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCE})


class KafkaPositions:
    """Implements `log.group.Positions`: commits as the members that have the shards, so that brokers refuse others."""

    def __init__(self, members: Mapping[str, Member]) -> None:
        """One member a topic, by the topic's name."""
        self._members = dict(members)

    async def load(self, shards: frozenset[Shard]) -> Mapping[Shard, int]:
        """The committed offsets of those that have one. Raises `Unavailable`."""
        found: dict[Shard, int] = {}
        for topic, member in self._members.items():
            mine = frozenset(shard for shard in shards if shard.topic == topic)
            if not mine:
                continue
            try:
                answer = await member.call(wire.fetch_offsets(member.group, mine))
            except CallFailed as error:
                raise unavailable(f"the offsets of group {member.group}", error) from error
            for shard, (code, offset) in answer.shards.items():
                _check(member, answer.code or code)
                if offset >= 0:
                    found[shard] = offset
        return found

    async def store(self, offsets: Mapping[Shard, int]) -> frozenset[Shard]:
        """Commits offsets, and returns the shards that the group let this member commit. Raises `Unavailable`."""
        kept: set[Shard] = set()
        for topic, member in self._members.items():
            mine = {shard: offset for shard, offset in offsets.items() if shard.topic == topic}
            if not mine:
                continue
            call = wire.commit_offsets(member.group, member.generation, member.member, mine)
            try:
                codes = await member.call(call)
            except CallFailed as error:
                raise unavailable(f"the offsets of group {member.group}", error) from error
            for shard, code in codes.items():
                if code not in GIVEN_AWAY:
                    _check(member, code)
                    kept.add(shard)
        return frozenset(kept)


def _check(member: Member, code: int) -> None:
    if code != 0:
        raise Unavailable(f"expected the offsets of group {member.group}, found {error_name(code)}; ask again later")
