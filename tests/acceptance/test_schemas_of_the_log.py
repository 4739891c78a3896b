"""The topic of schemas on the embedded log: it is all that a reader needs, and what is missing is told."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from examples.plain_client import counted, decoded, registered
from interlock.log.sqlite.log import SqliteLog
from interlock.runtime.settings import Settings
from interlock.runtime.topics import topic_specs
from tests.support.installation import Installation, install

APP = "tests.support.errands"
CONTEXTS = {"publishing": 1, "routing": 2, "executions": 2}


@pytest.fixture
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Nothing runs yet."""
    made = install("embedded", request, tmp_path_factory.mktemp("schemas"))
    try:
        yield made
    finally:
        made.close()


def test_every_record_of_every_journal_is_read_by_what_the_topic_of_schemas_holds(installation: Installation) -> None:
    """Proves: LOG-03"""
    installation.start(APP)
    installation.publish(f"{APP}:errands")
    installation.client.emit("Event", "errand.asked", data={"a": "ü"}, idempotency_key="k", correlation="k")
    run = installation.ended("errand.asked", "k", "k")
    installation.stop()
    schemas = registered(installation.outside.read(installation.topic("schemas")))
    said: dict[str, dict[str, Any]] = {}
    for context, partitions in CONTEXTS.items():
        for partition in range(partitions):
            for append in counted(installation.outside.read(installation.topic(f"{context}.journal"), partition)):
                for record in append:
                    fact, headers = decoded(record.value, schemas), dict(record.headers)
                    if headers["kind"] == b"event":
                        said[headers["type"].decode()] = fact
    started = said["executions.ExecutionStarted"]
    assert started["stimulus_id"] == run.run.stimulus_id
    assert json.loads(started["data"]) == {"a": "ü"}
    assert {"publishing.SlotActivated", "routing.StimulusRouted", "executions.ExecutionCompleted"} <= said.keys()


def test_schemas_that_are_missing_are_told_and_registered_by_topics_create(installation: Installation) -> None:
    """Proves: LOG-03, LOG-07"""
    asyncio.run(_make_topics(installation))
    [fault] = installation.told("topics", "check", code=1)["faults"]
    assert (fault["topic"], fault["setting"]) == ("interlock.schemas", "schemas")
    assert "interlock topics create" in fault["remedy"]
    findings = installation.told("doctor", code=1)["findings"]
    [finding] = [each for each in findings if each["what"] == "topics"]
    assert not finding["ok"]
    assert "interlock.schemas: schemas is no publishing." in finding["found"]
    assert installation.run("topics", "create")[0] == 0
    assert installation.run("topics", "check")[0] == 0


async def _make_topics(installation: Installation) -> None:
    """As a release that knew of no schemas left them."""
    log = SqliteLog(installation.url.removeprefix("sqlite:///"))
    await log.create(topic_specs(Settings(routing_shards=2, executions_shards=2, stimuli_partitions=2)))
    await log.close()
