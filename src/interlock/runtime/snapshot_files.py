"""Snapshots in a directory, one file each; implements `SnapshotStore`.

A file is written beside its place, flushed, moved there, and then the directory is flushed: so it is the old one or the
new one, whole, whenever the power goes. What is done to files is done in a thread. Processes may share the directory:
whichever writes last is kept, and any snapshot of a journal serves.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO, Final

_PART: Final = ".part"
"""How the names of files end that are being written."""
_LEFT_S: Final = 3600.0
"""What was not written to for so long was left behind by a crash, in seconds; another process may write the same."""
_READ_BYTES: Final = 256 << 10
"""Lines of about so many bytes are read at once."""


class SnapshotFiles:
    """The snapshots of a data directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def write(self, name: str, blocks: AsyncIterator[bytes]) -> None:
        """Takes the place of the snapshot of that name once all of it is there. Raises OSError."""
        part = await asyncio.to_thread(self._begin, name)
        try:
            with part.open("wb") as file:
                async for block in blocks:
                    await asyncio.to_thread(file.write, block)
                await asyncio.to_thread(_flushed, file)
            await asyncio.to_thread(self._end, name, part)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    async def read(self, name: str) -> AsyncIterator[list[bytes]]:
        """Its lines, some at once; none where there is no such snapshot. Raises OSError."""
        try:
            file = await asyncio.to_thread(self._path(name).open, "rb")
        except FileNotFoundError:
            return
        with file:
            while lines := await asyncio.to_thread(file.readlines, _READ_BYTES):
                yield lines

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.snapshot"

    def _begin(self, name: str) -> Path:
        self._directory.mkdir(parents=True, exist_ok=True)
        for left in self._directory.glob(f"{name}.*{_PART}"):
            if time.time() - left.stat().st_mtime > _LEFT_S:
                left.unlink(missing_ok=True)
        descriptor, part = tempfile.mkstemp(prefix=f"{name}.", suffix=_PART, dir=self._directory)
        os.close(descriptor)
        return Path(part)

    def _end(self, name: str, part: Path) -> None:
        part.replace(self._path(name))
        descriptor = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _flushed(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
