"""A cluster of one or three brokers on this machine, whose nodes can be killed, paused and brought back.

Each node is broker and controller in one Java process, the leader of a process group of its own: a Ctrl-C at the
terminal reaches who started the cluster, not the nodes, and a guard ends them where that one was killed. Nothing here
touches an event loop; in a coroutine, what waits (`start`, `restart`, `wait_in_sync`, `stop`) belongs into
`asyncio.to_thread`.

    with Cluster(folder, nodes=3) as cluster:
        ... cluster.bootstrap ...
        cluster.kill(2)
        cluster.restart(2)
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from ops.kafka import guard, probe
from ops.kafka.errors import BrokerFailed
from ops.kafka.fetch import fetch
from ops.kafka.needs import java
from ops.kafka.ports import addresses
from ops.kafka.settings import JVM, Address, properties

START_SECONDS_MAX = 90
"""A node takes three seconds where it has a core; a machine that does much else is given time."""
STOP_SECONDS_MAX = 15
"""What a node may take to close its logs before it is killed; a quorum that others left already never closes."""
IN_SYNC_SECONDS_MAX = 60
LOG_LINES = 15
"""How much of a broker's log an error shows."""


class Cluster:
    """Brokers in one folder. A folder that holds a cluster of before is continued, with its data."""

    def __init__(self, folder: Path, *, nodes: int = 1, port: int | None = None) -> None:
        """With `port` the nodes listen there and on the ports behind it, else on any free ones."""
        self.folder = folder.resolve()
        self._addresses = addresses(nodes, port)
        self._java = java()
        self._jars = fetch()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._paused: set[int] = set()
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """What a client is given to connect to: every node, whether it is up or not."""
        return ",".join(f"127.0.0.1:{address.port}" for address in self._addresses)

    @property
    def nodes(self) -> Sequence[int]:
        """The numbers of the nodes, from 1."""
        return [address.node for address in self._addresses]

    def pid(self, node: int) -> int:
        """The process of a node that is up or paused."""
        return self._processes[node].pid

    def is_up(self) -> bool:
        """Whether every node that was started and not killed still runs."""
        return all(process.poll() is None for process in self._processes.values())

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop(grace_s=0)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # Whoever leaves a `with` is done with the data; closing the logs in order would only take time.
        self.stop(grace_s=0)

    def start(self) -> None:
        """Starts every node and returns when all of them answer and know each other."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._format()
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        for address in self._addresses:
            self._launch(address)
        everyone = frozenset(self.nodes)
        for address in self._addresses:
            self._wait(
                partial(probe.knows, address.port, everyone), START_SECONDS_MAX, f"node {address.node} to answer"
            )

    def kill(self, node: int) -> None:
        """Ends a node with SIGKILL, as a crash would; returns when it is gone."""
        self._forget(node, signal.SIGKILL, wait_s=None)

    def pause(self, node: int) -> None:
        """Stops a node where it stands; nothing answers on its open connections. Returns when it stands."""
        os.kill(self.pid(node), signal.SIGSTOP)
        # A busy machine takes its time to stop all threads of the virtual machine, and until then they answer.
        os.waitid(os.P_PID, self.pid(node), os.WSTOPPED)
        self._paused.add(node)

    def resume(self, node: int) -> None:
        """Lets a paused node go on."""
        self._paused.discard(node)
        os.kill(self.pid(node), signal.SIGCONT)

    def restart(self, node: int) -> None:
        """Starts a node again, after ending it in order where it is up; returns when it is part of its cluster."""
        if node in self._processes:
            self._forget(node, signal.SIGTERM, wait_s=STOP_SECONDS_MAX)
        address = self._addresses[node - 1]
        self._launch(address)
        self._wait(partial(probe.knows, address.port, frozenset({node})), START_SECONDS_MAX, f"node {node} to answer")

    def wait_in_sync(self, timeout_s: float = IN_SYNC_SECONDS_MAX) -> None:
        """Returns when every partition has a leader and all its replicas: when the next node may fall."""
        ports = [address.port for address in self._addresses]
        done = partial(probe.in_sync, ports, frozenset(self.nodes))
        self._wait(done, timeout_s, "every replica to be in sync")

    def stop(self, *, grace_s: float = STOP_SECONDS_MAX) -> None:
        """Ends every node: in order where `grace_s` allows it, else at once. May be called again."""
        if grace_s:
            for node in self.nodes:
                if node in self._processes:
                    self.resume(node)
                    self._processes[node].terminate()
        end = time.monotonic() + grace_s
        for node in list(self._processes):
            self._forget(node, None if grace_s else signal.SIGKILL, wait_s=max(end - time.monotonic(), 0))
        self._paused.clear()
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
            self._guard.wait()
            self._guard = None

    def _format(self) -> None:
        new = [address for address in self._addresses if not (self._data(address) / "meta.properties").exists()]
        for address in self._addresses:
            text = properties(address, self._addresses, self._data(address))
            self._settings(address).write_text(text, "utf-8")
        if not new:
            return
        cluster = _kafka_uuid()
        voters = ",".join(f"{each.node}@127.0.0.1:{each.controller_port}:{_kafka_uuid()}" for each in self._addresses)
        first = ["--standalone"] if len(self._addresses) == 1 else ["--initial-controllers", voters]
        tool = ["kafka.tools.StorageTool", "format", "-t", cluster, *first, "-c"]
        running = [(each, self._run(each, *tool, str(self._settings(each)))) for each in new]
        for address, process in running:
            if process.wait() != 0:
                raise BrokerFailed(f"expected node {address.node} to be formatted, found {self._end_of_log(address)}")

    def _launch(self, address: Address) -> None:
        process = self._run(address, "kafka.Kafka", str(self._settings(address)))
        self._processes[address.node] = process
        self._tell_guard(f"+{process.pid}")

    def _run(self, address: Address, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self._log(address), "ab") as log:
            return subprocess.Popen(
                [self._java, *JVM, "-cp", f"{self._jars}/*", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _forget(self, node: int, by: signal.Signals | None, wait_s: float | None) -> None:
        process = self._processes[node]
        if by is not None:
            process.send_signal(by)
        if node in self._paused and by is not signal.SIGKILL:
            self.resume(node)
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        del self._processes[node]
        self._paused.discard(node)
        self._tell_guard(f"-{process.pid}")

    def _tell_guard(self, line: str) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            # A guard that is gone guards nothing; the brokers still end with `stop`.
            with contextlib.suppress(BrokenPipeError):
                self._guard.stdin.write(f"{line}\n".encode())
                self._guard.stdin.flush()

    def _wait(self, done: Callable[[], bool], timeout_s: float, what: str) -> None:
        end = time.monotonic() + timeout_s
        while not done():
            for address in self._addresses:
                process = self._processes.get(address.node)
                if process is not None and process.poll() is not None:
                    raise BrokerFailed(
                        f"expected {what}, found that node {address.node} ended by itself with {process.returncode}; "
                        f"{self._end_of_log(address)}"
                    )
            if time.monotonic() > end:
                logs = "\n".join(self._end_of_log(address) for address in self._addresses)
                raise BrokerFailed(f"expected {what} within {timeout_s:g} s, found none; {logs}")
            time.sleep(0.05)

    def _end_of_log(self, address: Address) -> str:
        lines = self._log(address).read_text("utf-8", "replace").splitlines()
        return f"the end of {self._log(address)}:\n" + "\n".join(lines[-LOG_LINES:])

    def _data(self, address: Address) -> Path:
        return self.folder / f"data-{address.node}"

    def _settings(self, address: Address) -> Path:
        return self.folder / f"node-{address.node}.properties"

    def _log(self, address: Address) -> Path:
        return self.folder / f"node-{address.node}.log"


def _kafka_uuid() -> str:
    """A random id in the text form of Kafka's own, which must not begin with a dash: a command line carries it."""
    text = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return _kafka_uuid() if text.startswith("-") else text
