"""What tests of passes over the trigger index begin with: the file of its rows, and a pass that finds nothing."""

import asyncio
from pathlib import Path

from interlock.processors.reconciler import Reconciler, Sweep
from interlock.runtime.engine import Engine
from tests.api.service import WAIT_S, Service


def reconciler(service: Service) -> Reconciler:
    """Of the service's process."""
    found = service.engine.reconciler
    assert found is not None
    return found


def index(engine: Engine) -> Path:
    """The file of the rows that serve."""
    return engine.settings.data / "views" / "trigger-index.sqlite"


async def settled(service: Service) -> Sweep:
    """The first pass that finds nothing, over copies that all are where the journal ends; they lag a moment."""
    async with asyncio.timeout(WAIT_S):
        while True:
            await service.engine.replica.current()
            found = await reconciler(service).sweep(repair=False)
            if not found.findings and {copy.position for copy in found.copies} == {service.engine.replica.position}:
                return found
            await asyncio.sleep(0.01)
