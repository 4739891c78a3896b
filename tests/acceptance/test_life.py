"""How a process starts, ends in order, and comes back after it was killed."""

import concurrent.futures
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.projections.views import VIEWS
from interlock.sdk import Client, Unreachable
from interlock.sdk.types import ENDED
from interlock.targets import load_target
from tests.acceptance.conftest import Shell
from tests.acceptance.program import LINE_S, WAIT_S, command, environment, eventually, order, payment, running, up

ORDERS = load_target("examples.orders:orders")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_process_in_order(tmp_path: Path, number: signal.Signals) -> None:
    """The API answers who waits and takes nothing more, then the shards end, and the exit code is 0."""
    with up(tmp_path) as program, program.client() as client, concurrent.futures.ThreadPoolExecutor() as threads:
        client.publish(ORDERS)
        run_id = client.stimulus(client.emit("Event", "order.placed", data=order("o-1")).stimulus_id, wait_s=WAIT_S)
        watched = threads.submit(lambda: client.run(run_id.starts[0].execution_id, wait_s=WAIT_S))
        assert client.ready().ok
        assert program.end(number) == 0
        assert watched.result(WAIT_S).run.status not in ENDED
        with pytest.raises(Unreachable):
            client.live()
        log = "".join(program.lines)
        assert log.index(f"{number.name}: ending in order") < log.index("shards finish") < log.index("ended in order")


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    with up(tmp_path) as program:
        program.process.send_signal(signal.SIGTERM)
        program.line("ending in order")
        assert program.end(signal.SIGTERM) == 128 + signal.SIGTERM


def test_what_was_acknowledged_survives_a_kill_in_the_middle_of_work(tmp_path: Path) -> None:
    """Proves: STM-04, PRJ-07."""
    orders = [f"o-{number}" for number in range(40)]
    with up(tmp_path) as program, program.client() as client:
        published = client.publish(ORDERS)
        for order_id in orders:
            client.emit("Event", "order.placed", data=order(order_id), correlation=order_id, idempotency_key=order_id)
            if order_id == orders[30]:
                # Half of them are under way, the rest is on its way in.
                client.emit("Event", "payment.received", data=payment("o-0"), correlation="o-0", ttl="1h")
        assert program.end(signal.SIGKILL) == -signal.SIGKILL
    with up(tmp_path) as program, program.client() as client:
        assert client.slot("orders").slot.publication_id == published.publication_id
        for order_id in orders:
            # What was acknowledged is sent once more, as a client does that was cut off; and everything is paid for.
            client.emit("Event", "order.placed", data=order(order_id), correlation=order_id, idempotency_key=order_id)
            client.emit("Event", "payment.received", data=payment(order_id), correlation=order_id, ttl="1h")
        eventually(lambda: client.counts().runs == {"completed": len(orders)}, client)
        runs = client.runs(limit=500).items
        assert {run.publication_id for run in runs} == {published.publication_id}
        for run in (runs[0], runs[-1]):
            events = client.history(run.execution_id).items
            assert [event.revision for event in events] == list(range(1, len(events) + 1))
        assert all(each.state == "live" for each in client.projections())


def test_a_port_in_use_is_told_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = command("up", "--data", str(tmp_path), "--port", str(port))
    assert ended.code == 1
    assert f"expected to listen on 127.0.0.1:{port}" in ended.err
    assert "--port" in ended.err
    assert not (tmp_path / "views").exists()


def test_a_data_directory_that_another_process_works_in_is_told(tmp_path: Path) -> None:
    with up(tmp_path):
        ended = command("up", "--data", str(tmp_path), "--port", "0")
    assert ended.code == 1
    assert "another data directory" in ended.err.splitlines()[-1] or "locked by process" in ended.err


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("--log", "postgres://host"), 2, "sqlite:///path, kafka://host:port or memory:"),
        (("--log", "sqlite://two-slashes"), 2, "sqlite:///path, kafka://host:port or memory:"),
        (("--log", "sqlite:///"), 2, "sqlite:///path, kafka://host:port or memory:"),
        (("--log", "kafka://127.0.0.1:1?prefix=a%20b"), 2, "prefix"),
        (("--log", "sqlite:////proc/none/log.sqlite"), 4, "/proc/none"),
    ],
)
def test_a_log_that_cannot_be_used_is_told(tmp_path: Path, options: tuple[str, ...], code: int, says: str) -> None:
    """Proves: OPS-01."""
    ended = command("up", "--data", str(tmp_path), "--port", "0", *options)
    assert ended.code == code
    assert says in ended.err


def test_a_data_directory_that_takes_no_file_is_told(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "views").write_text("no directory")
    ended = command("serve", "projector", "--data", str(data), "--log", f"sqlite:///{tmp_path / 'log.sqlite'}")
    assert ended.code == 1
    assert f"expected to write to the data directory {data}" in ended.err
    assert "--data" in ended.err
    assert "Traceback" not in ended.err


