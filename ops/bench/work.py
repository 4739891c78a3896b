"""What is measured: the workflows, the stimuli that start and resume their runs, and how the engine is laid out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from interlock.domain.definitions.executable import Cadence
from interlock.domain.executions.execution.decide import Invocation
from interlock.log.port import Record
from interlock.runtime.roles import ROLES, Role
from interlock.runtime.settings import Settings

LogKind = Literal["memory", "sqlite", "kafka"]

PAYLOAD_CHARS = 120
"""What a stimulus carries beside its ids: a small order."""

CHUNK = 100
"""Stimuli that a caller writes at once, under load."""

TOGETHER: tuple[tuple[Role, ...], ...] = (ROLES,)
"""Every role in one process, as `interlock up` has it."""
APART: tuple[tuple[Role, ...], ...] = (("publishing", "routing", "executions", "api"), ("projector",))
"""The views in a process of their own: two processes for two cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One engine, or one program of bare hops, under one kind of load. It crosses into a process of its own."""

    log: LogKind
    checkpoints: Cadence
    waits: bool
    """Whether the runs wait for an event between their activities."""
    processes: tuple[tuple[Role, ...], ...]
    """The roles of each process; the first is also the caller's."""
    shards: int
    """Of routing and executions alike."""
    url: str
    """The log's address."""
    folder: Path
    """For views, and for what the hops write."""
    coalesce_wait_ms: int = 5
    """As in the settings."""

    @property
    def name(self) -> str:
        """How it is called in tables."""
        shape = "a wait" if self.waits else "three activities"
        spread = "" if len(self.processes) == 1 else f", {len(self.processes)} processes"
        return f"{self.log}: {shape}, {self.checkpoints}{spread}"

    def settings(self) -> Settings:
        """The settings of each of its processes."""
        return Settings(
            log=self.url,
            data=self.folder,
            checkpoints=self.checkpoints,
            routing_shards=self.shards,
            executions_shards=self.shards,
            stimuli_partitions=1,
            publish_wait_s=60,
            coalesce_wait_ms=self.coalesce_wait_ms,
        )

    def document(self) -> str:
        """The workflow, as it is published."""
        activities = [{"id": name, "activity": name, "inputs": {"order": "input"}} for name in ("a", "b", "c")]
        wait = {"id": "payment", "wait": {"event": "payment.received", "correlate": "input.order_id", "timeout": "1h"}}
        steps = [activities[0], wait, activities[1]] if self.waits else activities
        return json.dumps({"name": "bench", "triggers": [{"type": "event", "name": "order.placed"}], "steps": steps})

    @property
    def events_min(self) -> int:
        """How many events of executions a run takes at least."""
        if self.checkpoints == "coalesced":
            return 2 if self.waits else 1
        return 6 if self.waits else 5


class Echo:
    """Activities that take no time: what is measured is what stands around them."""

    def serves(self, activity: str) -> bool:
        """All of them."""
        return True

    async def invoke(self, invocation: Invocation) -> str:
        """A small output."""
        return json.dumps({"by": invocation.activity, "reservation": "0123456789abcdef"})


def orders(names: Sequence[str]) -> list[Record]:
    """Stimuli that start a run each."""
    return [_stimulus("order.placed", name, {}) for name in names]


def payments(names: Sequence[str]) -> list[Record]:
    """Stimuli that resume the run of the order of the same name, whichever of the two is first."""
    return [_stimulus("payment.received", name, {"correlation": name, "ttl": "PT10M"}) for name in names]


def _stimulus(name: str, order: str, more: dict[str, str]) -> Record:
    body: dict[str, object] = {
        "type": "Event",
        "name": name,
        "data": {"order_id": order, "note": "y" * PAYLOAD_CHARS},
        "idempotencyKey": f"{name}:{order}",
        **({"correlation": order} | more),
    }
    return Record(order.encode(), json.dumps(body).encode())
