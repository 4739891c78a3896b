"""Snapshots in memory, without threads, and a crash wherever a test wants one."""

from collections.abc import AsyncIterator

from interlock.schemas.states import StateFormat


class MemorySnapshots:
    """Implements `SnapshotStore`."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.written = 0

    async def write(self, name: str, blocks: AsyncIterator[bytes]) -> None:
        """There once it is whole."""
        self.held[name] = b"".join([block async for block in blocks])
        self.written += 1

    async def read(self, name: str) -> AsyncIterator[list[bytes]]:
        """All lines at once, or none."""
        if name in self.held:
            yield self.held[name].splitlines(keepends=True)


def through_text(form: StateFormat, *values: object) -> tuple[object, ...]:
    """Values as a snapshot brings them back; copied before they are written, as a process does."""
    reading = form.reading()
    next(reading)
    try:
        for line in form.lines(*form.copies(*values)):
            reading.send(line)
    except StopIteration as end:
        found: tuple[object, ...] = end.value
        return found
    raise AssertionError("expected the last line to end the reading")
