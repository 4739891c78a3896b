"""The broker of development and tests: it answers, keeps over a crash what it was given, and leaves no process."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from ops.kafka import BrokerFailed, Cluster, probe
from ops.kafka.source import Source, find_source
from tests.support.kafka import Brokers

ROOT = Path(__file__).resolve().parents[2]
ANSWER_SECONDS_MAX = 90
ENDED_SECONDS_MAX = 20

pytestmark = pytest.mark.kafka


def client(kind: type, *topics: str, **settings: object) -> Any:
    """A client of aiokafka, without its partial types; it turns away from a silent node soon."""
    return kind(*topics, request_timeout_ms=3000, **settings)


async def make_topic(bootstrap: str, topic: str, replicas: int) -> None:
    admin = client(AIOKafkaAdminClient, bootstrap_servers=bootstrap)
    await admin.start()
    try:
        answer = await admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=replicas)])
        assert [error[1] for error in answer.topic_errors] == [0]
    finally:
        await admin.close()


async def produce(bootstrap: str, topic: str, value: bytes) -> None:
    """Sends until it is acknowledged; while a leader is down a try may fail, and may have landed all the same."""
    async with asyncio.timeout(ANSWER_SECONDS_MAX):
        while True:
            producer = client(AIOKafkaProducer, bootstrap_servers=bootstrap, acks="all")
            try:
                await producer.start()
                await producer.send_and_wait(topic, value)
                return
            except KafkaError:
                await asyncio.sleep(0.2)
            finally:
                await producer.stop()


async def consume(bootstrap: str, topic: str, last: bytes) -> list[bytes]:
    """The values from the beginning to `last`, each told once."""
    consumer = client(AIOKafkaConsumer, topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            values: list[bytes] = []
            while last not in values:
                values.append((await consumer.getone()).value)
            return list(dict.fromkeys(values))
    finally:
        await consumer.stop()


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or only waits for a parent to ask how it ended."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return not state.strip() or state.startswith("Z")


async def test_what_is_produced_is_consumed(kafka_bootstrap: str) -> None:
    topic = f"ops-kafka-{os.getpid()}"
    await make_topic(kafka_bootstrap, topic, 1)
    await produce(kafka_bootstrap, topic, b"one")
    await produce(kafka_bootstrap, topic, b"two")
    assert await consume(kafka_bootstrap, topic, b"two") == [b"one", b"two"]


async def test_a_broker_that_was_killed_comes_back_with_its_data(start_kafka: Callable[[int], Brokers]) -> None:
    broker = await asyncio.to_thread(start_kafka, 1)
    await make_topic(broker.bootstrap, "kept", 1)
    await produce(broker.bootstrap, "kept", b"before")
    await asyncio.to_thread(broker.kill, 1)
    await asyncio.to_thread(broker.restart, 1)
    await produce(broker.bootstrap, "kept", b"after")
    assert await consume(broker.bootstrap, "kept", b"after") == [b"before", b"after"]


async def test_a_cluster_goes_on_without_one_of_three(kafka_cluster: Brokers) -> None:
    await make_topic(kafka_cluster.bootstrap, "shared", 3)
    await asyncio.to_thread(kafka_cluster.wait_in_sync)
    await asyncio.to_thread(kafka_cluster.kill, 2)
    await produce(kafka_cluster.bootstrap, "shared", b"with two")
    await asyncio.to_thread(kafka_cluster.restart, 2)
    await asyncio.to_thread(kafka_cluster.wait_in_sync)
    kafka_cluster.pause(3)
    await produce(kafka_cluster.bootstrap, "shared", b"with another two")
    kafka_cluster.resume(3)
    await asyncio.to_thread(kafka_cluster.wait_in_sync)
    assert await consume(kafka_cluster.bootstrap, "shared", b"with another two") == [
        b"with two",
        b"with another two",
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """For a cluster of Java processes, which the tests below look at; where brokers run in Docker may be no Java."""
    if find_source() is Source.DOCKER:
        pytest.skip("the brokers of this run are not processes of this machine's Java")
    return tmp_path


def test_stop_leaves_no_process_and_the_data(folder: Path) -> None:
    cluster = Cluster(folder)
    cluster.start()
    pid, port = cluster.pid(1), int(cluster.bootstrap.rpartition(":")[2])
    cluster.stop()
    assert has_ended(pid)
    assert probe.ask(port) is None
    assert (folder / "data-1" / "meta.properties").exists()


def test_brokers_end_with_a_process_that_was_killed(folder: Path) -> None:
    program = (
        "import pathlib, sys, time\n"
        "from ops.kafka import Cluster\n"
        "cluster = Cluster(pathlib.Path(sys.argv[1]))\n"
        "cluster.start()\n"
        "print(cluster.pid(1), flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(folder)], cwd=ROOT, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        assert not has_ended(pid)
        starter.send_signal(signal.SIGKILL)
    end = time.monotonic() + ENDED_SECONDS_MAX
    while not has_ended(pid):
        assert time.monotonic() < end, f"broker {pid} outlived the process that started it"
        time.sleep(0.1)


def test_a_broker_that_cannot_start_says_why(folder: Path) -> None:
    cluster = Cluster(folder)
    folder.joinpath("data-1").write_text("where the data belongs is a file")
    with pytest.raises(BrokerFailed, match="expected node 1 to be formatted, found the end of"), cluster:
        pass
