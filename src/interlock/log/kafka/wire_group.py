"""The questions of consumer groups and of administration, typed as in `wire`.

Members describe themselves in Kafka's own consumer format, so that the usual tools show who has which partition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, NamedTuple, cast

from aiokafka.protocol.admin import (
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
)
from aiokafka.protocol.commit import OffsetCommitRequest, OffsetFetchRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberAssignment,
    SyncGroupRequest,
)
from aiokafka.protocol.types import Array, Bytes, Int16, Int32, Schema, String

from interlock.log.kafka.wire import Call
from interlock.log.port import Shard

CONSUMER = "consumer"
PROTOCOL = "interlock-sticky"
"""The name of our way to share out partitions; a member with another way is turned away by the broker."""

# --- membership ---------------------------------------------------------------------------------------------------


_SUBSCRIPTION = Schema(
    ("version", Int16),
    ("topics", Array(String("utf-8"))),
    ("user_data", Bytes),
    ("owned", Array(("topic", String("utf-8")), ("partitions", Array(Int32)))),
)
"""Kafka's ConsumerProtocolSubscription, version 1; the user data hold the generation that the claims are from."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a member had in the last generation that it knows of."""

    generation: int
    owned: frozenset[Shard]


class Joined(NamedTuple):
    """The answer to a join. Only the member that leads the group is told the claims of all."""

    code: int
    generation: int
    leader: str
    member: str
    claims: Mapping[str, Claim]


class Synced(NamedTuple):
    """The answer to a sync: an error code (0 is none) and the shards of this member."""

    code: int
    shards: frozenset[Shard]


class Coordinator(NamedTuple):
    """The answer to the question who keeps a group: an error code (0 is none) and the broker."""

    code: int
    node: int


def find_coordinator(group: str) -> Call[Coordinator]:
    """Asks any broker which one keeps the group."""
    request = FindCoordinatorRequest(group, 0)
    return Call("find coordinator", request, lambda answer: Coordinator(answer.error_code, answer.coordinator_id))


def join_group(
    group: str, member: str, topics: Sequence[str], claim: Claim, *, session_s: float, rebalance_s: float
) -> Call[Joined]:
    """Joins; the answer comes when all members have joined, or `rebalance_s` has passed."""
    generation = claim.generation.to_bytes(4, "big", signed=True)
    subscription = _SUBSCRIPTION.encode([1, sorted(topics), generation, _grouped(claim.owned)])
    request = JoinGroupRequest(
        group,
        int(session_s * 1000),
        int(rebalance_s * 1000),
        member,
        cast("str", None),  # no static membership: what leaves in order is to be missed at once
        CONSUMER,
        [(PROTOCOL, subscription)],
    )
    return Call("join group", request, _joined)


def sync_group(group: str, generation: int, member: str, shares: Mapping[str, frozenset[Shard]]) -> Call[Synced]:
    """Hands in the shares (the leader) or nothing (the others), and waits for one's own."""
    encoded = [
        (each, cast("Any", MemberAssignment)(1, _grouped(shards), b"").encode()) for each, shards in shares.items()
    ]
    request = SyncGroupRequest(group, generation, member, cast("str", None), encoded)
    return Call("sync group", request, _synced)


def heartbeat(group: str, generation: int, member: str) -> Call[int]:
    """Says that the member lives; the answer is an error code (0 is none)."""
    return Call("heartbeat", HeartbeatRequest(group, generation, member), lambda answer: answer.error_code)


def leave_group(group: str, member: str) -> Call[int]:
    """Leaves, so that the others share out at once; the answer is an error code (0 is none)."""
    return Call("leave group", LeaveGroupRequest(group, member), lambda answer: answer.error_code)


def _grouped(shards: frozenset[Shard]) -> list[tuple[str, list[int]]]:
    topics: dict[str, list[int]] = {}
    for shard in sorted(shards):
        topics.setdefault(shard.topic, []).append(shard.partition)
    return list(topics.items())


def _shards(grouped: Sequence[tuple[str, Sequence[int]]]) -> frozenset[Shard]:
    return frozenset(Shard(topic, partition) for topic, partitions in grouped for partition in partitions)


def _joined(answer: Any) -> Joined:
    claims: dict[str, Claim] = {}
    for member, *_instance, metadata in answer.members:
        _version, _topics, generation, owned = cast("Any", _SUBSCRIPTION.decode(BytesIO(metadata)))
        claims[member] = Claim(int.from_bytes(generation, "big", signed=True), _shards(owned))
    return Joined(answer.error_code, answer.generation_id, answer.leader_id, answer.member_id, claims)