def test_a_file_of_a_view_that_can_not_be_used_is_told(tmp_path: Path) -> None:
    """As on a full disk, which a test can't have."""
    data = tmp_path / "data"
    for view in VIEWS:
        (data / "views" / f"{view.name}.1.sqlite").mkdir(parents=True)
        (data / "views" / f"{view.name}.sqlite").symlink_to(f"{view.name}.1.sqlite")
    ended = command("serve", "projector", "--data", str(data), "--log", f"sqlite:///{tmp_path / 'log.sqlite'}")
    assert ended.code == 1
    assert f"expected to write to the data directory {data}, found: unable to open database file;" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("name", "value"), [("INTERLOCK_PREFIX", "a b"), ("INTERLOCK_PREFIX", "../x"), ("INTERLOCK_RECONCILE_S", "inf")]
)
def test_a_setting_that_nothing_can_be_done_with_is_told(
    interlock: Shell, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Proves: OPS-01."""
    monkeypatch.setenv(name, value)
    ended = interlock("topics", "check")
    assert ended.code == 2
    assert name.removeprefix("INTERLOCK_").lower() in ended.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--app", "no_such_module"), "no_such_module"),
        (("--port", "70000"), "65535"),
        (("extra",), "extra"),
    ],
)
def test_a_process_that_is_asked_for_wrongly_says_how(interlock: Shell, options: tuple[str, ...], says: str) -> None:
    """Proves: OPS-01."""
    ended = interlock("up", *options)
    assert ended.code == 2
    assert says in ended.err


def test_the_working_directory_is_importable_and_its_settings_are_read(tmp_path: Path) -> None:
    """A user's own module, document and interlock.toml, with nothing but the directory in which they stand."""
    (tmp_path / "interlock.toml").write_text('data = "kept"\napp = ["mine"]\napi = "http://127.0.0.1:0"\n')
    (tmp_path / "mine.py").write_text(
        "from interlock import Workflow, activity, event\n"
        "@activity\nasync def greet(input: dict) -> str:\n    return 'hello ' + input['name']\n"
        "greeting = Workflow('greeting').on(event('came')).then(greet)\n"
    )
    with running("up", cwd=tmp_path) as program:
        program.ready()
        assert command("publish", "mine:greeting", api=program.api, cwd=tmp_path).code == 0
        with program.client() as client:
            stimulus = client.stimulus(client.emit("Event", "came", data={"name": "Ada"}).stimulus_id, wait_s=WAIT_S)
            run = client.run(stimulus.starts[0].execution_id, wait_s=WAIT_S)
        assert run.run.output == "hello Ada"
    assert (tmp_path / "kept" / "interlock.sqlite").exists()


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    with up(tmp_path, app="") as program:
        ran = subprocess.run(
            f"{sys.executable} -m interlock.cli.main projections list --json | true",
            shell=True,
            capture_output=True,
            env=environment() | {"INTERLOCK_API": program.api},
            text=True,
            timeout=LINE_S,
            check=True,
        )
        assert "Traceback" not in ran.stderr
        with Client(program.api) as client:
            assert json.dumps(client.live().problems) == "[]"


STUBBORN = """
import threading, time
from interlock import Workflow, activity, event

@activity
def first() -> None: ...

def hold():
    time.sleep(600)

threading.Thread(target=hold, name="of the user").start()
flow = Workflow("d").on(event("e")).then(first)
"""


def test_a_thread_that_goes_on_keeps_no_process_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "stubborn_of_test.py").write_text(STUBBORN, "utf-8")
    with running("up", "--data", "d", "--port", "0", "--app", "stubborn_of_test", cwd=tmp_path) as program:
        program.ready()
        assert program.end() == 0
        assert program.line("ended in order")
        assert program.line("thread of the user")


def test_a_second_signal_ends_at_once_after_the_end_in_order_too(tmp_path: Path) -> None:
    (tmp_path / "stubborn_of_test.py").write_text(STUBBORN, "utf-8")
    with running("up", "--data", "d", "--port", "0", "--app", "stubborn_of_test", cwd=tmp_path) as program:
        program.ready()
        program.process.send_signal(signal.SIGINT)
        program.line("ended in order")
        assert program.end(signal.SIGTERM) == 128 + signal.SIGTERM


@pytest.mark.parametrize("output", ["> /dev/full", ">&-"])
def test_an_output_that_takes_nothing_is_told_in_a_line(tmp_path: Path, output: str) -> None:
    ran = subprocess.run(
        f"{sys.executable} -m interlock.cli.main topics check --data {tmp_path} {output}",
        shell=True,
        capture_output=True,
        env=environment(),
        text=True,
        timeout=LINE_S,
        check=False,
    )
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1), ran.stderr
    assert "output" in ran.stderr


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("runs", "show", ""), 2, "expected a run's id, found none"),
        (("runs", "show", "x" * 100_000), 2, "at most"),
        (("emit", "Event", ""), 2, "expected a name"),
        (("publish", "examples.orders:orders"), 4, "--command-id"),
        (("publish", "examples.orders:orders", "--command-id", "c-1"), 4, "--command-id c-1"),
    ],
)
def test_a_command_that_reaches_nothing_says_what_to_do(
    interlock: Shell, options: tuple[str, ...], code: int, says: str
) -> None:
    ended = interlock(*options)
    assert ended.code == code
    assert says in ended.err
