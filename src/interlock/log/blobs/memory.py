"""A blob store in memory, for simulation and tests: without threads, and away on demand.

A `MemoryStore` holds the values, which outlive every `MemoryBlobs` on it, as a broker outlives its connections.
"""

import asyncio
from collections.abc import Callable

from interlock.log.port import Unavailable


class MemoryStore:
    """The values, by digest; a test may take one away, or change it."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}


class MemoryBlobs:
    """One process's view of a `MemoryStore`; implements `Blobs`."""

    def __init__(self, store: MemoryStore | None = None, *, away: Callable[[], bool] = lambda: False) -> None:
        """`away` says at each call whether the store can't be reached."""
        self.store = store or MemoryStore()
        self._away = away

    @property
    def place(self) -> str:
        """That it is here."""
        return "memory:"

    async def put(self, sha256: str, value: bytes) -> None:
        """Keeps a value, as `Blobs.put` says; others run before, as with a real store."""
        await self._ask()
        self.store.values[sha256] = value

    async def get(self, sha256: str, bytes_max: int) -> bytes | None:
        """The bytes, as `Blobs.get` says."""
        await self._ask()
        value = self.store.values.get(sha256)
        return None if value is None else value[: bytes_max + 1]

    async def _ask(self) -> None:
        await asyncio.sleep(0)
        if self._away():
            raise Unavailable("expected an answer of the blob store in memory, found a fault; ask again later")
