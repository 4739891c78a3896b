"""What has to hold in a simulated run, all the time: the judge reads the journals as they grow and says what is wrong.

    Seen (what there is to look at) ─► Judge(seen) ─► look() again and again ─► ended()

`Judge` is in `tests.simulation.checks.judge`. A checker raises `Violation`; the run ends with it, and prints seed,
commit, trace and the command that reruns exactly this.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class Shift:
    """From a time on, a process's clock is off by so much."""

    process: str
    since_ms: int
    """True time."""
    offset_ms: int
    """Its clock minus true time."""


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
    tampered: set[str] | None = None
    """Publications with rows in the trigger index that somebody else than its projector has changed; None where nobody
    tells of that."""
    references_ms: int = 86_400_000
    """How long TestRun references live."""
    shifts: Sequence[Shift] = ()
    """How clocks were off so far, in the order of time; a clock that is in none of them is right."""
