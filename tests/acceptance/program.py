"""The program as a user starts it: processes of their own, and commands with their exit codes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.sdk import Client

ROOT = Path(__file__).resolve().parents[2]
LINE_S = 60.0
"""How long a process may take to say what it is expected to say, on a machine that is busy with other tests."""
WAIT_S = 30.0
"""How long the engine may take to do what takes it milliseconds."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


class Program:
    """A process that runs until it is told to end."""

    def __init__(self, *arguments: str, cwd: Path = ROOT) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "interlock.cli.main", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment(),
            text=True,
        )
        self.lines: list[str] = []
        self._said = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def line(self, part: str) -> str:
        """The first line of its log that holds this, once it is there."""
        deadline = time.monotonic() + LINE_S
        with self._said:
            while True:
                for line in self.lines:
                    if part in line:
                        return line
                remaining_s = deadline - time.monotonic()
                if remaining_s <= 0 or not self._reader.is_alive():
                    raise AssertionError(f"expected a line with {part!r}, found:\n{''.join(self.lines)}")
                self._said.wait(min(remaining_s, 1.0))

    @property
    def api(self) -> str:
        """Where its API listens."""
        return "http://" + self.line("the API listens on").partition("http://")[2].strip()

    def client(self) -> Client:
        """A client of its API."""
        return Client(self.api)

    def ready(self) -> "Program":
        """Waits until it serves."""
        with self.client() as client:
            health = client.ready(wait_s=WAIT_S)
        assert health.ok, health.problems
        return self

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal and waits for the end; the exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Waits for the end; the exit code."""
        code = self.process.wait(LINE_S)
        self._reader.join(LINE_S)
        return code

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._said:
                self.lines.append(line)
                self._said.notify_all()
        with self._said:
            self._said.notify_all()


@contextmanager
def running(*arguments: str, cwd: Path = ROOT) -> Generator[Program, None, None]:
    """A process, which has ended when the test leaves."""
    program = Program(*arguments, cwd=cwd)
    try:
        yield program
    finally:
        if program.process.poll() is None:
            program.process.kill()
        program.wait()
        for pipe in (program.process.stdout, program.process.stderr):
            if pipe is not None:
                pipe.close()


@contextmanager
def up(data: Path, *more: str, app: str = "examples.orders") -> Generator[Program, None, None]:
    """Everything in one process on the embedded log, ready."""
    apps = ("--app", app) if app else ()
    with running("up", "--data", str(data), "--port", "0", *apps, *more) as program:
        yield program.ready()


def command(*arguments: str, api: str = "", given: str = "", cwd: Path = ROOT) -> Ended:
    """A command from its start to its end, as a process."""
    more = {"INTERLOCK_API": api} if api else {}
    ran = subprocess.run(
        [sys.executable, "-m", "interlock.cli.main", *arguments],
        input=given,
        capture_output=True,
        cwd=cwd,
        env=environment() | more,
        text=True,
        timeout=LINE_S,
        check=False,
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return Ended(ran.returncode, ran.stdout, ran.stderr)


def environment() -> dict[str, str]:
    """The environment of a user who has set nothing."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    return kept | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))), "PYTHONUNBUFFERED": "1"}


def eventually(look: Callable[[], Any], client: Client) -> Any:
    """What `look` gives once it gives something; looks again whenever the engine has done something."""
    deadline = time.monotonic() + WAIT_S
    seen = client.counts(wait_s=WAIT_S).mark
    while not (found := look()):
        assert time.monotonic() < deadline, "expected it by now, found nothing"
        seen = client.counts(wait_s=1, seen=seen).mark
    return found


def order(order_id: str) -> dict[str, object]:
    """The payload of an order of 20 euros."""
    line = {"sku": "mug-blue", "quantity": 2, "unit_price_cents": 1000}
    return {"order_id": order_id, "customer": "Ada", "country": "FR", "lines": [line]}


def payment(order_id: str, cents: int = 2000) -> dict[str, object]:
    """The payload of what was paid for it."""
    return {"order_id": order_id, "payment_id": f"pay-{order_id}", "amount_cents": cents}
