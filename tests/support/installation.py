"""One installation of the real program, `interlock up` in a process of its own, and everybody around it."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from interlock.domain.routing.intake import stimulus_id
from interlock.domain.sharding import stimulus_identity
from interlock.sdk import ApiError, Client, Unreachable
from interlock.sdk.types import ENDED, RunDetail, StimulusDetail
from interlock.targets import load_target
from tests.support.outside import Embedded, Kafka, Outside
from tests.support.ports import free_port

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 60.0
"""How long anything may take on a busy machine."""
BOTH_LOGS = ["embedded", pytest.param("kafka", marks=pytest.mark.kafka)]
"""What a fixture that makes installations is parametrised with."""


class Installation:
    """A log, a data directory, and a process that runs everything; `kill` and `start` as often as one likes."""

    def __init__(self, url: str, prefix: str, outside: Outside, folder: Path, **settings: str) -> None:
        """`settings` are further ones, as in INTERLOCK_<NAME>."""
        self.url = url
        self.outside = outside
        self.data = folder / "data"
        self.blobs = (folder if url.startswith("sqlite:") else self.data) / "blobs"
        """Where it keeps what is too large for its log."""
        self.client = Client(f"http://127.0.0.1:{free_port()}")
        self._prefix = prefix
        self._output = folder / "up.log"
        self._process: subprocess.Popen[bytes] | None = None
        chosen = {"ROUTING_SHARDS": "2", "EXECUTIONS_SHARDS": "2", "STIMULI_PARTITIONS": "2"}
        chosen |= {"SESSION_TIMEOUT_MS": "2000", "LOG": url, "DATA": str(self.data), "API": self.client.base_url}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
        self.environment = kept | {f"INTERLOCK_{name}": value for name, value in (chosen | settings).items()}

    # ---- its life

    def start(self, *apps: str, serving: bool = True) -> None:
        """Starts the process with these apps, and returns once it serves, unless it is not expected to."""
        told = [word for app in apps for word in ("--app", app)]
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                [*_PROGRAM, "up", *told], cwd=ROOT, env=self.environment, stdout=output, stderr=output
            )
        if serving:
            until(self._serves, "a process that serves")

    def kill(self) -> None:
        """SIGKILL."""
        process = self._running()
        process.kill()
        process.wait()
        self._process = None

    def stop(self) -> None:
        """SIGTERM; the process has to end in order."""
        process = self._running()
        process.terminate()
        self._process = None
        assert process.wait(WAIT_S) == 0, self.last_lines()

    def close(self) -> None:
        """Leaves nothing running."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self.outside.close()
        self.client.close()

    def last_lines(self) -> str:
        """The end of what the process said."""
        return "\n".join(self._output.read_text("utf-8", "replace").splitlines()[-40:])

    # ---- what is done to it

    def run(self, *arguments: str, **settings: str) -> tuple[int, str]:
        """A verb of the command line: its exit code, and what it says on stdout."""
        environment = self.environment | {f"INTERLOCK_{name}": value for name, value in settings.items()}
        done = subprocess.run(
            [*_PROGRAM, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout or done.stderr

    def told(self, *arguments: str, code: int = 0) -> Any:
        """The document that a verb prints with `--json`; it has to end with this code."""
        found, output = self.run(*arguments, "--json")
        assert found == code, output
        return json.loads(output)

    def publish(self, target: str) -> None:
        """Publishes a workflow, and returns once it is active."""
        assert self.client.publish(load_target(target)).status == "active"

    def topic(self, name: str) -> str:
        """The whole name of a topic."""
        return f"{self._prefix}.{name}"

    def dead_letters(self) -> list[dict[str, Any]]:
        """Those of the topic, each once: they are delivered at least once."""
        found = [json.loads(record.value) for record in self.outside.read(self.topic("dead-letters"))]
        return list({letter["id"]: letter for letter in found}.values())

    def routed(self, name: str, key: str, correlation: str = "") -> StimulusDetail:
        """The stimulus with this key, once it was routed."""
        return self.client.stimulus(id_of(name, key, correlation), wait_s=30)

    def ended(self, name: str, key: str, correlation: str = "") -> RunDetail:
        """The only run that a stimulus started, once it has ended."""
        [start] = self.routed(name, key, correlation).starts
        run = self.client.run(start.execution_id, wait_s=30)
        assert run.run.ended_at_ms is not None, run
        return run

    def becomes(self, execution_id: str, status: str) -> RunDetail:
        """A run, once it has this status."""
        found = self.client.run(execution_id, wait_s=30, seen="")
        while found.run.status != status:
            assert found.run.status not in ENDED, f"expected the run to be {status}, found {found}"
            mark, found = found.mark, self.client.run(execution_id, wait_s=30, seen=found.mark)
            assert found.mark != mark, f"expected the run to be {status} within 30 s, found {found}"
        return found

    def types(self, stream: str) -> list[str]:
        """What has happened to an aggregate by now; [] where nothing has."""
        # Another view, such as the one that told that a run has ended, may be ahead of the history.
        until(lambda: self.client.projection("history").lag == 0, "the history to know of everything")
        try:
            return [each.type for each in self.client.history(stream).items]
        except ApiError as error:
            if error.kind != "not-found":
                raise
            return []

    # ---- within

    def _serves(self) -> bool:
        assert self._running().poll() is None, self.last_lines()
        try:
            return self.client.ready(wait_s=5).ok
        except Unreachable:
            return False

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "expected a process that was started"
        return self._process


def install(log: str, request: pytest.FixtureRequest, folder: Path, **settings: str) -> Installation:
    """An installation on one of `BOTH_LOGS`, on Kafka with a prefix of its own; nothing is started yet."""
    if log == "embedded":
        url = f"sqlite:///{folder / 'log.sqlite'}"
        return Installation(url, "interlock", Embedded(url), folder, **settings)
    bootstrap = cast("str", request.getfixturevalue("kafka_bootstrap"))
    prefix = f"e2e-{random.randrange(10**9)}"
    return Installation(f"kafka://{bootstrap}?prefix={prefix}", prefix, Kafka(bootstrap), folder, **settings)


def until(look: Callable[[], T | None], what: str) -> T:
    """Looks again and again until what is found is true, and returns it."""
    deadline = time.monotonic() + WAIT_S
    while not (found := look()):
        assert time.monotonic() < deadline, f"expected {what} within {WAIT_S:g} s, found {found!r}"
        time.sleep(0.05)
    return found


def stimulus(name: str, data: object, key: str = "", correlation: str = "", **more: object) -> bytes:
    """A stimulus as its client writes it."""
    fields: dict[str, object] = {"type": "Event", "name": name, "data": data}
    optional = {"idempotencyKey": key, "correlation": correlation}
    return json.dumps(fields | {name: value for name, value in optional.items() if value} | more).encode()


def id_of(name: str, key: str, correlation: str = "") -> str:
    """The id of a stimulus with an idempotency key."""
    return stimulus_id("default", stimulus_identity("Event", name), correlation, key)


_PROGRAM = [sys.executable, "-m", "interlock.cli.main"]
