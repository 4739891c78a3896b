"""How callers reach the engine: commands with their answers, and stimuli.

A command is a message with an id of the caller's; its answer comes on the topic `replies`, at least once and always the
same, so a caller that heard nothing sends the same id again. "Pending" is this module's own report, never an answer.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from interlock.domain.asked import Command, asked_of
from interlock.domain.messages import (
    CancelExecution,
    Publish,
    RepairProjection,
    Restore,
    RouteStimulus,
    StartTestRun,
    Unpublish,
)
from interlock.domain.sharding import routing_key
from interlock.log.port import Doubt, Log, LogError, OffsetGone, Record, Refused, Stored, Unavailable
from interlock.processors.mail import Cause, client_record
from interlock.processors.ports import Codec, Topics

log = logging.getLogger(__name__)

DOUBTS_MAX = 5
"""How often a write in doubt is repeated; a repetition is harmless, for ids recognise it."""

WRITE_S = 10.0
"""How long a caller waits until a request is durable; a healthy log takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came on `replies`, or that nothing came in time."""

    command_id: str
    status: Literal["done", "refused", "failed", "pending"]
    body: dict[str, object]
    at_least: str = ""
    """The position that knows of it: the append that answered; while it is pending, its place in the inbox."""


class Gateway:
    """One a process; `run` must be running for answers to arrive."""

    def __init__(
        self, wire: Log, codec: Codec, topics: Topics, *, read_wait_s: float = 0.5, write_s: float = WRITE_S
    ) -> None:
        self._log = wire
        self._codec = codec
        self._topics = topics
        self._read_wait_s = read_wait_s
        self._write_s = write_s
        self._waiting: dict[str, list[tuple[str, asyncio.Future[Answer]]]] = {}
        """Command id → what each one asked for who waits for an answer to it: another command under a used id has its
        own answer, and a caller may ask again while the first request still waits."""
        self._listening = asyncio.Event()

    async def run(self) -> None:
        """Reads answers from now on, until it is cancelled."""
        shard = self._topics.user("replies")
        while True:
            try:
                start = await self._log.end(shard)
                reader = self._log.reader(shard, start)
            except LogError as error:
                log.warning("answers can't be read yet: %s", error)
                await asyncio.sleep(self._read_wait_s)
                continue
            self._listening.set()
            try:
                while True:
                    try:
                        records = await reader.read(self._read_wait_s)
                    except Unavailable:
                        await asyncio.sleep(self._read_wait_s)
                        continue
                    for stored in records:
                        self._hear(stored)
            except OffsetGone as error:
                log.warning("answers were trimmed while they were read; callers ask again: %s", error)
            finally:
                self._listening.clear()
                await reader.close()

    async def publish(self, message: Publish | Restore | Unpublish, wait_s: float) -> Answer:
        """Asks for a change of authority; waits for the answer that long."""
        return await self._command("publishing", message.shell, message, wait_s)

    async def cancel(self, message: CancelExecution, wait_s: float) -> Answer:
        """Asks a run to end."""
        return await self._command("executions", message.execution_id, message, wait_s)

    async def start_test_run(self, message: StartTestRun, wait_s: float) -> Answer:
        """Asks for a run of what no slot selects."""
        return await self._command("publishing", message.shell, message, wait_s)

    async def repair(self, message: RepairProjection, wait_s: float) -> Answer:
        """Asks that the rows of a publication are restated."""
        return await self._command("publishing", message.shell, message, wait_s)

    async def emit(self, message: RouteStimulus) -> str:
        """Returns its place, once the stimulus is durable at the shard that routes it. Raises what the port raises."""
        key = routing_key(message.shell, message.identity, message.correlation)
        cause = Cause("api", message.stimulus_id, "")
        async with self._taken_in_time():
            return await self._write("routing", key, client_record(self._codec, key, message, cause))

    async def _command(self, context: str, shard_key: str, message: Command, wait_s: float) -> Answer:
        command_id = message.command_id
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        waits = asked_of(message), future
        self._waiting.setdefault(command_id, []).append(waits)
        cause = Cause("api", command_id, message.requested_by)
        place = ""
        try:
            async with self._taken_in_time():
                # An answer that comes before anybody listens is not heard, so nothing is asked before.
                await self._listening.wait()
                place = await self._write(context, shard_key, client_record(self._codec, shard_key, message, cause))
            return await asyncio.wait_for(future, wait_s)
        except TimeoutError:
            return Answer(command_id, "pending", {}, place)
        finally:
            waiting = self._waiting[command_id]
            waiting.remove(waits)
            if not waiting:
                del self._waiting[command_id]

    @asynccontextmanager
    async def _taken_in_time(self) -> AsyncGenerator[None, None]:
        """Bounds how long a caller waits for a log that is away. Raises `Unavailable`."""
        try:
            async with asyncio.timeout(self._write_s):
                yield
        except TimeoutError as error:
            raise Unavailable(
                f"expected the log to take the request within {self._write_s:g} s, found no answer; whether it did is "
                "not known, and the same request with the same id may be sent again"
            ) from error

    async def _write(self, context: str, shard_key: str, record: Record) -> str:
        """Where it landed, as `interlock.api.positions` reads it. Raises what the port raises.

        Once one try is in doubt, only a landing settles it: a later try that was refused says nothing about the first.
        """
        shard = self._topics.inbox(context, self._topics.partition(context, shard_key))
        doubted: Doubt | None = None
        for _ in range(DOUBTS_MAX):
            try:
                offset = await self._log.send(shard, [record])
            except Doubt as doubt:
                log.warning("a write to %s is in doubt and is repeated: %s", shard, doubt)
                doubted = doubt
            except Refused as refused:
                if doubted is None:
                    raise
                raise doubted from refused
            else:
                return f"{context}/{shard.partition}@{offset}"
        assert doubted is not None, "expected a write that neither lands nor is refused to be in doubt"
        raise doubted

    def _hear(self, stored: Stored) -> None:
        try:
            found = json.loads(stored.value)
            headers = dict(stored.headers)
            position, asked = headers.get("position", b"").decode(), headers.get("asked", b"").decode()
            answer = Answer(found["commandId"], found["status"], found["body"], position)
        except (ValueError, KeyError, TypeError) as error:
            log.warning("a record of replies is no answer: %s", error)
            return
        for wanted, waiting in self._waiting.get(answer.command_id, ()):
            # An answer of an earlier release doesn't say what was asked.
            if asked in ("", wanted) and not waiting.done():
                waiting.set_result(answer)
