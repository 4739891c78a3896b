"""Asks a broker what it knows of its cluster, in Kafka's own protocol and with nothing but a socket.

A port that is open is not yet a broker that answers, and one that answers may not know the others yet. One request
tells all three: Metadata version 4, which every broker since 1.0 speaks.
"""

import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass

METADATA_KEY, METADATA_VERSION, CORRELATION = 3, 4, 7
CLIENT = b"interlock-probe"


@dataclass(frozen=True, slots=True)
class Metadata:
    """What one broker knows."""

    brokers: frozenset[int]
    """The nodes that it would send clients to."""
    lagging: frozenset[tuple[str, int]]
    """Topics and partitions with a replica out of sync, or without a leader."""


def ask(port: int, timeout_s: float = 1.0) -> Metadata | None:
    """What the broker at this port of 127.0.0.1 answers; None where none does."""
    header = struct.pack(">hhih", METADATA_KEY, METADATA_VERSION, CORRELATION, len(CLIENT)) + CLIENT
    every_topic_but_make_none = struct.pack(">ib", -1, 0)
    request = header + every_topic_but_make_none
    try:
        with socket.create_connection(("127.0.0.1", port), timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(struct.pack(">i", len(request)) + request)
            return _read(_Bytes(_receive(connection)))
    except (OSError, struct.error):
        return None


def knows(port: int, nodes: frozenset[int]) -> bool:
    """Whether the broker at this port answers, and counts these nodes among its cluster."""
    told = ask(port)
    return told is not None and told.brokers >= nodes


def in_sync(ports: Iterable[int], nodes: frozenset[int]) -> bool:
    """Whether every broker answers, knows all of them, and sees no partition with a replica behind."""
    told = [ask(port) for port in ports]
    return all(each is not None and not each.lagging and each.brokers >= nodes for each in told)


def _receive(connection: socket.socket) -> bytes:
    with connection.makefile("rb") as stream:
        (size,) = struct.unpack(">i", stream.read(4))
        answer = stream.read(size)
    if len(answer) < size:
        raise ConnectionResetError("the broker closed the connection within its answer")
    return answer


class _Bytes:
    """A place in an answer, moved on by each reading."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._at = 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(">" + form, self._answer, self._at)
        self._at += struct.calcsize(">" + form)
        return int(value)

    def text(self) -> str:
        size = max(self.number("h"), 0)  # -1 stands for null
        self._at += size
        return self._answer[self._at - size : self._at].decode()

    def numbers(self) -> list[int]:
        return [self.number("i") for _ in range(self.number("i"))]


def _read(answer: _Bytes) -> Metadata:
    _correlation, _throttle = answer.number("i"), answer.number("i")
    brokers = frozenset(_broker(answer) for _ in range(answer.number("i")))
    _cluster, _controller = answer.text(), answer.number("i")
    lagging = frozenset(each for _ in range(answer.number("i")) for each in _lagging(answer))
    return Metadata(brokers, lagging)


def _broker(answer: _Bytes) -> int:
    node = answer.number("i")
    _host, _port, _rack = answer.text(), answer.number("i"), answer.text()
    return node


def _lagging(answer: _Bytes) -> list[tuple[str, int]]:
    _error, topic, _internal = answer.number("h"), answer.text(), answer.number("b")
    found: list[tuple[str, int]] = []
    for _ in range(answer.number("i")):
        _error, partition, leader = answer.number("h"), answer.number("i"), answer.number("i")
        replicas, in_sync = answer.numbers(), answer.numbers()
        if leader < 0 or len(in_sync) < len(replicas):
            found.append((topic, partition))
    return found
