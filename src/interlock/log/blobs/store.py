"""The port to the blob store: values that are too large for a log, by the digest of their bytes.

Always true of every store (`tests/contract/test_blobs.py` shows it):

- what `Blobs.put` has returned for is durable, and every later `get` of any process gives it;
- nobody ever gets half of a value that is just being put;
- the same value may be put any number of times, by any number of processes at once.

What would surprise: a store doesn't check digests; who reads does (`interlock.log.blobs.log`). Nothing is removed yet:
a value that was put for a record that never came to stand in a log stays, unread, and harms nobody.
"""

from typing import Protocol

from interlock.log.port import LogError


class Blobs(Protocol):
    """A blob store. One object a process; safe for many tasks of one event loop."""

    @property
    def place(self) -> str:
        """Where it is, for messages: never with a password."""
        ...

    async def put(self, sha256: str, value: bytes) -> None:
        """Keeps a value under its digest, and returns once it is durable.

        Raises `Unavailable`, within a bounded time; then the value may be there or not.
        """
        ...

    async def get(self, sha256: str, bytes_max: int) -> bytes | None:
        """The bytes under a digest, of which at most `bytes_max` + 1; None where there are none.

        Raises `Unavailable` where that can't be said now.
        """
        ...


class BlobLost(LogError):
    """What a record of the log refers to is missing in the blob store, or is not what was put there.

    Nothing may go on from here without an operator: the record counts, and what it says is gone. Not an outage.
    """
