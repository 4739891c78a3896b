"""The judge of a simulated run: reads what has landed, and lets every checker follow it in one order.

    look: all records of one instant ─► promises ─► inboxes ─► publishing ─► routing ─► executions ─► notes ─► clients

Publishing comes first because routing is held against it, and routing before executions because starts and resumes are.
`look` is cheap enough to be called at every landing: it costs what is new.
"""

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from interlock.domain.messages import (
    ProjectionAnswered,
    RegisterWait,
    RepairProjection,
    ResumeDeclined,
    RouteStimulus,
    RoutingReached,
    StartExecution,
)
from interlock.domain.routing.wait.events import WaitTaken
from interlock.log.memory import MemoryLog
from interlock.projections.views import VIEWS
from tests.simulation.checks import Seen, Violation
from tests.simulation.checks.authority import AuthorityCheck
from tests.simulation.checks.clients import ClientsCheck
from tests.simulation.checks.clocks import ClocksCheck
from tests.simulation.checks.deliveries import DeliveriesCheck
from tests.simulation.checks.meetings import Meetings
from tests.simulation.checks.owners import OwnersCheck
from tests.simulation.checks.preflights import PreflightsCheck
from tests.simulation.checks.readers import ReadersCheck
from tests.simulation.checks.rows import RowsCheck
from tests.simulation.checks.runs import RunsCheck
from tests.simulation.checks.shadows import Shadow, ShadowsCheck
from tests.simulation.checks.swallowed import SwallowedCheck
from tests.simulation.checks.tape import Commit, Home, Inbox, Tapes
from tests.simulation.checks.trials import TrialsCheck
from tests.simulation.checks.upkeep import UpkeepCheck
from tests.simulation.checks.used import UsedCheck
from tests.simulation.checks.witness import Witness

CONTEXTS = ("publishing", "routing", "executions")


