"""What a broker needs from the machine, looked for and named where it is missing; nothing is installed from here."""

import os
import re
import shutil
import subprocess
from functools import cache

from ops.kafka.errors import KafkaMissing

JAVA_VERSION_MIN = 17
"""What Apache Kafka 4 asks of the machine that runs a broker."""

JAVA_WANTED = (
    f"Java {JAVA_VERSION_MIN} or newer: install a JDK (Debian: default-jdk-headless; macOS: openjdk) and have `java` "
    "on PATH or JAVA_HOME set"
)
MAVEN_WANTED = "Maven: install it (Debian, macOS: maven) and have `mvn` on PATH; it fetches Apache Kafka once"


def java() -> str:
    """The `java` to start brokers with; JAVA_HOME's before the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    command = shutil.which(os.path.join(home, "bin", "java")) if home else shutil.which("java")
    if command is None:
        raise KafkaMissing(f"expected to find java, found none; needed is {JAVA_WANTED}")
    version = _java_version(command)
    if version < JAVA_VERSION_MIN:
        raise KafkaMissing(f"expected {command} to be newer, found version {version}; needed is {JAVA_WANTED}")
    return command


def maven() -> str:
    """The `mvn` to fetch Apache Kafka with."""
    command = shutil.which("mvn")
    if command is None:
        raise KafkaMissing(f"expected to find mvn, found none; needed is {MAVEN_WANTED}")
    return command


@cache
def docker_answers() -> bool:
    """Whether a Docker engine can be spoken to; a client alone starts no broker."""
    command = shutil.which("docker")
    if command is None:
        return False
    try:
        asked = subprocess.run(
            [command, "version", "--format", "{{.Server.Version}}"], capture_output=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0 and bool(asked.stdout.strip())


@cache
def _java_version(command: str) -> int:
    """The first number of `java -version`, which macOS's stub and other things that are no Java don't print: 0."""
    try:
        asked = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)', asked.stderr + asked.stdout)
    return int(found.group(1)) if found else 0
