"""What every measured program can do: the engine and the bare hops alike."""

from typing import NamedTuple, Protocol


class Load(NamedTuple):
    """One round under load."""

    runs: int
    seconds: float
    """From the first stimulus to the last row."""
    cpu_s: float
    """CPU seconds of every process of it, the caller's part included, the broker apart."""


class Counts(NamedTuple):
    """What some runs left in the log."""

    records: int
    bytes: int
    """Keys, values, names and values of headers."""
    batches: int
    """What landed in one shard at once: a record batch on Kafka, a row on SQLite."""
    flushes: int
    """Transactions that were flushed; 0 where the log has none (Kafka's broker flushes when it likes)."""


class Subject(Protocol):
    """A program under measure, in the process that calls it."""

    async def start(self) -> None:
        """Returns when it serves."""
        ...

    async def load(self, runs: int) -> Load:
        """So many runs as fast as they go."""
        ...

    async def single(self) -> float:
        """One run while nothing else goes on: seconds from its stimulus to when its caller reads that it is over."""
        ...

    async def mark(self) -> None:
        """Begins to count anew."""
        ...

    async def counts(self) -> Counts:
        """What was written to the log since `mark`."""
        ...

    async def memory_mb(self) -> float:
        """The most that its processes held, in MB."""
        ...

    async def close(self) -> None:
        """Ends it."""
        ...
