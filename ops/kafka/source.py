"""Where the tests' broker comes from: one that runs already, a Docker engine, or Java with what Maven fetched."""

import os
import shutil
import subprocess
from enum import Enum

from ops.kafka.errors import KafkaMissing
from ops.kafka.fetch import KAFKA_VERSION, fetch
from ops.kafka.needs import docker_answers, java

IMAGE = f"apache/kafka:{KAFKA_VERSION}"
RUNNING = "INTERLOCK_TEST_KAFKA"
"""The name of the environment variable that holds `host:port` of a broker to use as it is."""
PULL_SECONDS_MAX = 900


class Source(Enum):
    """The three, in the order in which they are tried."""

    RUNNING = f"the broker that ${RUNNING} names"
    DOCKER = f"{IMAGE} in Docker"
    JAVA = f"Apache Kafka {KAFKA_VERSION} with this machine's Java"


def find_source() -> Source:
    """The first that can be had, made ready: image pulled, jars fetched. Raises `KafkaMissing` where none can."""
    if os.environ.get(RUNNING):
        return Source.RUNNING
    docker = "expected a Docker engine to answer, found none"
    if docker_answers():
        docker = f"expected the Docker engine to have or pull {IMAGE}, found that it can't"
        if _has_image():
            return Source.DOCKER
    try:
        java()
        fetch()
    except KafkaMissing as missing:
        raise KafkaMissing(f"{docker};\nand {missing}") from missing
    return Source.JAVA


def _has_image() -> bool:
    docker = shutil.which("docker") or "docker"
    for command in ([docker, "image", "inspect", IMAGE], [docker, "pull", IMAGE]):
        try:
            if subprocess.run(command, capture_output=True, timeout=PULL_SECONDS_MAX, check=False).returncode == 0:
                return True
        except (OSError, subprocess.TimeoutExpired):
            return False
    return False
