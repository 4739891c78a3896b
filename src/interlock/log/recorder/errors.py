"""What the `eventsourcing` library is told when something goes wrong: its own exceptions, made of ours by one table."""

import asyncio
import sqlite3

from eventsourcing.persistence import DataError, InternalError, OperationalError, PersistenceError, ProgrammingError

from interlock.log.journal import LogChanged
from interlock.log.port import BatchTooLarge, LogError, NoSuchShard, OffsetGone


def translated(error: BaseException) -> PersistenceError:
    """The library's exception for `error`, with the same sentence; one that is the library's already comes back.

    `DataError` for what is too large, `ProgrammingError` for what is missing or closed, `InternalError` where the log
    has lost records or a record can't be read, `OperationalError` for all that may be otherwise later.
    """
    if isinstance(error, PersistenceError):
        return error
    for kinds, told in _TABLE:
        if isinstance(error, kinds):
            return told(str(error) or repr(error))
    return InternalError(repr(error))


def closed(what: str) -> ProgrammingError:
    """For a call that comes after `close`."""
    return ProgrammingError(f"expected {what} to be open, found it closed; construct the application anew")


_TABLE: tuple[tuple[tuple[type[BaseException], ...], type[PersistenceError]], ...] = (
    ((BatchTooLarge,), DataError),
    ((NoSuchShard,), ProgrammingError),
    ((LogChanged, OffsetGone), InternalError),
    ((LogError, OSError, sqlite3.Error, asyncio.CancelledError), OperationalError),
)
