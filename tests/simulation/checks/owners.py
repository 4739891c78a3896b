"""Whose each slot is, by a model that is written down anew: who respects owners never replaces another's slot (PUB-19).

It asks the ledger what each client said, not the engine: who names the owner, or nobody where nobody owns the slot, or
takes over, may change it; nobody else, and a refusal names whose it was. Whoever changes a slot says whose it is then.

What would surprise: an append tells its events before its promises, so an answer that came without events may have been
decided before any of them or behind each.

Rules: slot-trespassed, owner-unsaid, refused-without-owner.
"""

import json
from collections import defaultdict

from interlock.domain.messages import Owner, Publish, Reply, Restore, Unpublish
from interlock.domain.publishing.candidate import Wish
from interlock.domain.publishing.publication.events import PublicationRequested
from interlock.domain.publishing.slot.events import SlotActivated, SlotEmptied
from interlock.domain.publishing.unpublish.events import Unpublished, UnpublishSuperseded
from tests.simulation.checks import Violation
from tests.simulation.checks.tape import Commit, Fact
from tests.simulation.ledger import Ledger

Change = Publish | Restore | Unpublish
Asked = tuple[str, str]
"""A command: its id, and what it asks for."""


class OwnersCheck:
    """Follows the appends of publishing."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._owners: dict[str, list[tuple[int, Owner | None]]] = defaultdict(list)
        """Slot → (append, owner) of each change."""
        self._asked: dict[str, Asked] = {}
        """Publication or unpublish → the command that asked for it."""
        self._answered: set[Asked] = set()
        """Commands that have an answer; a repetition gets the same, whoever owns the slot by then."""

    def take(self, commit: Commit) -> None:
        """Takes an append of publishing. Raises `Violation`."""
        for fact in commit.facts:
            event = fact.event
            if isinstance(event, Unpublished):
                self._asked[event.unpublish_id] = event.command_id, event.asked
        for fact in commit.facts:
            event = fact.event
            if isinstance(event, PublicationRequested):
                self._asked[event.publication_id] = event.command_id, event.asked
                self._may(fact, event.slot_id, self._asked[event.publication_id])
            elif isinstance(event, UnpublishSuperseded):
                self._may(fact, event.slot_id, (event.command_id, event.asked))
            elif isinstance(event, SlotActivated | SlotEmptied):
                self._changed(fact, event)
        for promise in commit.promises:
            if isinstance(reply := promise.message, Reply) and (reply.command_id, reply.asked) not in self._answered:
                self._answered.add((reply.command_id, reply.asked))
                self._told(commit, reply)

    def at(self, slot_id: str, number: int) -> Owner | None:
        """Whose a slot was behind an append of publishing."""
        return next((owner for each, owner in reversed(self._owners[slot_id]) if each <= number), None)

    def _changed(self, fact: Fact, event: SlotActivated | SlotEmptied) -> None:
        by = event.publication_id if isinstance(event, SlotActivated) else event.unpublish_id
        command = self._may(fact, event.slot_id, self._asked.get(by, ("", "")))
        if command is not None and event.owner != command.owner:
            raise Violation(
                "owner-unsaid", f"expected the slot to be {command.owner}'s, as {command} says, found {event} in {fact}"
            )
        self._owners[event.slot_id].append((fact.number, event.owner))

    def _may(self, fact: Fact, slot_id: str, asked: Asked) -> Change | None:
        """What a client asked for, which has to be something that it may; None where the ledger doesn't know it."""
        command = self._command(asked)
        owner = self.at(slot_id, fact.number)
        if command is not None and not respects(command, owner):
            raise Violation(
                "slot-trespassed", f"expected a slot of {owner} to be left alone by {command}, found {fact}"
            )
        return command

    def _told(self, commit: Commit, reply: Reply) -> None:
        command = self._command((reply.command_id, reply.asked))
        if command is None:
            return
        told = json.loads(reply.body)
        details = told.get("details", {}) if reply.status == "refused" else told
        slot_id = str(details.get("slotId", ""))
        possible = [self.at(slot_id, commit.number - 1)]
        possible += [owner for number, owner in self._owners[slot_id] if number == commit.number]
        if "ownerId" in details:
            named = Owner(kind=details["ownerKind"], id=details["ownerId"])
            if named not in possible or respects(command, named):
                raise Violation(
                    "refused-without-owner",
                    f"expected {command} to be refused for its owner only where that is {possible} and not the one who "
                    f"asks, found {named} told in {commit}",
                )
        elif told.get("status") == "nothing" and not any(respects(command, owner) for owner in possible):
            raise Violation(
                "slot-trespassed",
                f"expected {command} to be refused, since the slot is {possible}'s, found {told} in {commit}",
            )

    def _command(self, asked: Asked) -> Change | None:
        entry = self._ledger.find(*asked)
        return entry.what if entry is not None and isinstance(entry.what, Change) else None


def respects(command: Change | Wish, owner: Owner | None) -> bool:
    """Whether somebody may change a slot that is this owner's."""
    return owner is None or command.take_over or command.owner == owner
