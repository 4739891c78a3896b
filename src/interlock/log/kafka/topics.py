"""How a topic must be so that no record is lost, no shard moves, and every record has the broker's time. Pure."""

from collections.abc import Callable, Iterator, Mapping

from interlock.log.kafka.wire_cluster import TopicState
from interlock.log.kafka.wire_group import NewTopic
from interlock.log.port import TopicFault, TopicSpec

REPLICATION = 3
IN_SYNC = 2
"""With three replicas of which two must have a record, one broker may be lost at any time and another one be away."""

BROKER_DEFAULT_BYTES = 1_048_588
"""What brokers take at most in one batch unless they are told otherwise."""

CLEANUP = "cleanup.policy"
RETENTION_MS = "retention.ms"
RETENTION_BYTES = "retention.bytes"
TIMESTAMPS = "message.timestamp.type"
UNCLEAN = "unclean.leader.election.enable"
MAX_BYTES = "max.message.bytes"
MIN_IN_SYNC = "min.insync.replicas"
CHECKED = (CLEANUP, RETENTION_MS, RETENTION_BYTES, TIMESTAMPS, UNCLEAN, MAX_BYTES, MIN_IN_SYNC)

_Check = Callable[[str], bool]


def replication(brokers: int) -> int:
    """How many replicas a partition has in a cluster of so many brokers: 3, or 1 where there are fewer than 3."""
    return REPLICATION if brokers >= REPLICATION else 1


def in_sync(brokers: int) -> int:
    """How many replicas must have a record before it is acknowledged: 2, or 1 where there are fewer than 3 brokers."""
    return IN_SYNC if brokers >= REPLICATION else 1


def new_topic(spec: TopicSpec, brokers: int, batch_bytes_max: int) -> NewTopic:
    """The topic with the settings that it is made with."""
    return NewTopic(spec.name, spec.partitions, replication(brokers), _settings(spec, brokers, batch_bytes_max))


def clock_topic(prefix: str, brokers: int) -> NewTopic:
    """Holds nothing but the times that were measured lately; a partition for each broker, so that each can lead one."""
    settings = {CLEANUP: "delete", RETENTION_MS: "3600000", "segment.bytes": "1048576", TIMESTAMPS: "LogAppendTime"}
    return NewTopic(f"{prefix}.clock", max(1, brokers), replication(brokers), settings)


def faults_of(
    spec: TopicSpec, state: TopicState | None, settings: Mapping[str, str], brokers: int, batch_bytes_max: int
) -> Iterator[TopicFault]:
    """Every way in which a topic, as a cluster of so many brokers tells it, is not what `spec` needs."""
    if state is None or not state.partitions:
        yield TopicFault(
            topic=spec.name,
            setting="topic",
            expected="there",
            found="missing",
            remedy="Make it with `interlock topics create`.",
        )
        return
    if len(state.partitions) != spec.partitions:
        yield TopicFault(
            topic=spec.name,
            setting="partitions",
            expected=str(spec.partitions),
            found=str(len(state.partitions)),
            remedy="Partition counts are fixed, because keys belong to shards by them: set the count that was "
            "recorded when it was made, or start a new log under another prefix.",
        )
    replicas = min(len(each.replicas) for each in state.partitions.values())
    if replicas < replication(brokers):
        yield TopicFault(
            topic=spec.name,
            setting="replication",
            expected=f"{replication(brokers)} or more",
            found=str(replicas),
            remedy="Give each partition more replicas with `kafka-reassign-partitions`.",
        )
    for setting, expected, value, is_right in _rules(spec, brokers, batch_bytes_max):
        found = settings.get(setting)
        if found is not None and is_right(found):
            continue
        yield TopicFault(
            topic=spec.name,
            setting=setting,
            expected=expected,
            found=found or "nothing",
            remedy="Let this user describe the configs of the topic."
            if found is None
            else f"Set it: `kafka-configs --alter --entity-type topics --entity-name {spec.name} "
            f"--add-config {setting}={value}`.",
        )


def _settings(spec: TopicSpec, brokers: int, batch_bytes_max: int) -> dict[str, str]:
    settings = {
        CLEANUP: "compact" if spec.compacted else "delete",
        TIMESTAMPS: "LogAppendTime",
        UNCLEAN: "false",
        MAX_BYTES: str(max(batch_bytes_max, BROKER_DEFAULT_BYTES)),
        MIN_IN_SYNC: str(in_sync(brokers)),
    }
    if not spec.compacted:
        settings |= {RETENTION_MS: "-1", RETENTION_BYTES: "-1"}
    return settings


def _rules(spec: TopicSpec, brokers: int, batch_bytes_max: int) -> Iterator[tuple[str, str, str, _Check]]:
    """For each setting what is expected in words, the value to set, and whether a value will do."""
    for setting, value in _settings(spec, brokers, batch_bytes_max).items():
        if setting == MAX_BYTES:
            yield setting, f"{batch_bytes_max} or more", value, _at_least(batch_bytes_max)
        elif setting == MIN_IN_SYNC:
            yield setting, f"{value} or more", value, _at_least(in_sync(brokers))
        else:
            yield setting, value, value, value.__eq__


def _at_least(least: int) -> _Check:
    return lambda found: found.isdigit() and int(found) >= least
