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
from interlock.log.port import Log, LogError
from interlock.processors.mail import Cause, client_record
from interlock.processors.ports import Codec, Topics

log = logging.getLogger(__name__)

AGAIN_S = 2.0
"""After this long an answer that publishing has not acted on is sent again, in seconds."""


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
    ) -> None:
        """`pending` gives what the rows say is not answered yet."""
        self._changes = changes
        self._pending = pending
        self._log = wire
        self._codec = codec
        self._topics = topics
        self._sent_s: dict[ProjectionAnswered, float] = {}

    async def run(self) -> None:
        """Answers for ever; ends only by cancellation."""
        loop = asyncio.get_running_loop()
        while True:
            pending = self._pending()
            self._sent_s = {one: at for one, at in self._sent_s.items() if one in pending}
            for answer in pending:
                if loop.time() - self._sent_s.get(answer, float("-inf")) >= AGAIN_S:
                    await self._send(answer)
                    self._sent_s[answer] = loop.time()
            await self._changes.changed(AGAIN_S if pending else None)

    async def _send(self, answer: ProjectionAnswered) -> None:
        shard = self._topics.inbox("publishing", self._topics.partition("publishing", answer.shell))
        cause = Cause(f"view:{answer.kind}", f"publication:{answer.publication_id}", "")
        try:
            await self._log.send(shard, [client_record(self._codec, answer.shell, answer, cause)])
        except LogError as error:
            log.warning("the answer of %s for %s is sent again: %s", answer.kind, answer.publication_id, error)
