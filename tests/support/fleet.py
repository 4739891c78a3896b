"""The real program as processes: roles on one log, each of which may be killed, stopped and started again."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from pathlib import Path

import httpx

from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
READY_S = 60.0


class Member:
    """One process of the fleet."""

    def __init__(self, name: str, arguments: Sequence[str], environment: dict[str, str], output: Path) -> None:
        self.name = name
        self.kills = 0
        self._arguments = arguments
        self._environment = environment
        self._output = output
        self.process: Process | None = None

    async def start(self) -> None:
        """Starts it; it is not ready yet."""
        with self._output.open("ab") as output:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "interlock.cli.main",
                *self._arguments,
                stdin=DEVNULL,
                stdout=output,
                stderr=output,
                cwd=ROOT,
                env=os.environ | self._environment,
            )

    async def kill(self) -> None:
        """Ends it with SIGKILL, as a crash would."""
        assert self.process is not None
        self.kills += 1
        self.process.kill()
        await self.process.wait()

    def send(self, signal_: signal.Signals) -> None:
        """Sends a signal, such as SIGSTOP."""
        assert self.process is not None
        self.process.send_signal(signal_)

    async def end(self) -> int:
        """Asks it to end in order and returns its exit code."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        try:
            return await asyncio.wait_for(self.process.wait(), 30.0)
        except TimeoutError:
            self.process.kill()
            raise


class Fleet:
    """Several processes of the program on one log and one data directory."""

    def __init__(self, log: str, folder: Path, *, app: str, settings: dict[str, str] | None = None) -> None:
        self.api = f"http://127.0.0.1:{free_port()}"
        self.members: list[Member] = []
        self._folder = folder
        self._app = app
        self.log = log
        self.environment = {
            "INTERLOCK_LOG": log,
            "INTERLOCK_DATA": str(folder / "data"),
            "INTERLOCK_API": self.api,
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
        } | (settings or {})

    def add(self, role: str) -> Member:
        """One more process of a role; `start` starts it."""
        name = f"{role}-{sum(1 for one in self.members if one.name.startswith(role))}"
        apps = ["--app", self._app] if role == "executions" else []
        member = Member(name, ["serve", role, *apps], self.environment, self._folder / f"{name}.log")
        self.members.append(member)
        return member

    def of(self, role: str) -> list[Member]:
        """The processes of a role."""
        return [one for one in self.members if one.name.startswith(role)]

    async def run(self, *arguments: str) -> tuple[int, str]:
        """Runs a verb of the program to its end; its exit code and what it printed."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "interlock.cli.main",
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=ROOT,
            env=os.environ | self.environment,
        )
        output, _ = await asyncio.wait_for(process.communicate(), 90.0)
        return process.returncode or 0, output.decode()

    async def start(self) -> None:
        """Starts all and waits until the API is ready."""
        for member in self.members:
            await member.start()
        await self.ready()

    async def ready(self) -> None:
        """Waits until the API says that it is ready."""
        async with asyncio.timeout(READY_S), httpx.AsyncClient(base_url=self.api) as client:
            while True:
                try:
                    answer = await client.get("/health/ready")
                except httpx.HTTPError:
                    await asyncio.sleep(0.1)
                    continue
                if answer.status_code == 200:
                    return
                await asyncio.sleep(0.1)

    async def close(self) -> list[int]:
        """Ends all in order; their exit codes."""
        return list(await asyncio.gather(*(member.end() for member in self.members)))
