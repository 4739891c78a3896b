"""What the clients of a simulated run have sent, and what each of them was told of it and when.

The engine never sees it. Checkers compare it with the journals: what was acknowledged is never lost and happened at
most once, what was refused never happens, and each doubt ends as one of the two.

Always true: entries are kept in the order of their sending and never leave; what was told is only added to.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal

from interlock.domain.asked import asked_of
from interlock.domain.messages import (
    CancelExecution,
    Publish,
    RepairProjection,
    Restore,
    RouteStimulus,
    StartTestRun,
    Unpublish,
)
from interlock.domain.publishing.candidate import Wish
from interlock.domain.publishing.preflight import Preflight
from interlock.domain.refusal import Refusal
from interlock.log.port import Shard

Word = Literal["landed", "done", "refused", "failed", "pending", "doubt", "never"]
"""What a client is told.

landed: the log has taken it (stimuli) · done, refused, failed: the answer to a command · pending: no answer in time ·
doubt: it may have landed or land later · never: the log refused the write, so this sending of it never lands.
"""


Command = Publish | Restore | Unpublish | StartTestRun | RepairProjection | CancelExecution
"""What has an answer, under its id."""


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that a client was told."""

    at_ms: int
    """The true time of the run, which no process's clock shows."""
    word: Word
    body: dict[str, object] = field(default_factory=dict[str, object])
    """An answer's body; else empty."""
    offset: int = -1
    """Where it landed, for landed; else -1."""


@dataclass(slots=True)
class Sent:
    """One command, stimulus or record that a client has sent; repetitions of one command share an entry."""

    number: int
    """Position in the ledger, from 0."""
    client: str
    at_ms: int
    """When it was sent first, in true time."""
    what: Command | RouteStimulus | bytes
    """A command or stimulus through the gateway, or the bytes of a record on the topic of stimuli."""
    shard: Shard | None = None
    """Where a record was written to; None for what goes through the gateway."""
    asked: str = ""
    """What a command asks for, as its answer says it: another one under its id has another answer. Else ""."""
    told: list[Told] = field(default_factory=list[Told])

    @property
    def command_id(self) -> str:
        """The id that its answer carries; "" for what has no answer."""
        return self.what.command_id if isinstance(self.what, Command) else ""

    def was_told(self, *words: Word) -> Told | None:
        """The first time that it was told one of these."""
        return next((told for told in self.told if told.word in words), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A client has looked ahead at a publish, a restore or an unpublish."""

    position: int
    """The append of publishing that the process which answered knew of as the last."""
    definition_id: str
    claims: tuple[tuple[str, str], ...]
    """What a document asks for, with the cardinality of each; () without one."""
    wish: Wish
    of: Literal["publish", "restore", "unpublish"] = "publish"
    publication_id: str | None = None
    """The one that a restore names; None takes the one before."""
    outcome: Preflight | Refusal
    """The answer."""


class Ledger:
    """All of it, of all clients."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.looked: list[Looked] = []
        """What somebody was told that requests would do."""
        self.by_command: dict[str, list[Sent]] = defaultdict(list)
        """Every command under an id."""

    def send(
        self,
        client: str,
        at_ms: int,
        what: Command | RouteStimulus | bytes,
        shard: Shard | None = None,
    ) -> Sent:
        """Notes that something is about to be sent, before it is."""
        asked = asked_of(what) if isinstance(what, Command) else ""
        entry = Sent(len(self.sent), client, at_ms, what, shard, asked)
        self.sent.append(entry)
        if entry.command_id:
            self.by_command[entry.command_id].append(entry)
        return entry

    def find(self, command_id: str, asked: str) -> Sent | None:
        """The command that asked for this under an id; the only one under it, whatever it asked for."""
        found = self.by_command.get(command_id, [])
        return found[0] if len(found) == 1 else next((each for each in found if each.asked == asked), None)
