"""What must hold between what journals promise and what arrives, after whatever happened (CHK-02, LOG-06)."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, cast

from interlock.domain.messages import Reply
from interlock.domain.progress import Progress
from interlock.log.port import Log, Shard, Stored
from interlock.processors.ports import Codec, Topics
from interlock.runtime.topics import CONTEXTS
from tests.support.histories import Histories

Home = tuple[str, int]
"""A context and a shard."""


@dataclass(frozen=True, slots=True)
class Promise:
    """An intent of an append that counts."""

    destination: str
    number: int
    value: bytes
    inbox: int
    """How far its append says that the inbox was consumed."""


@dataclass
class Deliveries:
    """Promises by the shard that made them, and what lies where they go."""

    codec: Codec
    promises: dict[Home, list[Promise]] = field(default_factory=dict[Home, list[Promise]])
    marks: dict[Home, list[dict[str, int]]] = field(default_factory=dict[Home, list[dict[str, int]]])
    """What each append says was delivered, destination → number."""
    inboxes: dict[Home, list[Stored]] = field(default_factory=dict[Home, list[Stored]])
    replies: list[Stored] = field(default_factory=list[Stored])


async def read(log: Log, topics: Topics, histories: Histories) -> Deliveries:
    """Reads what arrived, after the journals in `histories` were read."""
    found = Deliveries(histories.codec)
    for home, appends in histories.appends.items():
        promises, marks = found.promises.setdefault(home, []), found.marks.setdefault(home, [])
        for append in appends:
            progress = histories.codec.decode(append.note)
            assert isinstance(progress, Progress)
            marks.append(dict(progress.delivered))
            for entry in append.entries:
                headers = dict(entry.headers)
                if headers["kind"] == b"intent":
                    destination, number = headers["destination"].decode(), int(headers["number"])
                    promises.append(Promise(destination, number, entry.value, progress.inbox))
    for context in CONTEXTS:
        for partition in range(topics.partitions[context]):
            found.inboxes[context, partition] = await _all(log, topics.inbox(context, partition))
    found.replies = await _all(log, topics.user("replies"))
    return found


def check_promises(deliveries: Deliveries) -> None:
    """CHK-02: promises are numbered without gaps; what arrives was promised by an append that counts, in that order."""
    for home, promises in deliveries.promises.items():
        numbers: dict[str, list[int]] = defaultdict(list)
        for promise in promises:
            numbers[promise.destination].append(promise.number)
        for destination, made in numbers.items():
            assert made == list(range(1, len(made) + 1)), (home, destination)
    for inbox, records in deliveries.inboxes.items():
        promised = {
            (home, promise.number): promise.value
            for home, promises in deliveries.promises.items()
            for promise in promises
            if promise.destination == _name(inbox)
        }
        last: dict[Home, int] = defaultdict(int)
        for record in records:
            if (home := _source(record)) not in deliveries.promises:
                continue
            number = int(dict(record.headers)["number"])
            assert promised[home, number] == record.value, (home, inbox, number)
            assert number <= last[home] + 1, f"{home} sent {number} to {inbox} before {last[home] + 1}"
            last[home] = max(last[home], number)


def undelivered(deliveries: Deliveries) -> list[tuple[Home, str, int]]:
    """Promises to other shards and to callers that have not arrived."""
    arrived = {
        (_source(record), _name(inbox), int(dict(record.headers).get("number", b"0")))
        for inbox, records in deliveries.inboxes.items()
        for record in records
    }
    told = {_told(json.loads(record.value)) for record in deliveries.replies}
    missing: list[tuple[Home, str, int]] = []
    for home, promises in deliveries.promises.items():
        for promise in promises:
            if promise.destination == "replies/0":
                reached = _promised(deliveries.codec.decode(promise.value)) in told
            elif promise.destination == "dead-letters/0":
                continue
            else:
                reached = (home, promise.destination, promise.number) in arrived
            if not reached:
                missing.append((home, promise.destination, promise.number))
    return missing


def check_marks(deliveries: Deliveries) -> None:
    """CHK-02: what an append marks as delivered has arrived, and marks never fall."""
    missing = set(undelivered(deliveries))
    for home, marks in deliveries.marks.items():
        last: dict[str, int] = defaultdict(int)
        for marked in marks:
            for destination, number in marked.items():
                assert number >= last[destination], (home, destination, number)
                last[destination] = number
        for destination, number in last.items():
            assert not [one for one in missing if one[:2] == (home, destination) and one[2] <= number], (home, number)


def check_answers(deliveries: Deliveries) -> None:
    """LOG-06: each answer is promised by an append that has its command behind it, and one command has one answer."""
    answers: dict[str, tuple[str, ...]] = {}
    for home, promises in deliveries.promises.items():
        asked = _commands(deliveries, home)
        for promise in promises:
            message = deliveries.codec.decode(promise.value)
            if not isinstance(message, Reply):
                continue
            assert promise.inbox > asked[message.command_id], (home, message)
            told = _promised(message)
            assert answers.setdefault(message.command_id, told) == told
    for record in deliveries.replies:
        found = json.loads(record.value)
        assert answers[found["commandId"]] == _told(found)


def _commands(deliveries: Deliveries, home: Home) -> dict[str, int]:
    """Command → the offset at which it first came."""
    found: dict[str, int] = {}
    for record in deliveries.inboxes[home]:
        command_id = getattr(deliveries.codec.decode(record.value), "command_id", None)
        if isinstance(command_id, str):
            found.setdefault(command_id, record.offset)
    return found


def _promised(message: object) -> tuple[str, ...]:
    assert isinstance(message, Reply), message
    return message.command_id, message.status, json.dumps(json.loads(message.body), sort_keys=True)


def _told(found: dict[str, Any]) -> tuple[str, ...]:
    return cast("str", found["commandId"]), cast("str", found["status"]), json.dumps(found["body"], sort_keys=True)


def _source(record: Stored) -> Home:
    """The shard that promised a record; the ingress names a topic, which is none."""
    name = dict(record.headers).get("source", b"/-1@").decode().partition("@")[0]
    context, _, partition = name.rpartition("/")
    return context, int(partition)


def _name(home: Home) -> str:
    return f"{home[0]}/{home[1]}"


async def _all(log: Log, shard: Shard) -> list[Stored]:
    end = await log.end(shard)
    reader = log.reader(shard, 0)
    records: list[Stored] = []
    while len(records) < end:
        records += await reader.read(1.0)
    await reader.close()
    return records
