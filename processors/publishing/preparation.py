"""Tells publishing what the holder of a view has prepared: its only word to the rest of the engine.

Why a repetition is harmless: publishing knows a candidate's answers by (publication, kind). So the answer is sent again
as long as the rows say that publishing still waits for it; a lost one, and a process that stopped between storing and
sending, need nothing else. A rebuilt view answers for what is still pending and for nothing else (PRJ-07).
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from interlock.domain.messages import ProjectionAnswered
from interlock.log.port import Log, LogError, Record, Shard
from interlock.processors.mail import Cause, client_record
from interlock.processors.ports import Codec, Topics
from interlock.processors.publishing.observers import Observation

log = logging.getLogger(__name__)

AGAIN_S = 2.0
"""After this long an answer that publishing has not acted on is sent again, in seconds."""
TOGETHER_MAX = 256
"""Answers in one batch: a few hundred bytes each."""


class Changes(Protocol):
    """Tells that a view has moved."""

    async def changed(self, wait_s: float | None = None) -> None:
        """Returns when there is something new, or after so many seconds."""
        ...


class Preparation:
    """The courier of one view's answers."""

    def __init__(
        self,
        changes: Changes,
        pending: Callable[[], Sequence[ProjectionAnswered]],
        *,
        wire: Log,
        codec: Codec,
        topics: Topics,
        observation: Observation | None = None,
    ) -> None:
        """`pending` gives what the rows say is not answered yet; `observation` may hold an answer up, or change it."""
        self._observation = observation
        self._changes = changes
        self._pending = pending
        self._log = wire
        self._codec = codec
        self._topics = topics
        self._sent_s: dict[ProjectionAnswered, float] = {}

    async def run(self) -> None:
        """Answers for ever; ends only by cancellation."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                asked = self._pending()
                pending = asked if self._observation is None else self._observation.answers(asked)
                waiting = frozenset(pending)
                self._sent_s = {one: at for one, at in self._sent_s.items() if one in waiting}
                now_s = loop.time()
                due = [each for each in pending if now_s - self._sent_s.get(each, float("-inf")) >= AGAIN_S]
                for start in range(0, len(due), TOGETHER_MAX):
                    await self._send(due[start : start + TOGETHER_MAX])
                await self._news(AGAIN_S if asked else None)
        finally:
            if self._observation is not None:
                self._observation.close()

    async def _news(self, wait_s: float | None) -> None:
        """Returns when the view has moved, an observer has ended, or after so many seconds."""
        if self._observation is None or not self._observation.under_way:
            await self._changes.changed(wait_s)
            return
        waits = [
            asyncio.ensure_future(self._changes.changed(wait_s)),
            asyncio.ensure_future(self._observation.news()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _send(self, answers: Sequence[ProjectionAnswered]) -> None:
        """Sends them together, since each send waits for a flush, and many candidates may be prepared at once."""
        batches: dict[Shard, list[Record]] = {}
        for answer in answers:
            shard = self._topics.inbox("publishing", self._topics.partition("publishing", answer.shell))
            cause = Cause(f"view:{answer.kind}", f"publication:{answer.publication_id}", "")
            batches.setdefault(shard, []).append(client_record(self._codec, answer.shell, answer, cause))
        try:
            for shard, batch in batches.items():
                await self._log.send(shard, batch)
        except LogError as error:
            log.warning("%d answers of %s are sent again: %s", len(answers), answers[0].kind, error)
        now_s = asyncio.get_running_loop().time()
        self._sent_s.update(dict.fromkeys(answers, now_s))
