"""What has to hold in a simulated run, all the time: the judge reads the journals as they grow and says what is wrong.

    Seen (what there is to look at) ─► judge_of(seen) ─► look() again and again ─► ended()

`judge_of` is in `tests.simulation.checks.judge`. A checker raises `Violation`; the run ends with it, and prints seed,
commit, trace and the command that reruns exactly this.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from interlock.log.port import Log
from interlock.processors.ports import Codec, Topics
from interlock.runtime.engine import Engine
from tests.simulation.ledger import Ledger


class Violation(AssertionError):
    """A rule does not hold. `rule` is short and the same for the same fault whatever the run, since shrinking asks
    whether a shorter run breaks the same rule; the sentence names streams, revisions and numbers."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(f"{rule}: {sentence}")
        self.rule = rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a judge may look at; it changes nothing and takes no virtual time that matters."""

    log: Log
    """A quiet connection: no faults, no delay."""
    topics: Topics
    codec: Codec
    ledger: Ledger
    now_ms: Callable[[], int]
    """The true time of the run."""
    engines: Callable[[], Sequence[Engine]]
    """The engines that run now, in the order of their processes' names; paused ones included, crashed ones not."""
    views: Callable[[], Path | None]
    """The folder of the views that are held now, or None while nobody holds them."""


class Judge(Protocol):
    """Checks a run while it goes on."""

    def watching(self) -> AbstractContextManager[None]:
        """Lets it look from within the engine too, at each append, read and sending, until it is left: enter it before
        the first engine starts. Without it the judge sees less, and what it sees it sees later."""
        ...

    async def look(self) -> None:
        """Reads on from where it was and checks what that says. Called after every few landings. Raises `Violation`."""
        ...

    async def compare(self) -> None:
        """Rebuilds states and views from the log and compares them with the live ones. Called at each crash, at each
        takeover and each hundredth commit, and at the end. Raises `Violation`."""
        ...

    async def ended(self) -> None:
        """Checks what has to hold once faults are off and everything has converged. Raises `Violation`."""
        ...

    def commits(self) -> int:
        """How many appends that count it has checked."""
        ...

    def owing(self) -> Sequence[str]:
        """What has still to come before the run may end, as sentences; () once nothing has: undelivered intents, runs
        that have not ended and wait for nothing, waits that a stimulus is owed to, overdue timers, orphaned rows."""
        ...
