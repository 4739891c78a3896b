"""A log that could lose journals, move shards or tell the time wrongly is refused, by `topics check` and by whoever
would start on it, with what to change; and once that is changed it is taken."""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.support.installation import Installation, install
from tests.support.outside import Kafka

pytestmark = [pytest.mark.acceptance, pytest.mark.kafka]

WRONG = {"retention.ms": "604800000", "cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}
"""As a broker's defaults or a careless colleague have it."""


@pytest.fixture
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A prefix without topics; nothing runs."""
    made = install("kafka", request, tmp_path_factory.mktemp("unsafe"))
    try:
        yield made
    finally:
        made.close()


class Admin:
    """What somebody with the rights to it does to topics."""

    def __init__(self, installation: Installation) -> None:
        assert isinstance(installation.outside, Kafka)
        self._outside = installation.outside

    def make(self, topic: str, partitions: int, **settings: str) -> None:
        """Makes a topic."""
        self._ask("create_topics", [NewTopic(topic, partitions, 1, topic_configs=settings)])

    def set(self, topic: str, settings: dict[str, str]) -> None:
        """Sets all of a topic's own settings."""
        self._ask("alter_configs", [ConfigResource(ConfigResourceType.TOPIC, topic, settings)])

    def _ask(self, verb: str, argument: object) -> None:
        async def ask() -> None:
            client = cast("Any", AIOKafkaAdminClient)(bootstrap_servers=self._outside.bootstrap)
            await client.start()
            try:
                await getattr(client, verb)(argument)
            finally:
                await client.close()

        self._outside.runner.run(ask())


def faults(installation: Installation, **settings: str) -> dict[tuple[str, str], dict[str, str]]:
    """Topic and setting → what `topics check` says of it; {} where it is content."""
    code, output = installation.run("topics", "check", "--json", **settings)
    found: list[dict[str, str]] = json.loads(output)["faults"]
    assert code == (1 if found else 0), output
    return {(each["topic"], each["setting"]): each for each in found}


def test_a_journal_that_would_forget_is_refused_until_what_the_remedy_says_is_done(installation: Installation) -> None:
    """Proves: LOG-07"""
    admin, journal = Admin(installation), installation.topic("routing.journal")
    admin.make(journal, 2, **WRONG)
    assert journal not in installation.told("topics", "create", code=1)["made"]
    found = faults(installation)
    assert {setting for topic, setting in found if topic == journal} >= WRONG.keys()
    assert {topic for topic, _ in found} == {journal}
    assert [found[journal, setting]["found"] for setting in WRONG] == list(WRONG.values())
    code, output = installation.run("serve", "routing", "executions")
    assert code == 1
    assert all(word in output for word in (journal, *WRONG, "kafka-configs"))

    right: dict[str, str] = {}
    for fault in found.values():
        told = re.search(r"--entity-name (\S+) --add-config (\S+)=([^\s`]+)", fault["remedy"])
        assert told is not None, fault
        assert told[1] == journal
        right[told[2]] = told[3]
    admin.set(journal, right)
    assert faults(installation) == {}


def test_another_number_of_partitions_than_was_recorded_is_refused(installation: Installation) -> None:
    """Proves: LOG-07 (whether the topics are wrong or the settings are)."""
    assert installation.run("topics", "create")[0] == 0
    more = {"EXECUTIONS_SHARDS": "3"}
    found = faults(installation, **more)
    for topic in ("executions.journal", "executions.inbox"):
        fault = found[installation.topic(topic), "partitions"]
        assert (fault["expected"], fault["found"]) == ("3", "2")
        assert "another prefix" in fault["remedy"]
    code, output = installation.run("serve", "executions", **more)
    assert code == 1
    assert installation.topic("executions.journal") in output
    assert faults(installation) == {}


def test_a_topic_that_is_missing_is_refused_with_how_to_make_it(installation: Installation) -> None:
    """Proves: LOG-07"""
    found = faults(installation)
    assert {setting for _, setting in found} == {"topic"}
    assert len(found) == 10
    assert all("interlock topics create" in fault["remedy"] for fault in found.values())
    code, output = installation.run("serve", "publishing")
    assert code == 1
    assert "interlock topics create" in output


def test_topics_create_registers_the_schemas_and_check_misses_those_that_are_not(installation: Installation) -> None:
    """Proves: LOG-03, LOG-07"""
    schemas = installation.topic("schemas")
    Admin(installation).make(schemas, 1, **{"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"})
    [fault] = [
        each for (topic, setting), each in faults(installation).items() if (topic, setting) == (schemas, "schemas")
    ]
    assert "interlock topics create" in fault["remedy"]
    registered = json.loads(installation.run("topics", "create", "--json")[1])["registered"]
    assert "executions.ExecutionStarted v1" in registered
    assert (schemas, "schemas") not in faults(installation)
    assert json.loads(installation.run("topics", "create", "--json")[1])["registered"] == []


def test_a_clock_that_is_off_is_refused(installation: Installation) -> None:
    """Proves: LOG-07 (no two measurements of two clocks agree to the last digit, so none is within 0 ms)."""
    assert installation.run("topics", "create")[0] == 0
    strict = {"MAX_CLOCK_SKEW_MS": "0"}
    fault = faults(installation, **strict)["all", "clock"]
    assert "NTP" in fault["remedy"]
    code, output = installation.run("serve", "routing", **strict)
    assert code == 1
    assert "set the machine's clock (NTP)" in output
