"""The processes of docker-compose.yml, started here by the same commands, on an embedded log that they share."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import cast

import pytest
import yaml

from examples.demo.program import free_port
from examples.orders.generate import order_placed, payment_received, text
from interlock.sdk import Client, Unreachable
from interlock.targets import load_target
from tests.support import tampering

pytestmark = pytest.mark.acceptance

ROOT = Path(__file__).resolve().parents[2]
INTERLOCK = str(Path(sys.executable).with_name("interlock"))
DEADLINE_S = 60


class Processes:
    """One process for each service that serves a role."""

    def __init__(self, data: Path, until: ExitStack) -> None:
        found = cast(
            "dict[str, dict[str, list[str]]]", yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
        )
        services = cast("dict[str, dict[str, list[str]]]", found["services"])
        self.commands = {
            name: one["command"] for name, one in services.items() if one.get("command", [""])[0] == "serve"
        }
        self.clients = {name: self._client(until) for name in self.commands}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.trigger_index = data / "views" / "trigger-index.sqlite"
        self._data = data
        self._until = until

    def start(self, name: str) -> None:
        """Starts the process of a service, on a port of its own."""
        *command, port_option, _ = self.commands[name]
        assert port_option == "--port"
        port = self.clients[name].base_url.rpartition(":")[2]
        settings = {
            "INTERLOCK_DATA": str(self._data),
            "INTERLOCK_LOG": f"sqlite:///{self._data / 'log.sqlite'}",
            "INTERLOCK_RECONCILE_S": "0.5",
        }
        kept = {key: value for key, value in os.environ.items() if not key.startswith("INTERLOCK_")}
        log = self._until.enter_context((self._data / f"{name}.log").open("ab"))
        process = subprocess.Popen(
            [INTERLOCK, *command, port_option, port], cwd=ROOT, env=kept | settings, stdout=log, stderr=log
        )
        self.running[name] = process
        self._until.callback(_end, process)

    def await_ready(self) -> None:
        """Returns when every process says that it serves."""
        deadline = time.monotonic() + DEADLINE_S
        for name, client in self.clients.items():
            while problems := _problems(client):
                assert self.running[name].poll() is None, (self._data / f"{name}.log").read_text("utf-8")
                assert time.monotonic() < deadline, f"{name}: {problems}"
                time.sleep(0.05)

    def _client(self, until: ExitStack) -> Client:
        return until.enter_context(closing(Client(f"http://127.0.0.1:{free_port()}")))


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """The processes, ready; the last test ends them."""
    with ExitStack() as until:
        made = Processes(tmp_path_factory.mktemp("roles"), until)
        for name in made.commands:
            made.start(name)
        made.await_ready()
        yield made


def test_every_process_says_how_it_is(processes: Processes) -> None:
    for name, client in processes.clients.items():
        assert client.live().ok
        assert client.ready().roles == (name,)


def test_the_process_that_reconciles_has_rows_repaired_that_another_one_holds(processes: Processes) -> None:
    """Proves: PRJ-05"""
    api = processes.clients["api"]
    published = api.publish(load_target("examples.orders:orders"))
    assert tampering.change(processes.trigger_index, "DELETE FROM bindings") == 1
    deadline = time.monotonic() + DEADLINE_S
    while not (repairs := api.repairs().items):
        assert time.monotonic() < deadline, "expected a repair, found none"
        time.sleep(0.05)
    # A pass that comes before the view has folded the repair finds the same again.
    found = {(each.publication_id, each.missing, each.requested_by) for each in repairs}
    assert found == {(published.publication_id, 1, "")}
    # The repair is told by one view, and the rows are another's, which may be behind it for a moment.
    while drifted := api.reconcile(dry_run=True).drifted:
        assert time.monotonic() < deadline, drifted
        time.sleep(0.05)


def test_roles_in_processes_of_their_own_are_one_system(processes: Processes) -> None:
    """Proves: OWN-01"""
    api = processes.clients["api"]
    assert api.publish(load_target("examples.orders:orders")).status == "active"
    chance = random.Random(4)
    orders = [order_placed(chance, f"ord-{number}") for number in range(20)]
    for order in orders:
        api.emit_json(text(order))
    for name in ("routing", "executions", "publishing", "projector"):
        processes.running[name].kill()
        processes.running[name].wait()
        if name == "projector":
            assert [problem for problem in api.ready().problems if "no process projects the view executions" in problem]
        processes.start(name)
    for order in orders:
        api.emit_json(text(payment_received(order)))

    deadline = time.monotonic() + DEADLINE_S
    seen: str | None = None
    while True:
        # The projector was killed too: until its view has caught up again, the API says so instead of counting.
        counts = api.counts(wait_s=DEADLINE_S, seen=seen)
        seen = counts.mark
        if counts.runs == {"completed": 20}:
            break
        assert time.monotonic() < deadline, counts

    for process in processes.running.values():
        process.send_signal(signal.SIGTERM)
    assert {name: process.wait(DEADLINE_S) for name, process in processes.running.items()} == dict.fromkeys(
        processes.running, 0
    )


def _problems(client: Client) -> tuple[str, ...]:
    try:
        return client.ready().problems
    except Unreachable as error:
        return (str(error),)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
