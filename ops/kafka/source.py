"""Where the tests' broker comes from: one that runs already, a Docker engine, or Java with what Maven fetched."""

import os
import shutil
import subprocess
from enum import Enum

from ops.kafka.errors import KafkaMissing
from ops.kafka.fetch import KAFKA_VERSION, fetch
from ops.kafka.needs import docker_answers, java

IMAGE = f"apache/kafka:{KAFKA_VERSION}"
CHOICE = "INTERLOCK_TEST_KAFKA"
"""Names the environment variable that holds `host:port` of a broker to use as it is, or `java` to pass Docker by."""
PULL_SECONDS_MAX = 900


class Source(Enum):
    """How a broker of the tests' own is started, in the order in which they are tried."""

    DOCKER = f"{IMAGE} in Docker"
    JAVA = f"Apache Kafka {KAFKA_VERSION} with this machine's Java"


def running() -> str | None:
    """`host:port` of a broker that is up already, for the tests that share one."""
    chosen = os.environ.get(CHOICE, "")
    return chosen if ":" in chosen else None


def find_source() -> Source:
    """The first that can be had, made ready: image pulled, jars fetched. Raises `KafkaMissing` where none can."""
    docker = "expected a Docker engine to answer, found none"
    if os.environ.get(CHOICE) != "java" and docker_answers():
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
