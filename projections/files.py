"""Where a view's copies lie, which of them serves, and who may write them.

    <view>.lock                held by the process that projects
    <view>.sqlite              a link to the copy that serves
    <view>.<generation>.sqlite a copy; one with a higher generation than the serving one is being filled
    <view>.verify.sqlite       a fresh fold that the serving copy is compared with; it never serves

Copies are never renamed: SQLite finds a write-ahead log by the name of its file, so a file that takes the place of
another could meet the other's log. Instead the link moves to the new copy in one step; generations are used once.
"""

import fcntl
import os
import re
import time
from pathlib import Path
from typing import Final

LOCK_TRIES: Final = 10
LOCK_RETRY_S: Final = 0.005
"""Who only asks whether a view is held locks it for microseconds; that must not look like a holder."""


class ViewHeld(Exception):
    """Another process (or another object of this one) projects the view."""


class ViewFiles:
    """The files of one view in a directory."""

    def __init__(self, directory: Path, view: str) -> None:
        self.directory = directory
        self.link = directory / f"{view}.sqlite"
        """The file that serves, for `sqlite3` and whoever else looks."""
        self._view = view
        # Every question to the view looks at the link.
        self._name = re.compile(rf"{re.escape(view)}\.([0-9]+)\.sqlite")
        self._lock: int | None = None

    def hold(self) -> None:
        """Takes the right to write. Raises `ViewHeld`."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self._lock_path
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock(descriptor)
        except BlockingIOError as error:
            holder = os.read(descriptor, 100).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise ViewHeld(
                f"expected to hold the view {self._view!r}, found {path} locked by process {holder}; "
                "stop that one, or give this one another data directory"
            ) from error
        except BaseException:
            os.close(descriptor)
            raise
        os.truncate(descriptor, 0)
        os.write(descriptor, b"%d\n" % os.getpid())
        self._lock = descriptor

    def held(self) -> bool:
        """Whether a process holds the right to write now."""
        try:
            descriptor = os.open(self._lock_path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def let_go(self) -> None:
        """Gives the right to write back."""
        descriptor, self._lock = self._lock, None
        if descriptor is not None:
            os.close(descriptor)

    def serving(self) -> int | None:
        """The generation that serves; None before there is one."""
        try:
            return self._generation(os.readlink(self.link))
        except FileNotFoundError:
            return None

    def generations(self) -> list[int]:
        """The generations that there are files of, in order."""
        found = (self._generation(path.name) for path in self.directory.glob(f"{self._view}.*.sqlite"))
        return sorted(generation for generation in found if generation is not None)

    def path(self, generation: int) -> Path:
        """The file of a generation."""
        return self.directory / f"{self._view}.{generation}.sqlite"

    @property
    def verification(self) -> Path:
        """The file of a fresh fold that is only compared with."""
        return self.directory / f"{self._view}.verify.sqlite"

    def serve(self, generation: int) -> None:
        """Makes this generation the one that serves, in one step."""
        temporary = self.directory / f"{self._view}.link"
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(self.path(generation).name)
        temporary.replace(self.link)
        directory = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def remove(self, generation: int) -> None:
        """Deletes a copy. Who still has it open keeps reading it until he looks at the link again."""
        _remove(self.path(generation))

    def remove_verification(self) -> None:
        """Deletes the file of a fresh fold."""
        _remove(self.verification)

    @property
    def _lock_path(self) -> Path:
        return self.directory / f"{self._view}.lock"

    def _generation(self, name: str) -> int | None:
        found = self._name.fullmatch(name)
        return None if found is None else int(found[1])


def _lock(descriptor: int) -> None:
    """Raises `BlockingIOError` where another holds it."""
    for _ in range(LOCK_TRIES - 1):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOCK_RETRY_S)
        else:
            return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove(path: Path) -> None:
    for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        each.unlink(missing_ok=True)
