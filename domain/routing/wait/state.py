"""What a shard remembers of a wait, also for a while after it ended."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple, cast

from interlock.domain.routing.stimulus.state import MeetingKey, WaitKey


def stream_of(execution_id: str, bookmark_id: str) -> str:
    """The stream of its facts."""
    return f"wait:{execution_id}:{bookmark_id}"


@dataclass(slots=True, kw_only=True)
class KnownWait:
    """A wait that was registered; changed by `RoutingShard.apply` alone."""

    key: MeetingKey
    wait: WaitKey
    committed_at_ms: int
    started_by: str
    waiting: bool = True
    """It was neither taken nor withdrawn."""
    taken_by: str = ""
    """The stimulus that took it and was not declined since."""
    ended_ms: int = 0
    """The shard's clock when it ended: what it is forgotten by."""

    @property
    def execution_id(self) -> str:
        """Who waits."""
        return self.wait[0]

    @property
    def bookmark_id(self) -> str:
        """What it waits with."""
        return self.wait[1]


class KeptWait(NamedTuple):
    """What is kept of a `KnownWait`: all of it, field by field, in an object that never changes."""

    key: MeetingKey
    wait: WaitKey
    committed_at_ms: int
    started_by: str
    waiting: bool
    taken_by: str
    ended_ms: int


_fields = attrgetter(*KeptWait._fields)


def keep_waits(waits: Iterable[KnownWait]) -> tuple[KeptWait, ...]:
    """What is kept of waits."""
    # Plain tuples are like named ones but for their names, and take half the time.
    return cast("tuple[KeptWait, ...]", tuple(map(_fields, waits)))


def restored_wait(kept: KeptWait) -> KnownWait:
    """The wait again."""
    return KnownWait(**kept._asdict())
