"""An id is of one command: another one under it is refused once the first has made a fact, and changes nothing.

What a command asked for is compared as a client would: all of it but who asks, when and why, and a document whatever
its blanks. Before the first has made a fact its id is anybody's: what was refused, or found nothing to do, used none
up.

What would surprise: an append tells its events before its promises, so an answer beside the fact that uses its id up
may have been decided before it or behind.

Rules: asked-alike, id-used-twice, used-unrefused, refused-unused.
"""

import json
from contextlib import suppress
from dataclasses import dataclass, fields

from interlock.domain.messages import Reply
from interlock.domain.publishing.publication.events import PublicationRequested
from interlock.domain.publishing.reference.events import SourceReferenceUsed
from interlock.domain.publishing.unpublish.events import Unpublished, UnpublishSuperseded
from tests.simulation.checks import Violation
from tests.simulation.checks.tape import Commit, Fact
from tests.simulation.ledger import Command, Ledger

_NOT_CONTENT = ("command_id", "requested_by", "requested_at_ms", "reason")


@dataclass(frozen=True, slots=True)
class First:
    """The fact by which a command has used its id up."""

    number: int
    """The append that it is in."""
    asked: str
    made: tuple[str, str]
    """What came of it, as a refusal of another one names it."""


class UsedCheck:
    """Follows the appends of publishing."""

    def __init__(self, ledger: Ledger) -> None:
        self.firsts: dict[str, First] = {}
        """Command id → what used it up; the runs of the simulation have one shell."""
        self._ledger = ledger
        self._answered: set[tuple[str, str]] = set()
        """Command and what it asked for, of those that have an answer; a repetition gets the same."""

    def take(self, commit: Commit) -> None:
        """Takes an append of publishing. Raises `Violation`."""
        for fact in commit.facts:
            match fact.event:
                case PublicationRequested(publication_id=made) as event:
                    self._first(fact, event.command_id, event.asked, ("publicationId", made))
                case Unpublished(unpublish_id=made) | UnpublishSuperseded(unpublish_id=made) as event:
                    self._first(fact, event.command_id, event.asked, ("unpublishId", made))
                case SourceReferenceUsed(execution_id=made) as event:
                    self._first(fact, event.command_id, event.asked, ("executionId", made))
                case _:
                    pass
        for promise in commit.promises:
            if isinstance(promise.message, Reply):
                self._told(commit, promise.message)

    def _first(self, fact: Fact, command_id: str, asked: str, made: tuple[str, str]) -> None:
        if (first := self.firsts.get(command_id)) is not None:
            raise Violation("id-used-twice", f"expected {command_id!r} to be used up by {first}, found {fact}")
        self.firsts[command_id] = First(fact.number, asked, made)
        self._unlike(command_id)

    def _unlike(self, command_id: str) -> None:
        """Commands under one id are told from each other exactly where they differ."""
        sent = self._ledger.by_command.get(command_id, [])
        for index, one in enumerate(sent[1:], 1):
            for other in sent[:index]:
                if (one.asked == other.asked) != (_content(one.what) == _content(other.what)):
                    raise Violation("asked-alike", f"expected {one} and {other} to be told apart by what they ask for")

    def _told(self, commit: Commit, reply: Reply) -> None:
        key = (reply.command_id, reply.asked)
        if key in self._answered or self._ledger.find(*key) is None:
            return
        self._answered.add(key)
        self._unlike(reply.command_id)
        details = json.loads(reply.body).get("details", {})
        first = self.firsts.get(reply.command_id)
        of_another = first is not None and first.asked != reply.asked
        if reply.status == "refused" and "firstUsedTo" in details:
            if first is None or not of_another or details.get(first.made[0]) != first.made[1]:
                raise Violation(
                    "refused-unused", f"expected its id to be used up by another command, found {first} at {reply}"
                )
        elif first is not None and of_another and first.number < commit.number:
            raise Violation("used-unrefused", f"expected a refusal, since {first} used its id up, found {reply}")


def _content(what: object) -> object:
    assert isinstance(what, Command), f"expected a command, found {what!r}"
    values = {each.name: getattr(what, each.name) for each in fields(what) if each.name not in _NOT_CONTENT}
    with suppress(ValueError):
        values["document"] = json.loads(values.get("document", ""))
    return type(what), values