def _synced(answer: Any) -> Synced:
    if answer.error_code != 0 or not answer.member_assignment:
        return Synced(answer.error_code, frozenset())
    assignment = cast("Any", MemberAssignment).decode(answer.member_assignment)
    return Synced(0, _shards(assignment.assignment))


# --- offsets of a group -------------------------------------------------------------------------------------------


class Committed(NamedTuple):
    """Error codes and offsets by shard; an offset of -1 says that none was committed."""

    code: int
    shards: Mapping[Shard, tuple[int, int]]


def fetch_offsets(group: str, shards: frozenset[Shard]) -> Call[Committed]:
    """The next offsets that the group committed."""
    return Call("fetch offsets", OffsetFetchRequest(group, _grouped(shards)), _offsets)


def _offsets(answer: Any) -> Committed:
    shards = {
        Shard(topic, partition): (code, offset)
        for topic, partitions in answer.topics
        for partition, offset, _metadata, code in partitions
    }
    return Committed(getattr(answer, "error_code", 0), shards)


def commit_offsets(group: str, generation: int, member: str, offsets: Mapping[Shard, int]) -> Call[Mapping[Shard, int]]:
    """Commits next offsets as a member of a generation; the answer holds an error code (0 is none) for each shard."""
    topics: dict[str, list[tuple[int, int, str]]] = {}
    for shard, offset in offsets.items():
        topics.setdefault(shard.topic, []).append((shard.partition, offset, ""))
    request = OffsetCommitRequest(group, generation, member, -1, list(topics.items()))
    return Call("commit offsets", request, _commit_codes)


def _commit_codes(answer: Any) -> Mapping[Shard, int]:
    return {Shard(topic, partition): code for topic, partitions in answer.topics for partition, code in partitions}


# --- administration -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be made."""

    name: str
    partitions: int
    replication: int
    settings: Mapping[str, str]


class TopicAnswer(NamedTuple):
    """What became of one topic: an error code (0 is none) and the broker's own words."""

    code: int
    message: str


def create_topics(topics: Sequence[NewTopic], timeout_s: float) -> Call[Mapping[str, TopicAnswer]]:
    """Makes topics; each is made or refused by itself."""
    wanted: list[Any] = [
        (each.name, each.partitions, each.replication, (), list(each.settings.items())) for each in topics
    ]
    request = cast("Any", CreateTopicsRequest)(wanted, int(timeout_s * 1000), False)
    return Call("create topics", request, _topic_answers)


def _topic_answers(answer: Any) -> Mapping[str, TopicAnswer]:
    return {
        name: TopicAnswer(code, *(message or "" for message in rest[:1])) for name, code, *rest in answer.topic_errors
    }


def delete_topic(name: str, timeout_s: float) -> Call[int]:
    """Deletes a topic; the answer is an error code (0 is none)."""
    request = DeleteTopicsRequest([name], int(timeout_s * 1000))
    return Call("delete topics", request, lambda answer: answer.topic_error_codes[0][1])


def delete_records(shard: Shard, before: int, timeout_s: float) -> Call[int]:
    """Deletes the records before an offset; for the leader. The answer is an error code (0 is none)."""
    topics = [(shard.topic, [(shard.partition, before)])]
    request = cast("Any", DeleteRecordsRequest)(topics, int(timeout_s * 1000))
    return Call("delete records", request, _delete_code)


def _delete_code(answer: Any) -> int:
    # Version 2 is flexible: tags follow each part.
    for topic in answer.topics:
        for partition in topic[1]:
            code: int = partition[2]
            return code
    return -1


class ConfigAnswer(NamedTuple):
    """The settings of one topic, or an error code (0 is none)."""

    code: int
    settings: Mapping[str, str]


_TOPIC_RESOURCE = 2


def describe_topics(names: Sequence[str], settings: Sequence[str]) -> Call[Mapping[str, ConfigAnswer]]:
    """The settings named, as they are in force: the topic's own, else what the brokers have."""
    resources = [(_TOPIC_RESOURCE, name, list(settings)) for name in names]
    return Call("describe configs", cast("Any", DescribeConfigsRequest)(resources, False), _config_answers)


def _config_answers(answer: Any) -> Mapping[str, ConfigAnswer]:
    found: dict[str, ConfigAnswer] = {}
    for code, _message, _type, name, entries in answer.resources:
        found[name] = ConfigAnswer(code, {entry[0]: entry[1] for entry in entries})
    return found
