"""A history of publishing, as its owner would have written it: many slots, each with one authority and its claims.

The deciders make it, so it is what the engine would have recorded; their promises are left out, since in a history
their receivers have come and gone.
"""

import json
import time
from collections.abc import Iterator
from typing import Final

from interlock.domain.decider import Decision
from interlock.domain.messages import ProjectionAnswered, Publish, RoutingReached
from interlock.domain.progress import Progress
from interlock.domain.publishing.decide import decide, publication_id
from interlock.domain.publishing.publication.commands import PublicationCommand
from interlock.domain.publishing.shard import PublishingShard
from interlock.log.journal import Journal
from interlock.log.port import Log
from interlock.processors.mail import Cause
from interlock.processors.ports import Codec, Topics
from interlock.processors.unit import Book, Unit
from interlock.runtime.clock import random_id
from interlock.runtime.roles import VIEWS_OF_PREPARATION

SHELL: Final = "default"
SHARING: Final = 100
"""So many different events are shared by all slots, one each."""
CLAIMS: Final = 3
SLOTS_AN_APPEND: Final = 40
PREPARE_MS: Final = 30_000


def request(slot: int, version: int) -> Publish:
    """A publish of a slot's workflow; each version of it is another executable with the same claims."""
    return Publish(
        command_id=f"bench-{slot}-{version}",
        shell=SHELL,
        document=document(slot, version),
        slot=None,
        expect_revision=None,
        requested_by="bench",
        requested_at_ms=time.time_ns() // 1_000_000,
    )


def document(slot: int, version: int) -> str:
    """Claims an event and an endpoint of its own, and an event that other slots have too."""
    triggers = [
        {"type": "event", "name": f"order.{slot}.placed"},
        {"type": "event", "name": f"tick.{slot % SHARING}"},
        {"type": "http", "method": "POST", "path": f"/orders/{slot}/:id"},
    ]
    activities = [{"id": name, "activity": name, "inputs": {"order": "input"}} for name in ("a", "b")]
    return json.dumps(
        {"name": f"orders-{slot}", "triggers": triggers, "steps": [*activities, {"id": "p", "sleep": f"{version}s"}]}
    )


async def write_history(log: Log, topics: Topics, codec: Codec, slots: int) -> None:
    """Publishes the first version of so many slots."""
    writer = _Writer(log, topics, codec)
    journal = await Journal.open(
        log,
        topics.journal("publishing", 0),
        ids=random_id,
        fold=lambda _: None,
        note=lambda: writer.note,
        still_assigned=_yes,
    )
    for first in range(0, slots, SLOTS_AN_APPEND):
        unit = writer.unit(journal.position.number + 1)
        for slot in range(first, min(first + SLOTS_AN_APPEND, slots)):
            writer.publish(slot, unit)
        await journal.append(writer.note, unit.events)


class _Writer:
    def __init__(self, log: Log, topics: Topics, codec: Codec) -> None:
        self._bytes_max = log.batch_bytes_max * 3 // 4
        self._topics = topics
        self._codec = codec
        self._shard = PublishingShard()
        self._book = Book()
        self._routing_shards = topics.partitions["routing"]
        self.note = codec.encode(Progress(inbox=0, received=(), delivered=(), answered=(), publishing=0))

    def unit(self, number: int) -> Unit:
        """The next append."""
        return Unit(
            book=self._book,
            codec=self._codec,
            topics=self._topics,
            apply=self._shard.apply,
            now_ms=time.time_ns() // 1_000_000,
            number=number,
            publishing=number,
            bytes_max=self._bytes_max,
        )

    def publish(self, slot: int, unit: Unit) -> None:
        """Everything that becomes of a publish."""
        for message in self._messages(slot, unit.number):
            decided = decide(
                self._shard,
                message,
                unit.now_ms,
                position=unit.number,
                routing_shards=self._routing_shards,
                projection_kinds=VIEWS_OF_PREPARATION,
                prepare_ms=PREPARE_MS,
            )
            if isinstance(decided, Decision):
                unit.take(Decision(decided.changes, ()), Cause("bench", "bench", "bench"))
        identity = publication_id(SHELL, request(slot, 1).command_id)
        publication = self._shard.publications[identity]
        assert publication.served, f"expected slot {slot} to be served, found {publication}"

    def _messages(self, slot: int, number: int) -> Iterator[PublicationCommand]:
        asked = request(slot, 1)
        yield asked
        identity = publication_id(SHELL, asked.command_id)
        for kind in VIEWS_OF_PREPARATION:
            yield ProjectionAnswered(shell=SHELL, publication_id=identity, kind=kind, prepared=True, reason="")
        for partition in range(self._routing_shards):
            yield RoutingReached(shell=SHELL, publication_id=identity, partition=partition, position=number)


async def _yes() -> bool:
    return True
