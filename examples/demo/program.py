"""The program as a user starts it: `interlock up` in a process of its own, and the command line beside it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from interlock.sdk import Client, Unreachable

READY_S = 60.0
"""How long a process may take to serve: a lease of one that was killed runs out first."""
STOP_S = 30.0
LOG_LINES_SHOWN = 30


class DemoFailed(Exception):
    """Something didn't hold; the message says what was expected and what was found."""


class Program:
    """One installation on the embedded log in a directory, run by one process after another."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.log_file = data / "up.log"
        self.address = f"http://127.0.0.1:{free_port()}"
        self.client = Client(self.address)
        self._command = [str(Path(sys.executable).with_name("interlock"))]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Starts the process and gives the seconds until it serves."""
        started = time.monotonic()
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, "up", "--app", "examples.orders"], env=self._environment(), stdout=log, stderr=log
            )
        problems: Sequence[str] = ("no answer yet",)
        while problems:
            if self._process.poll() is not None:
                raise DemoFailed(f"expected the process to run, found that it ended with {self._process.returncode}")
            if time.monotonic() - started > READY_S:
                raise DemoFailed(f"expected the process to serve within {READY_S:g} s, found: {'; '.join(problems)}")
            time.sleep(0.05)
            try:
                problems = self.client.ready().problems
            except Unreachable as error:
                problems = (str(error),)
        return time.monotonic() - started

    def kill(self) -> None:
        """Ends the process where it stands: SIGKILL."""
        process = self._running()
        process.kill()
        process.wait()
        self._process = None

    def stop(self) -> None:
        """Asks the process to end in order (SIGTERM), and waits for it."""
        process = self._running()
        process.send_signal(signal.SIGTERM)
        code = process.wait(STOP_S)
        self._process = None
        if code != 0:
            raise DemoFailed(f"expected the process to end in order with 0, found {code}")

    def close(self) -> None:
        """Leaves nothing running, whatever happened."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self.client.close()

    def run(self, *arguments: str) -> str:
        """What a command of the command line prints. Raises `DemoFailed` where it does not end with 0."""
        done = subprocess.run(
            [*self._command, *arguments], env=self._environment(), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise DemoFailed(
                f"expected `interlock {' '.join(arguments)}` to end with 0, found {done.returncode}: {done.stderr}"
            )
        return done.stdout.rstrip()

    def last_lines(self) -> str:
        """The end of the process's own log."""
        return "\n".join(self.log_file.read_text("utf-8", "replace").splitlines()[-LOG_LINES_SHOWN:])

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise AssertionError("expected a process that runs, found none")
        return self._process

    def _environment(self) -> dict[str, str]:
        """The user's own, without settings that belong to another installation."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
        return kept | {"INTERLOCK_DATA": str(self.data), "INTERLOCK_API": self.address}


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
