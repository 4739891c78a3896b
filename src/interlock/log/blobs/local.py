"""A blob store in a directory: one file a value, `<first two digits>/<digest>`.

A value is written beside its place, flushed, moved there, and then the directory is flushed: so it is whole or not
there, and once `put` has returned a loss of power doesn't take it. (The object stores' own library has a directory too,
which flushes nothing; hence this one.) Processes of several machines may share the directory where it is a network
mount that keeps what is flushed.
"""

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Final

from interlock.log.port import Unavailable

_PART: Final = ".part"
"""How the names of files end that are being written; what a crash leaves of them is no value and may be removed."""


class LocalBlobs:
    """Implements `Blobs` over a directory."""

    def __init__(self, directory: Path, *, made: bool = True) -> None:
        """With `made` it is made when the first value comes; without it has to be there, as where it is a mount: what
        would be written below a mount that is missing would be lost to all others.
        """
        self._directory = directory
        self._made = made

    @property
    def place(self) -> str:
        """The directory."""
        return str(self._directory.absolute())

    async def put(self, sha256: str, value: bytes) -> None:
        """Keeps a value, as `Blobs.put` says; in a thread, since a flush takes as long as the disk likes."""
        try:
            await asyncio.to_thread(self._write, sha256, value)
        except OSError as error:
            raise Unavailable(f"expected to write a blob below {self.place}, found: {error}") from error

    async def get(self, sha256: str, bytes_max: int) -> bytes | None:
        """The bytes, as `Blobs.get` says. A directory that is gone as a whole is away, and not empty."""
        try:
            return await asyncio.to_thread(self._read, sha256, bytes_max)
        except OSError as error:
            raise Unavailable(f"expected to read a blob below {self.place}, found: {error}") from error

    def _write(self, sha256: str, value: bytes) -> None:
        if not self._made:
            self._directory.stat()
        _write(self._path(sha256), value)

    def _path(self, sha256: str) -> Path:
        return self._directory / sha256[:2] / sha256

    def _read(self, sha256: str, bytes_max: int) -> bytes | None:
        try:
            with self._path(sha256).open("rb") as file:
                return file.read(bytes_max + 1)
        except FileNotFoundError:
            # A mount that is not there yet must not look like values that are lost.
            self._directory.stat()
            return None


def _write(path: Path, value: bytes) -> None:
    _make(path.parent)
    descriptor, part = tempfile.mkstemp(prefix=f"{path.name}-", suffix=_PART, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(value)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
    _flush(path.parent)


def _make(directory: Path) -> None:
    """Makes a directory and those above it, each durable in the one above."""
    if directory.is_dir():
        return
    _make(directory.parent)
    directory.mkdir(exist_ok=True)
    _flush(directory.parent)


def _flush(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
