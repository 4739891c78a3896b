"""Definitions with triggers of every kind, and what the trigger index offers of them."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from interlock.log.port import Shard
from interlock.projections.reader import ViewReader
from interlock.projections.trigger_index.fold import VIEW
from interlock.projections.trigger_index.query import SqliteTriggerIndex
from tests.api.service import WAIT_S, Service

PAUSE: dict[str, object] = {"id": "pause", "sleep": "1h"}


def event(name: str) -> dict[str, object]:
    """An event trigger."""
    return {"type": "event", "name": name}


def http(path: str, method: str = "POST") -> dict[str, object]:
    """An HTTP endpoint."""
    return {"type": "http", "method": method, "path": path}


def cron(expression: str) -> dict[str, object]:
    """A cron, in UTC."""
    return {"type": "cron", "expression": expression}


def definition(name: str, *triggers: dict[str, object], **more: object) -> str:
    """A definition that sleeps."""
    return json.dumps({"name": name, "triggers": triggers, "steps": [PAUSE], **more})


@contextmanager
def offers(data: Path) -> Generator[SqliteTriggerIndex, None, None]:
    """What the trigger index in a data directory says."""
    reader = ViewReader(data / "views", VIEW)
    try:
        yield SqliteTriggerIndex(reader)
    finally:
        reader.close()


async def indexed(service: Service, position: int) -> None:
    """Waits until the trigger index has folded an append of the publishing journal."""
    journal = Shard(service.engine.topics.journal("publishing", 0).topic, 0)
    assert await service.engine.views[VIEW.name].reached({journal: position}, WAIT_S)


async def published(service: Service, text: str, **more: object) -> Any:
    """Publishes a definition, and waits until it is active and indexed."""
    found = await service.publish(text, **more)
    assert found["status"] == "active", found
    await indexed(service, found["position"])
    return found
