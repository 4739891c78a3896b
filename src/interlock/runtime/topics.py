"""The topics of an installation: their names, and how many partitions each has for ever."""

from dataclasses import replace

from interlock.log import schema_topic
from interlock.log.port import Log, LogAdmin, TopicFault, TopicSpec
from interlock.log.schema_topic import SchemaTopic
from interlock.processors.ports import Topics
from interlock.runtime.settings import Settings

CONTEXTS = ("publishing", "routing", "executions")
"""Those that have a journal and an inbox."""


def topics_of(settings: Settings) -> Topics:
    """The names, and the partitions of each context. Publishing has one shard: its position is one number, which
    routing decides at; shells share it."""
    return Topics(
        settings.topics_prefix,
        {"publishing": 1, "routing": settings.routing_shards, "executions": settings.executions_shards},
    )


async def topic_faults(admin: LogAdmin, settings: Settings) -> list[TopicFault]:
    """What is wrong with the topics, with the setting that a count of partitions comes from. Raises `Unavailable`."""
    topics = topics_of(settings)
    set_by = {topics.user("stimuli").topic: "stimuli_partitions"}
    for context in ("routing", "executions"):
        for topic in (topics.journal(context, 0).topic, topics.inbox(context, 0).topic):
            set_by[topic] = f"{context}_shards"

    def told(fault: TopicFault) -> TopicFault:
        setting = set_by.get(fault.topic)
        if fault.setting != "partitions" or setting is None:
            return fault
        remedy = f"set {setting} back to {fault.found}, as it was when the topic was made, or use another prefix"
        return replace(fault, remedy=remedy)

    return [told(fault) for fault in await admin.check(topic_specs(settings))]


def schemas_of(settings: Settings, log: Log) -> SchemaTopic:
    """The topic that holds the schemas."""
    return SchemaTopic(log, topics_of(settings).user(schema_topic.TOPIC))


def topic_specs(settings: Settings) -> list[TopicSpec]:
    """Every topic that the engine needs."""
    topics = topics_of(settings)
    specs: list[TopicSpec] = []
    for context in CONTEXTS:
        partitions = topics.partitions[context]
        specs.append(TopicSpec(name=topics.journal(context, 0).topic, partitions=partitions))
        specs.append(TopicSpec(name=topics.inbox(context, 0).topic, partitions=partitions))
    specs.append(TopicSpec(name=topics.user("stimuli").topic, partitions=settings.stimuli_partitions))
    specs.append(TopicSpec(name=topics.user("replies").topic, partitions=1))
    specs.append(TopicSpec(name=topics.user("dead-letters").topic, partitions=1))
    specs.append(schema_topic.spec(settings.topics_prefix))
    return specs
