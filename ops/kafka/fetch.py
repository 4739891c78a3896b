"""Apache Kafka's jars, fetched once with Maven into a folder that is complete whenever it is there.

The jars go to `.kafka/libs/<version>` of the checkout, or to `libs/<version>` of $INTERLOCK_KAFKA_HOME. Maven fills a
folder beside it, which is then renamed: a fetch that was cut off leaves nothing that looks finished, and where the
folder is there nothing is asked of the network. Two fetches at once take turns at a lock, and the second finds the work
done.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ops.kafka.errors import KafkaMissing
from ops.kafka.needs import maven

KAFKA_VERSION = "4.3.1"
SLF4J_VERSION = "2.0.20"
FETCH_SECONDS_MAX = 900
"""44 MB over a slow line; past that something hangs."""

POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>interlock</groupId><artifactId>kafka-broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{KAFKA_VERSION}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-api</artifactId><version>{SLF4J_VERSION}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>{SLF4J_VERSION}</version></dependency>
  </dependencies>
</project>
"""


def home() -> Path:
    """Where jars and the data of `make kafka` are kept."""
    chosen = os.environ.get("INTERLOCK_KAFKA_HOME")
    return Path(chosen).expanduser().resolve() if chosen else Path(__file__).resolve().parents[2] / ".kafka"


def jars() -> Path:
    """The folder of the jars, whether it is there or not."""
    return home() / "libs" / KAFKA_VERSION


def fetch() -> Path:
    """Makes sure that the jars are there, and says where. Raises `KafkaMissing` where they can't be had."""
    if jars().is_dir():
        return jars()
    with _alone():
        if not jars().is_dir():
            _fetch()
    return jars()


@contextmanager
def _alone() -> Generator[None]:
    home().mkdir(parents=True, exist_ok=True)
    with open(home() / "fetch.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch() -> None:
    command = maven()
    print(f"kafka: fetching Apache Kafka {KAFKA_VERSION} with Maven into {jars()}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=home()) as folder:
        pom, target = Path(folder, "pom.xml"), Path(folder, "libs")
        pom.write_text(POM, "utf-8")
        arguments = ["dependency:copy-dependencies", f"-DoutputDirectory={target}", "-DincludeScope=runtime"]
        try:
            subprocess.run(
                # A jar whose checksum differs fails the fetch, instead of a warning that nobody reads.
                [
                    command,
                    "--quiet",
                    "--batch-mode",
                    "-Dstyle.color=never",
                    "--strict-checksums",
                    "--file",
                    str(pom),
                    *arguments,
                ],
                check=True,
                timeout=FETCH_SECONDS_MAX,
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise KafkaMissing(
                f"expected Maven to fetch Apache Kafka {KAFKA_VERSION}, found {error}; needed is, once, a network "
                "that reaches Maven's central repository or a mirror of it in Maven's settings"
            ) from error
        jars().parent.mkdir(exist_ok=True)
        shutil.rmtree(jars(), ignore_errors=True)
        target.rename(jars())
