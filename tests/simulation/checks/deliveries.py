"""What promises, inboxes and frames say of each other: nothing skipped, nothing early, nothing swallowed.

Rules: delivered-unpromised, delivered-differs, delivery-gap, delivered-before-append, sent-past-doubt,
sent-out-of-order, inbox-falls, inbox-ahead, received-wrong, delivered-falls, marked-undelivered, opened-incomplete,
answer-before-command, answer-differs, answered-note, replied-unpromised, routed-elsewhere, stimulus-lost.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from interlock.domain.asked import asked_of
from interlock.domain.messages import (
    RejectStimulus,
    Reply,
    RouteStimulus,
)
from interlock.domain.sharding import digest, routing_key
from interlock.log.port import Record, Shard, Stored
from tests.simulation.checks import Violation
from tests.simulation.checks.tape import Commit, Home, Inbox, Promise, Tapes, expect, home_of, name, source_of
from tests.simulation.ledger import Command

Asked = tuple[str, str]
"""A command: its id, and what it asks for, since another one under its id has another answer."""
USERS = ("replies/0", "dead-letters/0")
"""Destinations whose records say nothing of their source."""


@dataclass(slots=True)
class Sending:
    """A batch on its way from a source to a destination."""

    source: str
    destination: str
    last: int


class DeliveriesCheck:
    """Between all shards, and to users."""

    def __init__(self, tapes: Tapes) -> None:
        self.answers: dict[Asked, tuple[str, str]] = {}
        """Command → status and body that were promised first."""
        self.arrived: dict[tuple[Home, str], int] = defaultdict(int)
        """Source and destination → the highest number that lies in its inbox; none before it is missing."""
        self.commands: dict[Home, dict[Asked, int]] = defaultdict(dict)
        """Shard → command → the offset at which it came first."""
        self._tapes = tapes
        self._told: set[tuple[Home, str, int]] = set()
        """Source, topic for users and number of what lies there."""
        self._user_keys: dict[tuple[str, int, bytes], list[Promise]] = defaultdict(list)
        self._sure: dict[tuple[str, str], int] = defaultdict(int)
        """Source and destination → the highest number that a courier was told to have landed."""
        self._received: dict[Home, dict[str, int]] = defaultdict(dict)
        self._delivered: dict[Home, dict[str, int]] = defaultdict(dict)
        self._forwarded: dict[tuple[str, Home], int] = defaultdict(int)
        """Source of the ingress and shard → the highest number that landed there."""
        self._ingress: dict[tuple[str, int], tuple[Home, bytes]] = {}
        """Source of the ingress and number → where it went, and what."""

    # ---- what lands -----------------------------------------------------------------------------------------------

    def promised(self, commit: Commit) -> None:
        """Takes the promises of an append, before anything else of the same look."""
        for promise in commit.promises:
            if promise.destination in USERS:
                self._user_keys[promise.destination, promise.number, promise.key].append(promise)

    def landed(self, inbox: Inbox, start: int) -> None:
        """Records of an inbox, or of a topic for users, from an index on."""
        home = self._tapes.inbox_of.get(inbox.shard)
        for index in range(start, len(inbox.records)):
            stored = inbox.records[index]
            if home is not None:
                self._landed(home, stored, inbox.messages[index])
            elif inbox is self._tapes.replies or inbox is self._tapes.dead_letters:
                self._told_user(inbox, stored)

    def _landed(self, home: Home, stored: Stored, message: object) -> None:
        if isinstance(message, Command):
            self.commands[home].setdefault((message.command_id, asked_of(message)), stored.offset)
        source, number = source_of(stored)
        where = f"offset {stored.offset} of {self._tapes.inboxes[home].shard}"
        if not source:
            return
        promiser = home_of(source)
        if promiser is None:
            if (source, number) not in self._ingress and number < self._forwarded[source, home]:
                last = self._forwarded[source, home]
                raise Violation(
                    "delivery-gap", f"expected {source} {number} before {last}, found it behind, at {where}"
                )
            self._forwarded[source, home] = max(self._forwarded[source, home], number)
            before = self._ingress.setdefault((source, number), (home, stored.value))
            if before != (home, stored.value):
                raise Violation(
                    "routed-elsewhere", f"expected {source} {number} as in {name(before[0])}, found {where}"
                )
            self._settled(home, message, where)
            return
        promises = self._tapes.promises[promiser, name(home)]
        if not 1 <= number <= len(promises):
            raise Violation(
                "delivered-unpromised", f"expected at most {len(promises)} from {source} at {where}, found {number}"
            )
        if promises[number - 1].value != stored.value or promises[number - 1].key != stored.key:
            raise Violation("delivered-differs", f"expected {promises[number - 1]} at {where}, found another message")
        last = self.arrived[promiser, name(home)]
        if number > last + 1:
            raise Violation("delivery-gap", f"expected {last + 1} of {source} at {where} or before, found {number}")
        self.arrived[promiser, name(home)] = max(last, number)

    def _settled(self, home: Home, message: object, where: str) -> None:
        """A stimulus of the ingress lies where all of its identity and correlation are."""
        if isinstance(message, RouteStimulus):
            key = routing_key(message.shell, message.identity, message.correlation)
            right = self._tapes.topics.partition("routing", key)
            expect(right == home[1], "routed-elsewhere", f"expected routing/{right} for {message}, found {where}")

    def _told_user(self, inbox: Inbox, stored: Stored) -> None:
        number = int(dict(stored.headers).get("number", b"0"))
        destination = "replies/0" if inbox is self._tapes.replies else "dead-letters/0"
        promises = self._user_keys.get((destination, number, stored.key), [])
        text = stored.value.decode("utf-8", "replace")
        if not any(_plain(one.message, text) for one in promises):
            raise Violation(
                "replied-unpromised",
                f"expected a promise of what lies at offset {stored.offset} of {inbox.shard}: {text}",
            )
        self._told.update((one.home, destination, one.number) for one in promises if _plain(one.message, text))

    # ---- what is sent ---------------------------------------------------------------------------------------------

    def sending(self, shard: Shard, batch: Sequence[Record]) -> Sending | None:
        """A courier or the ingress begins to send; everything that has landed by now was taken before."""
        home = self._tapes.inbox_of.get(shard)
        headers = [dict(record.headers) for record in batch]
        if home is None:
            if shard in (self._tapes.replies.shard, self._tapes.dead_letters.shard):
                destination = "replies/0" if shard == self._tapes.replies.shard else "dead-letters/0"
                for record, found in zip(batch, headers, strict=True):
                    number = int(found.get("number", b"0"))
                    if (destination, number, record.key) not in self._user_keys:
                        raise Violation(
                            "delivered-before-append", f"expected a promise of {record.value!r} that counts"
                        )
            return None
        source = headers[0].get("source", b"").decode()
        if not source:
            return None
        numbers = [int(found["number"]) for found in headers]
        promiser = home_of(source)
        if promiser is None:
            return None
        destination = name(home)
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            raise Violation("sent-out-of-order", f"expected {source} to send one after another, found {numbers}")
        promises = self._tapes.promises[promiser, destination]
        if numbers[-1] > len(promises):
            raise Violation(
                "delivered-before-append",
                f"expected {source} to send at most {len(promises)} to {destination}, which its appends that count "
                f"have promised, found {numbers[-1]}",
            )
        sure = self._sure[source, destination]
        if numbers[0] > sure + 1:
            raise Violation(
                "sent-past-doubt",
                f"expected {source} to send {sure + 1} to {destination} before anything else, since nobody was told "
                f"that it landed, found {numbers[0]}",
            )
        return Sending(source, destination, numbers[-1])

    def sent(self, sending: Sending) -> None:
        """The log has said that it landed."""
        key = (sending.source, sending.destination)
        self._sure[key] = max(self._sure[key], sending.last)

    # ---- what frames say ------------------------------------------------------------------------------------------

    def frame(self, commit: Commit) -> None:
        """Holds the note of an append against what lies in the shard's inbox and where it delivers."""
        progress, before, home = commit.progress, commit.before, commit.home
        records = self._tapes.inboxes[home].records
        if progress.inbox < before.inbox:
            raise Violation("inbox-falls", f"expected {before.inbox} or later in {commit}, found {progress.inbox}")
        if progress.inbox > len(records):
            raise Violation("inbox-ahead", f"expected at most {len(records)} in {commit}, found {progress.inbox}")
        received = self._received[home]
        changed: dict[str, int] = {}
        for index in range(before.inbox, progress.inbox):
            source, number = source_of(records[index])
            readable = self._tapes.inboxes[home].messages[index] is not None
            if source and readable and number > received.get(source, 0):
                received[source] = changed[source] = number
        said = dict(progress.received)
        if commit.append.frame.opened:
            expect(said == received, "opened-incomplete", f"expected all of {received} in {commit}, found {said}")
        elif said != changed:
            raise Violation("received-wrong", f"expected {changed} to be received in {commit}, found {said}")
        delivered = self._delivered[home]
        if commit.append.frame.opened and dict(progress.delivered) != delivered:
            raise Violation("opened-incomplete", f"expected all of {delivered} in {commit}, found {progress.delivered}")
        for destination, number in progress.delivered:
            if number < delivered.get(destination, 0):
                raise Violation("delivered-falls", f"expected {delivered[destination]} in {commit}, found {number}")
            delivered[destination] = number
            if number > self._reached(home, destination):
                raise Violation(
                    "marked-undelivered",
                    f"expected {commit} to mark at most what has arrived at {destination}, found {number}",
                )
        self._answers(commit)

    def _reached(self, home: Home, destination: str) -> int:
        reached = self.arrived[home, destination]
        while destination in USERS and (home, destination, reached + 1) in self._told:
            reached += 1
        self.arrived[home, destination] = reached
        return reached

    def _answers(self, commit: Commit) -> None:
        answered = [one.message.command_id for one in commit.promises if isinstance(one.message, Reply)]
        if sorted(answered) != sorted(commit.progress.answered) and not commit.append.frame.opened:
            raise Violation("answered-note", f"expected {answered} to be named in the note of {commit}")
        for promise in commit.promises:
            message = promise.message
            if isinstance(message, Reply):
                asked = self.commands[commit.home].get((message.command_id, message.asked))
                if asked is None or commit.progress.inbox <= asked:
                    raise Violation(
                        "answer-before-command",
                        f"expected {commit} to be past its command, at {asked}, found it at {commit.progress.inbox}",
                    )
                told = (message.status, message.body)
                first = self.answers.setdefault((message.command_id, message.asked), told)
                expect(first == told, "answer-differs", f"expected {first} again, found {told} in {commit}")

    # ---- at the end -----------------------------------------------------------------------------------------------

    def owing(self) -> list[str]:
        """Promises that have not arrived, and stimuli that were not forwarded."""
        found: list[str] = []
        for (home, destination), promises in self._tapes.promises.items():
            reached = self._reached(home, destination)
            found += [f"{promise} has not arrived" for promise in promises[reached:]]
        forwarded: dict[str, set[int]] = defaultdict(set)
        for source, number in self._ingress:
            forwarded[source.partition("@")[0]].add(number)
        for inbox in self._tapes.stimuli:
            there = forwarded[str(inbox.shard)]
            found += [
                f"the record at offset {stored.offset} of {inbox.shard} was not forwarded"
                for stored in inbox.records
                if stored.offset + 1 not in there
            ]
        return found

    def forwarded_as_written(self) -> None:
        """What the ingress has made of stimuli says what their records said."""
        for (source, number), (_, value) in self._ingress.items():
            shard = source.partition("@")[0]
            inbox = next((one for one in self._tapes.stimuli if str(one.shard) == shard), None)
            message = self._tapes.codec.decode(value)
            if inbox is None or number > len(inbox.records):
                raise Violation("stimulus-lost", f"expected a record {number - 1} of {shard}, found none")
            stored = inbox.records[number - 1]
            if isinstance(message, RouteStimulus) and message.arrived_at_ms != stored.time_ms:
                raise Violation("stimulus-lost", f"expected {stored.time_ms} as the arrival of {message}")
            if isinstance(message, RouteStimulus) and not _same_stimulus(message, stored.value):
                raise Violation("stimulus-lost", f"expected what {stored.value!r} says, found {message}")


def _same_stimulus(message: RouteStimulus, value: bytes) -> bool:
    told = json.loads(value)
    same = [message.type == told.get("type"), message.name == told.get("name")]
    identity = digest("stimulus", message.type, message.name)
    run = told.get("testRun")
    same.append(message.identity == (identity if run is None else digest("test-stimulus", run, identity)))
    same.append(message.correlation == (told.get("correlation") or ""))
    same.append(message.idempotency_key == (told.get("idempotencyKey") or ""))
    same.append(json.loads(message.data) == told.get("data"))
    return all(same)


def _plain(message: object, text: str) -> bool:
    """Whether a record for users says what was promised."""
    told = json.loads(text)
    if isinstance(message, Reply):
        body: object = json.loads(message.body)
        return bool(told == {"commandId": message.command_id, "status": message.status, "body": body})
    return isinstance(message, RejectStimulus) and told.get("id") == message.dead_letter_id
