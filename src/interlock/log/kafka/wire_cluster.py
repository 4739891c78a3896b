"""What a cluster says of itself: its brokers and topics, in versions of the protocol that aiokafka does not have.

aiokafka's metadata stop at version 5; topic ids came with 10 (KIP-516), and brokers that are down are told by the
second version of "describe cluster" only (KIP-1073). A request here has what a connection of aiokafka asks of one.
"""

import base64
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, ClassVar, NamedTuple, Self, cast

from aiokafka.protocol.api import RequestHeader_v2, ResponseHeader_v1
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactString,
    Int8,
    Int16,
    Int32,
    Schema,
    TaggedFields,
)


class PartitionState(NamedTuple):
    """Who leads a partition; `leader` is -1 where nobody does."""

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as a broker knows it; `error` is 0 or Kafka's code, `id` Kafka's text form of the topic's uuid."""

    name: str
    error: int
    id: str
    partitions: Mapping[int, PartitionState]


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The brokers that are up, by id with host and port, and the topics that were asked for."""

    brokers: Mapping[int, tuple[str, int]]
    topics: Sequence[TopicState]


class _Uuid:
    """16 raw bytes, which aiokafka has no type for."""

    @classmethod
    def encode(cls, value: bytes) -> bytes:
        return value

    @classmethod
    def decode(cls, data: BytesIO) -> bytes:
        return data.read(16)


_NO_UUID = bytes(16)
_NO_TAGS: dict[int, bytes] = {}
_TAGS = ("tags", TaggedFields)
_TEXT = CompactString("utf-8")
_UUID = cast("Any", _Uuid)


class _Request(ABC):
    """One request in one version of the flexible form (KIP-482), which decodes its own response."""

    API_KEY: ClassVar[int]
    API_VERSION: ClassVar[int]
    SINCE: ClassVar[str]
    """The Kafka release that brought the version, for messages."""
    REQUEST: ClassVar[Schema]
    RESPONSE: ClassVar[Schema]

    @property
    def RESPONSE_TYPE(self) -> Self:
        """What the connection calls `decode` of."""
        return self

    def prepare(self, versions: Mapping[int, tuple[int, int]]) -> Self:
        """This request, where the broker takes its version. Raises `NotImplementedError`."""
        least, most = versions.get(self.API_KEY, (0, -1))
        if not least <= self.API_VERSION <= most:
            raise NotImplementedError(f"expected a broker of Kafka {self.SINCE} or later, found an older one")
        return self

    def build_request_header(self, correlation_id: int, client_id: str) -> object:
        """What stands before the request."""
        return RequestHeader_v2(cast("Any", self), correlation_id, client_id)

    def parse_response_header(self, buffer: BytesIO) -> object:
        """What stands before the response."""
        return ResponseHeader_v1.decode(buffer)

    def encode(self) -> bytes:
        """The request's bytes."""
        encoded: bytes = self.REQUEST.encode(self.fields())
        return encoded

    @abstractmethod
    def fields(self) -> Sequence[object]:
        """The request's fields, in the order of its schema."""
        ...


class Metadata(_Request):
    """Asks for the brokers that are up, and for some topics; none is made by asking."""

    API_KEY = 3
    API_VERSION = 12
    SINCE = "3.0"
    REQUEST = Schema(
        ("topics", CompactArray(("topic_id", _UUID), ("name", _TEXT), _TAGS)),
        ("allow_auto_topic_creation", Boolean),
        ("include_topic_authorized_operations", Boolean),
        _TAGS,
    )
    _PARTITION = CompactArray(
        ("error_code", Int16),
        ("partition", Int32),
        ("leader", Int32),
        ("leader_epoch", Int32),
        ("replicas", CompactArray(Int32)),
        ("in_sync", CompactArray(Int32)),
        ("offline", CompactArray(Int32)),
        _TAGS,
    )
    _TOPIC = CompactArray(
        ("error_code", Int16),
        ("name", _TEXT),
        ("topic_id", _UUID),
        ("is_internal", Boolean),
        ("partitions", _PARTITION),
        ("authorized_operations", Int32),
        _TAGS,
    )
    RESPONSE = Schema(
        ("throttle_time_ms", Int32),
        ("brokers", CompactArray(("node_id", Int32), ("host", _TEXT), ("port", Int32), ("rack", _TEXT), _TAGS)),
        ("cluster_id", _TEXT),
        ("controller_id", Int32),
        ("topics", _TOPIC),
        _TAGS,
    )

    def __init__(self, topics: Iterable[str]) -> None:
        self._topics = sorted(topics)

    def fields(self) -> Sequence[object]:
        """No topic is made by asking: such a one would have none of the settings that journals need."""
        return [[(_NO_UUID, topic, _NO_TAGS) for topic in self._topics], False, False, _NO_TAGS]

    def decode(self, buffer: BytesIO) -> ClusterState:
        """The response."""
        _throttle, brokers, _cluster, _controller, topics, _tags = cast("Any", self.RESPONSE.decode(buffer))
        states = [
            _topic_state(error, name, uuid, partitions)
            for error, name, uuid, _internal, partitions, _operations, _topic_tags in topics
        ]
        return ClusterState({node: (host, port) for node, host, port, *_ in brokers}, states)


def _topic_state(error: int, name: str, uuid: bytes, partitions: Iterable[Any]) -> TopicState:
    states = {
        number: PartitionState(leader, epoch, tuple(replicas), tuple(in_sync))
        for _error, number, leader, epoch, replicas, in_sync, _offline, _tags in partitions
    }
    return TopicState(name, error, base64.urlsafe_b64encode(uuid).decode().rstrip("="), states)


class RegisteredBrokers(_Request):
    """Asks for the ids of all brokers, those included that are down."""

    API_KEY = 60
    API_VERSION = 2
    SINCE = "4.0"
    REQUEST = Schema(
        ("include_cluster_authorized_operations", Boolean),
        ("endpoint_type", Int8),
        ("include_fenced_brokers", Boolean),
        _TAGS,
    )
    RESPONSE = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        ("error_message", _TEXT),
        ("endpoint_type", Int8),
        ("cluster_id", _TEXT),
        ("controller_id", Int32),
        (
            "brokers",
            CompactArray(
                ("broker_id", Int32), ("host", _TEXT), ("port", Int32), ("rack", _TEXT), ("is_fenced", Boolean), _TAGS
            ),
        ),
        ("cluster_authorized_operations", Int32),
        _TAGS,
    )

    def fields(self) -> Sequence[object]:
        """Brokers (1) and not controllers."""
        return [False, 1, True, _NO_TAGS]

    def decode(self, buffer: BytesIO) -> frozenset[int]:
        """The response; empty where the broker refuses it."""
        decoded = cast("Any", self.RESPONSE.decode(buffer))
        return frozenset(broker for broker, *_ in decoded[6])
