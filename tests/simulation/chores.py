"""The activities of a simulated run: most end at once, some take a while or very long, and some raise.

What an activity does depends on the run's seed, the execution, the node and the attempt alone, so it does the same
whenever and wherever it is called again.
"""

import asyncio
import json
import random
from collections.abc import Callable

from interlock.domain.executions.execution.decide import Invocation


class ChoreFailed(Exception):
    """What an activity raises."""


class Chores:
    """Implements `Invoker`: the code that one process presents."""

    def __init__(self, seed: int, versions: Callable[[], int]) -> None:
        """`versions` says below which version a process has the code."""
        self._seed = seed
        self._versions = versions

    def serves(self, activity: str) -> bool:
        """Those of its release and of earlier ones."""
        _, _, version = activity.partition("-")
        return not version or int(version) < self._versions()

    async def invoke(self, invocation: Invocation) -> str:
        """Gives back who asked, after a while; or raises."""
        chance = random.Random(f"{self._seed} {invocation.execution_id} {invocation.node_id} {invocation.attempt}")
        roll = chance.random()
        if roll < 0.25:
            await asyncio.sleep(chance.expovariate(2.0))
        elif roll < 0.28:
            await asyncio.sleep(chance.uniform(5.0, 30.0))
        elif roll < 0.32:
            raise ChoreFailed(f"expected to do {invocation.activity}, found no way")
        filling = "x" * chance.choice((0, 0, 0, 0, 4_000))
        return json.dumps({"by": invocation.activity, "attempt": invocation.attempt, "filling": filling})
