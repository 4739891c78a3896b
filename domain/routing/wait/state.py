"""What a shard remembers of a wait, also for a while after it ended."""

from dataclasses import dataclass

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