class Judge:
    """Checks a run while it goes on."""

    def __init__(self, seen: Seen, *, skew_ms: int = 2_000, horizon_ms: int = 86_400_000, seed: int = 0) -> None:
        """`skew_ms` and `horizon_ms` are the run's `max_clock_skew_ms` and dedup horizon."""
        log = seen.log
        assert isinstance(log, MemoryLog), "expected a log in memory, whose records can be read without waiting"
        self._seen = seen
        self._found: Violation | None = None
        self.tapes = Tapes(log.broker, seen.topics, seen.codec)
        homes = list(self.tapes.journals)
        chance = random.Random(seed)
        self._readers = {home: ReadersCheck(tape, log.broker, chance) for home, tape in self.tapes.journals.items()}
        self._clocks = ClocksCheck(seen.shifts, skew_ms=skew_ms)
        self._upkeep = UpkeepCheck(seen.tampered)
        self.authority = AuthorityCheck()
        self.owners = OwnersCheck(seen.ledger)
        self._preflights = PreflightsCheck(seen.ledger, self.authority, self.owners)
        self.meetings = {
            home: Meetings(skew_ms=skew_ms, horizon_ms=horizon_ms) for home in homes if home[0] == "routing"
        }
        self.runs = RunsCheck(seen.topics)
        self._trials = TrialsCheck(seen.ledger, self.authority, self.runs.executables, lives_ms=seen.references_ms)
        self._used = UsedCheck(seen.ledger)
        self.deliveries = DeliveriesCheck(self.tapes)
        self._swallowed = SwallowedCheck(self.tapes, self.authority, self.meetings, self.runs, self.deliveries)
        self._clients = ClientsCheck(self.tapes, seen.ledger, self.authority, self.meetings, self.runs, self.deliveries)
        self._shadows = {home: Shadow(home, horizon_ms) for home in homes}
        revisions = {home: tape.revisions for home, tape in self.tapes.journals.items()}
        self.shadows = ShadowsCheck(self._shadows, revisions)
        # Filled while the run goes on, so an empty one counts as well.
        tampered = set[str]() if seen.tampered is None else seen.tampered
        self.rows = RowsCheck(self.tapes, self.authority, VIEWS, tampered)
        self.witness = Witness(self, log.broker, self.tapes, self.deliveries, self.shadows)

    @contextmanager
    def watching(self) -> Generator[None, None, None]:
        """Lets it look from within the engine too, at each append, read and sending, until it is left: enter it before
        the first engine starts. Without it the judge sees less, and what it sees it sees later; see `witness`."""
        with self.witness.watching():
            try:
                yield
            finally:
                self.rows.close()

    # ---- looking --------------------------------------------------------------------------------------------------

    def see(self, then: Callable[[], None] | None = None) -> None:
        """Reads what has landed, then calls `then`; keeps the first violation for the next `look`."""
        if self._found is not None:
            return
        try:
            self._read()
            if then is not None:
                then()
        except Violation as violation:
            self._found = violation
        except (LookupError, ValueError, TypeError, AttributeError, AssertionError) as error:
            # A model that can't follow has met something that it holds to be impossible.
            self._found = Violation("impossible", f"expected a history that the judge can follow, found {error!r}")
            self._found.__cause__ = error

    async def look(self) -> None:
        """Reads on, and what clients were told. Called after every few landings. Raises `Violation`."""
        self.see(self._hear)
        self._raise()

    async def compare(self) -> None:
        """Compares the owners' states and the views with what the log says. Called at each crash, at each takeover and
        each hundredth commit, and at the end. Raises `Violation`."""
        self.see(self._compare)
        self._raise()

    async def ended(self) -> None:
        """Checks what has to hold once faults are off and everything has converged. Raises `Violation`."""
        self.see(self._clients.look)
        self.see(self._compare)
        self.see(self._ended)
        self._raise()

    def commits(self) -> int:
        """How many appends count so far."""
        return sum(len(tape.commits) for tape in self.tapes.journals.values())

    def owing(self) -> Sequence[str]:
        """What has still to come before the run may end, as sentences; () once nothing has: undelivered intents, runs
        that have not ended and wait for nothing, waits that a stimulus is owed to, overdue timers, orphaned rows."""
        found = [*self.authority.owing(), *self.runs.owing(self._seen.now_ms()), *self.deliveries.owing()]
        found += [*self._swallowed.owing(), *self._clients.owing(), *self._trials.owing(self._seen.now_ms())]
        for meetings in self.meetings.values():
            found += meetings.owed()
        directory = self._seen.views()
        return found if directory is None else [*found, *self.rows.compare(directory)]

    # ---- within ---------------------------------------------------------------------------------------------------

    def _raise(self) -> None:
        if self._found is not None:
            raise self._found

    def _read(self) -> None:
        commits, landed = self.tapes.read()
        if not commits and not landed:
            return
        for commit in commits:
            self.witness.check_denied(self.tapes.journals[commit.home], commit.append.frame.id)
            self.deliveries.promised(commit)
            self._asked(commit)
        for inbox, start in landed:
            self.deliveries.landed(inbox, start)
            self._arrived(inbox, start)
        for context in CONTEXTS:
            for commit in commits:
                if commit.home[0] == context:
                    self._follow(commit)
        by_home: dict[Home, list[Commit]] = {}
        for commit in commits:
            by_home.setdefault(commit.home, []).append(commit)
        for home, appends in by_home.items():
            self._readers[home].read([commit.append for commit in appends])

    def _hear(self) -> None:
        """What clients were told."""
        self._clients.look()
        self._preflights.look()

    def _asked(self, commit: Commit) -> None:
        """What one context promises to another, before the other is followed."""
        for promise in commit.promises:
            if isinstance(promise.message, StartExecution):
                self.runs.asked[promise.message.execution_id] = promise.message
            elif isinstance(promise.message, RoutingReached):
                self.authority.promised_to_reach(commit.home, promise.message)

    def _arrived(self, inbox: Inbox, start: int) -> None:
        home = self.tapes.inbox_of.get(inbox.shard)
        if home is None:
            return
        for message, stored in zip(inbox.messages[start:], inbox.records[start:], strict=True):
            if isinstance(message, ProjectionAnswered):
                self.authority.answered(message)
            elif isinstance(message, RepairProjection):
                self._upkeep.asked(message)
            elif home[0] == "routing":
                if isinstance(message, RouteStimulus | RegisterWait):
                    self.meetings[home].arrived(message, stored.time_ms)
                elif isinstance(message, ResumeDeclined):
                    key = (message.execution_id, message.bookmark_id, message.stimulus_id)
                    self.meetings[home].declined.add(key)

    def _follow(self, commit: Commit) -> None:
        context = commit.home[0]
        if context == "publishing":
            self.authority.publishing(commit)
            self.owners.take(commit)
            self.runs.publishing(commit)
            self._used.take(commit)
            self._trials.publishing(commit)
        elif context == "routing":
            self.authority.routing(commit)
            self.meetings[commit.home].take(commit)
            for fact in commit.facts:
                if isinstance(fact.event, WaitTaken):
                    one = fact.event
                    data = self.meetings[commit.home].stimuli[one.stimulus_id].data
                    self.runs.given[one.execution_id, one.bookmark_id].add((one.stimulus_id, data))
        else:
            self.runs.take(commit)
        if context != "publishing":
            self._trials.elsewhere(commit)
        self._clocks.take(commit)
        self.deliveries.frame(commit)
        self._swallowed.take(commit)
        self._shadows[commit.home].take(commit)
        self.rows.take(commit)

    def _compare(self) -> None:
        for engine in self._seen.engines():
            for host in engine.hosts:
                for processor in host.processors.values():
                    ownership = processor.ownership
                    if ownership is not None and id(ownership) not in self.witness.deciding:
                        self.shadows.whole(ownership)
        directory = self._seen.views()
        if directory is not None:
            self.rows.compare(directory)

    def _ended(self) -> None:
        for readers in self._readers.values():
            readers.caught_up()
        self.deliveries.forwarded_as_written()
        self._clients.ended()
        if owing := self.owing():
            raise Violation(
                "unfinished", f"expected everything to have come, found {len(owing)}: {'; '.join(owing[:5])}"
            )
