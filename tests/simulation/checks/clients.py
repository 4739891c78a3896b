"""What clients were told is so: acknowledged is there and once, refused is not there, and a doubt ends as one of both.

Rules: told-unpromised, told-differently, acknowledged-lost, refused-happened, refused-landed.
"""

from collections import Counter

from interlock.domain.messages import CancelExecution, Publish, Restore, RouteStimulus
from interlock.domain.reply import body
from tests.simulation.checks import Violation
from tests.simulation.checks.authority import AuthorityCheck, publication_of
from tests.simulation.checks.deliveries import DeliveriesCheck
from tests.simulation.checks.meetings import Meetings
from tests.simulation.checks.runs import RunsCheck
from tests.simulation.checks.tape import Home, Tapes
from tests.simulation.ledger import Ledger, Sent, Told


class ClientsCheck:
    """Holds the ledger of a run against its journals."""

    def __init__(
        self,
        tapes: Tapes,
        ledger: Ledger,
        authority: AuthorityCheck,
        meetings: dict[Home, Meetings],
        runs: RunsCheck,
        deliveries: DeliveriesCheck,
    ) -> None:
        self._tapes = tapes
        self._ledger = ledger
        self._authority = authority
        self._meetings = meetings
        self._runs = runs
        self._deliveries = deliveries
        self._heard: list[int] = []
        """How much of what each entry was told has been looked at."""
        self._refused: dict[tuple[str, str], Sent] = {}
        """Publication, and what was asked for → the command that was refused or has failed, as a client was told."""

    def look(self) -> None:
        """Looks at what was told since, and that what was refused has not happened since."""
        for entry in self._ledger.sent[len(self._heard) :]:
            self._heard.append(0)
            assert entry.number == len(self._heard) - 1
        for entry in self._ledger.sent:
            for told in entry.told[self._heard[entry.number] :]:
                self._told(entry, told)
            self._heard[entry.number] = len(entry.told)
        for (publication, asked), entry in self._refused.items():
            life = self._authority.lives.get(publication)
            if life is not None and life.activated is not None and life.requested.asked == asked:
                raise Violation(
                    "refused-happened", f"expected {publication} never to be active, as {entry} says, found {life}"
                )

    def _told(self, entry: Sent, told: Told) -> None:
        if told.word in ("done", "refused", "failed"):
            self._answered(entry, told)
        elif told.word == "landed" and entry.shard is not None:
            inbox = next((one for one in self._tapes.stimuli if one.shard == entry.shard), None)
            there = inbox is not None and told.offset < len(inbox.records)
            if not there or inbox is None or inbox.records[told.offset].value != entry.what:
                raise Violation("acknowledged-lost", f"expected what {entry} was told to have landed, found another")

    def _answered(self, entry: Sent, told: Told) -> None:
        promised = self._deliveries.answers.get((entry.command_id, entry.asked))
        if promised is None:
            raise Violation("told-unpromised", f"expected an append that promises what {entry} was told ({told})")
        if promised != (told.word, body(told.body)):
            raise Violation("told-differently", f"expected {promised}, found that {entry} was told {told}")
        if isinstance(entry.what, Publish | Restore):
            self._published(entry, entry.what, told)
        elif told.body.get("status") == "unpublished":
            found = self._authority.emptyings.get(str(told.body["unpublishId"]))
            if found is None or not found.served:
                raise Violation("acknowledged-lost", f"expected it to be served, as {entry} says, found {found}")
            self._authority.told_active(found.done.position, self._numbers())
        elif isinstance(entry.what, CancelExecution):
            run = self._runs.runs.get(entry.what.execution_id)
            by_it = run is not None and entry.command_id in run.cancels
            if told.word == "done" and (run is None or run.end != "cancelled" or not by_it):
                raise Violation("acknowledged-lost", f"expected a run that {entry} has ended, found {run}")
            if told.word != "done" and by_it:
                raise Violation("refused-happened", f"expected {entry} to have changed nothing, found {run}")

    def _published(self, entry: Sent, message: Publish | Restore, told: Told) -> None:
        publication = publication_of(message.shell, message.command_id)
        life = self._authority.lives.get(publication)
        if told.body.get("status") == "nothing":
            return
        if told.word != "done":
            self._refused[publication, entry.asked] = entry
            return
        if life is None or not life.served or life.requested.asked != entry.asked:
            raise Violation("acknowledged-lost", f"expected {publication} to be served, as {entry} says, found {life}")
        activated = life.activated
        assert activated is not None
        self._authority.told_active(activated.position, self._numbers())

    def _numbers(self) -> dict[Home, int]:
        """The last appends of the routing shards."""
        return {home: len(tape.commits) for home, tape in self._tapes.journals.items() if home[0] == "routing"}

    # ---- at the end -------------------------------------------------------------------------------------------------

    def ended(self) -> None:
        """Everything that landed was done once; what was refused never landed."""
        landed = Counter(bytes(stored.value) for inbox in self._tapes.stimuli for stored in inbox.records)
        possible = {
            entry.what
            for entry in self._ledger.sent
            if isinstance(entry.what, bytes) and not (entry.told and all(told.word == "never" for told in entry.told))
        }
        written = {entry.what for entry in self._ledger.sent if isinstance(entry.what, bytes)}
        for value in landed:
            if value in written and value not in possible:
                raise Violation("refused-landed", f"expected {value!r}, which the log has refused, not to have landed")
        there = {
            message.stimulus_id
            for inbox in self._tapes.inboxes.values()
            for message in inbox.messages
            if isinstance(message, RouteStimulus)
        }
        for entry in self._ledger.sent:
            landed_there = isinstance(entry.what, RouteStimulus) and entry.was_told("landed")
            if landed_there and getattr(entry.what, "stimulus_id", "") not in there:
                raise Violation("acknowledged-lost", f"expected what {entry} was told to lie in an inbox")

    def owing(self) -> list[str]:
        """Commands that lie in an inbox and were not answered."""
        return [
            f"command {command_id} lies in the inbox of {home[0]}/{home[1]} and has no answer"
            for home, commands in self._deliveries.commands.items()
            for command_id, asked in commands
            if (command_id, asked) not in self._deliveries.answers
        ]
