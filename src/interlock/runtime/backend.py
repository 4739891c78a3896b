"""What an engine runs on: a log, and what belongs to it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from interlock.log.port import Assignment, GroupSource, Log, LogAdmin


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """A log with what belongs to it."""

    log: Log
    """With a blob store (`interlock.log.blobs.log`): whoever fills a batch counts large values by their references."""
    admin: LogAdmin
    assign: Callable[[str, int], Assignment]
    """Joins those that share a topic's partitions; takes the topic and how many partitions it has."""
    stimuli: Callable[[str, int], GroupSource]
    """Joins those that share the stimuli topic."""
    close: Callable[[], Awaitable[None]]
    makes_topics: bool
    """Whether a process makes missing topics by itself (an embedded log), or `topics create` is a step of its own."""
