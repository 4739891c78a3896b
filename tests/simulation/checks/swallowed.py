"""Every message that a frame says was consumed has left its trace: an event, a promise, or an earlier one of its kind.

So a decision that gets lost between the inbox and the append is seen at once and not when somebody misses its outcome.

Rules: swallowed-publish, swallowed-restore, swallowed-unpublish, swallowed-trial, swallowed-repair, swallowed-cancel,
swallowed-stimulus, swallowed-letter, swallowed-wait, swallowed-withdrawal, swallowed-decline, swallowed-position,
swallowed-start, swallowed-resume, swallowed-reached, swallowed-unreadable.
"""

from interlock.domain import sharding
from interlock.domain.asked import asked_of
from interlock.domain.messages import (
    CancelExecution,
    DecideAt,
    Publish,
    RegisterWait,
    RejectStimulus,
    RepairProjection,
    Restore,
    ResumeDeclined,
    ResumeExecution,
    RouteStimulus,
    RoutingReached,
    StartExecution,
    StartTestRun,
    Unpublish,
    WithdrawWait,
)
from interlock.domain.routing.dead_letter.letter import dead_letter_id
from interlock.domain.sharding import digest
from tests.simulation.checks import Violation
from tests.simulation.checks.authority import AuthorityCheck, publication_of
from tests.simulation.checks.deliveries import DeliveriesCheck
from tests.simulation.checks.meetings import Meetings
from tests.simulation.checks.runs import RunsCheck
from tests.simulation.checks.tape import Commit, Home, Tapes, expect, name
from tests.simulation.ledger import Command

KINDS: dict[type, str] = {
    Publish: "publish",
    Restore: "restore",
    Unpublish: "unpublish",
    StartTestRun: "trial",
    RepairProjection: "repair",
    CancelExecution: "cancel",
    RouteStimulus: "stimulus",
    RejectStimulus: "letter",
    RegisterWait: "wait",
    WithdrawWait: "withdrawal",
    ResumeDeclined: "decline",
    DecideAt: "position",
    StartExecution: "start",
    ResumeExecution: "resume",
    RoutingReached: "reached",
}
"""Messages that leave a trace, whatever comes of them, by the name of the rule that each is watched by."""


class SwallowedCheck:
    """Looks at what each append has consumed, once the other models have followed it."""

    def __init__(
        self,
        tapes: Tapes,
        authority: AuthorityCheck,
        meetings: dict[Home, Meetings],
        runs: RunsCheck,
        deliveries: DeliveriesCheck,
    ) -> None:
        self._tapes = tapes
        self._authority = authority
        self._meetings = meetings
        self._runs = runs
        self._deliveries = deliveries

    def take(self, commit: Commit) -> None:
        """An append, after everything that it says is in the models."""
        inbox = self._tapes.inboxes[commit.home]
        for index in range(commit.before.inbox, commit.progress.inbox):
            message = inbox.messages[index]
            stored = inbox.records[index]
            if message is None:
                letter = digest("dead-letter", str(inbox.shard), str(stored.offset))
                told = any(
                    isinstance(one.message, RejectStimulus) and one.message.dead_letter_id == letter
                    for one in commit.promises
                )
                expect(told, "swallowed-unreadable", f"expected a dead letter for {stored.value[:80]!r} in {commit}")
            elif type(message) in KINDS and not self._left_a_trace(commit.home, message):
                raise Violation(
                    f"swallowed-{KINDS[type(message)]}",
                    f"expected a trace of {message} in {commit} or before, found none",
                )

    def owing(self) -> list[str]:
        """Messages that lie behind what the frames say was consumed, and that nothing says was decided before."""
        found: list[str] = []
        for home, tape in self._tapes.journals.items():
            consumed = tape.commits[-1].progress.inbox if tape.commits else 0
            found += [
                f"{type(message).__name__} waits in the inbox of {name(home)}"
                for message in self._tapes.inboxes[home].messages[consumed:]
                if message is None or (type(message) in KINDS and not self._left_a_trace(home, message))
            ]
        return found

    def _left_a_trace(self, home: Home, message: object) -> bool:
        match message:
            case Publish() | Restore():
                return self._was_published(message)
            case Unpublish():
                made = sharding.digest("unpublish", message.shell, message.command_id)
                return self._authority.unpublishes.get(made) == asked_of(message) or self._was_answered(message)
            case StartTestRun() | RepairProjection():
                return self._was_answered(message)
            case RoutingReached():
                life = self._authority.lives.get(message.publication_id)
                activated = None if life is None else life.activated
                early = activated is None or message.position < activated.position
                return early or (life is not None and message.partition in life.reached)
            case CancelExecution():
                run = self._runs.runs.get(message.execution_id)
                asked = run is not None and message.command_id in run.cancels
                return asked or self._was_answered(message)
            case StartExecution():
                return message.execution_id in self._runs.runs or self._runs.is_dead(message.execution_id)
            case ResumeExecution():
                run = self._runs.runs.get(message.execution_id)
                took = run is not None and run.taken.get(message.bookmark_id) == message.stimulus_id
                declined = (message.execution_id, message.bookmark_id, message.stimulus_id) in self._runs.declined
                return took or declined
            case _:
                return home[0] != "routing" or self._was_routed(home, message)

    def _was_published(self, message: Publish | Restore) -> bool:
        life = self._authority.lives.get(publication_of(message.shell, message.command_id))
        made = life is not None and life.requested.asked == asked_of(message)
        return made or self._was_answered(message)

    def _was_answered(self, message: Command) -> bool:
        return (message.command_id, asked_of(message)) in self._deliveries.answers

    def _was_routed(self, home: Home, message: object) -> bool:
        meetings = self._meetings[home]
        match message:
            case RouteStimulus():
                return _is_known(meetings, message)
            case RejectStimulus():
                return message.dead_letter_id in meetings.rejected
            case RegisterWait():
                return (message.execution_id, message.bookmark_id) in meetings.waits
            case WithdrawWait():
                wait = meetings.waits.get((message.execution_id, message.bookmark_id))
                return wait is None or not wait.waiting
            case ResumeDeclined():
                wait = meetings.waits.get((message.execution_id, message.bookmark_id))
                return wait is not None and message.stimulus_id in wait.returned
            case DecideAt():
                reached = self._authority.reached[message.publication_id].get(home[1], 0)
                return reached >= message.position
            case _:
                return True


def _is_known(meetings: Meetings, message: RouteStimulus) -> bool:
    """Routed with just this content; or a dead letter for another one under its id, or because it can't be written."""
    known = meetings.stimuli.get(message.stimulus_id)
    if known is not None:
        ttl_ms = None if known.kept_until_ms is None else known.kept_until_ms - known.arrived_at_ms
        if (known.data, ttl_ms, known.one) == (message.data, message.ttl_ms, message.deliver == "one"):
            return True
    content = digest("content", message.data, str(message.ttl_ms), message.deliver)
    letters = (
        dead_letter_id(message.origin, f"{message.stimulus_id}:{content}"),
        digest("dead-letter", "unwritable", message.stimulus_id),
    )
    return any(letter in meetings.rejected for letter in letters)
