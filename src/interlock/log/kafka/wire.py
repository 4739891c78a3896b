"""The edge to aiokafka: connections, and the questions that brokers are asked, each with a typed answer.

aiokafka gives the connection (TLS, SASL, versions), the structures of the protocol and the record batches. Its
producer and consumer are not used, for two reasons. A producer tries again by itself, so that of an error nobody can
tell whether an earlier try was written; here one `send` is one request, and the broker's answer says it exactly.
And a consumer shares its fetches between partitions, so that a record of one waits for the long poll of another.

aiokafka ships few types; what it returns gets its type here and nowhere else.
"""

import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from aiokafka import conn as aiokafka_conn
from aiokafka.errors import KafkaError, for_code
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.offset import OffsetRequest
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from interlock.log.kafka.settings import KafkaSettings
from interlock.log.kafka.tolerant import decode_tolerantly
from interlock.log.kafka.wire_cluster import ClusterState, Metadata, RegisteredBrokers
from interlock.log.port import LogError, Record, Shard, Stored

T = TypeVar("T")

CONNECTION_IDLE_MS = 9 * 60_000
"""A connection that idles longer is closed here, a minute before brokers do, so that no request meets a closed one."""

NEVER_MS = 24 * 3600_000
"""aiokafka's own request timeout is set out of the way: each call has a deadline of its own."""


class Connection(Protocol):
    """One connection to one broker, which answers requests in their order."""

    def connected(self) -> bool:
        """Whether requests may still be sent."""
        ...

    def send(self, request: object) -> Awaitable[Any]:
        """Writes the request at once; what is returned waits for the answer."""
        ...

    def close(self) -> object:
        """Closes the socket; what waits for answers gets an error."""
        ...


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request, and how to read its answer."""

    name: str
    request: object
    parse: Callable[[Any], T]


async def open_connection(host: str, port: int, settings: KafkaSettings, context: ssl.SSLContext | None) -> Connection:
    """Connects, greets and authenticates. Raises `OSError`, `KafkaError` or `TimeoutError`; bound it from outside."""
    password = None if settings.password is None else settings.password.get_secret_value()
    opened = await aiokafka_conn.create_conn(  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        host,
        port,
        client_id=settings.client_id,
        request_timeout_ms=NEVER_MS,
        max_idle_ms=CONNECTION_IDLE_MS,
        security_protocol=settings.security_protocol,
        ssl_context=context,
        sasl_mechanism=settings.sasl_mechanism if settings.uses_sasl else None,
        sasl_plain_username=settings.username,
        sasl_plain_password=password,
    )
    return cast("Connection", opened)


def error_name(code: int) -> str:
    """Kafka's name for an error code, for messages."""
    error = cast("Any", for_code(code))
    return f"{getattr(error, 'message', error.__name__)} ({code})"


# --- what the cluster is ------------------------------------------------------------------------------------------


def metadata(topics: Iterable[str]) -> Call[ClusterState]:
    """Asks for the brokers and the topics named (none is made by asking)."""
    return Call("metadata", Metadata(topics), lambda state: state)


def registered_brokers() -> Call[frozenset[int]]:
    """Asks for the ids of all brokers, those included that are down (Kafka 4.0 and later)."""
    return Call("describe cluster", RegisteredBrokers(), lambda brokers: brokers)


# --- writing ------------------------------------------------------------------------------------------------------


class Landed(NamedTuple):
    """What a broker says of one batch: an error code (0 is none), the base offset (-1 if none) and its own time."""

    code: int
    base: int
    time_ms: int


def build_batch(records: Iterable[Record], now_ms: int) -> bytearray:
    """One record batch (format v2, uncompressed), which lands as a whole; `now_ms` is replaced by the broker's time."""
    builder = cast("Any", DefaultRecordBatchBuilder)(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=0,
        batch_size=1 << 30,  # the caller has counted
    )
    append = builder.append
    for index, record in enumerate(records):
        append(index, now_ms, record.key, record.value, list(record.headers))
    return cast("bytearray", builder.build())


def produce(batches: Mapping[Shard, bytes | bytearray], timeout_s: float) -> Call[Mapping[Shard, Landed]]:
    """Writes one batch each to shards of one leader, on all in-sync replicas; the leader waits `timeout_s` for them."""
    topics: dict[str, list[tuple[int, bytes]]] = {}
    for shard, buffer in batches.items():
        topics.setdefault(shard.topic, []).append((shard.partition, cast("bytes", buffer)))
    request = ProduceRequest(None, -1, int(timeout_s * 1000), list(topics.items()))
    return Call("produce", request, _landed)


def _landed(answer: Any) -> Mapping[Shard, Landed]:
    found: dict[Shard, Landed] = {}
    for topic, partitions in answer.topics:
        for partition, code, base, time_ms, *_rest in partitions:
            found[Shard(topic, partition)] = Landed(code, base, time_ms)
    return found


# --- reading ------------------------------------------------------------------------------------------------------


class Fetched(NamedTuple):
    """What a broker says of one shard: an error code (0 is none), the high watermark, and batches as stored."""

    code: int
    high_watermark: int
    data: bytes
    aborted: Sequence[tuple[int, int]] = ()
    """Producer id and first offset of transactions that were aborted; told only to who asked for what is committed."""


def fetch(shard: Shard, offset: int, *, wait_s: float, bytes_max: int, committed: bool) -> Call[Fetched]:
    """Reads one shard from `offset`; the broker holds the request up to `wait_s` seconds until there is a record.

    With `committed` only up to the first transaction that is still open.
    """
    topics = [(shard.topic, [(shard.partition, offset, bytes_max)])]
    request = cast("Any", FetchRequest)(int(wait_s * 1000), 1, bytes_max, int(committed), topics, rack_id="")
    return Call("fetch", request, _fetched)


def _fetched(answer: Any) -> Fetched:
    if answer.error_code:
        return Fetched(answer.error_code, -1, b"")
    for _topic, partitions in answer.topics:
        for _partition, code, high_watermark, _stable, _start, aborted, _replica, data in partitions:
            return Fetched(code, high_watermark, data or b"", aborted or ())
    return Fetched(0, -1, b"")


class Damaged(LogError):
    """Fetched bytes are not what was written, or can't be decoded here."""


class Decoder:
    """Takes the records out of fetched batches piece by piece, so that no piece holds up the event loop for long."""

    __slots__ = (
        "_aborted",
        "_aborting",
        "_at",
        "_batch_end",
        "_batches",
        "_data",
        "_foreign",
        "_records",
        "next_offset",
    )

    def __init__(self, fetched: Fetched, offset: int, *, foreign: bool) -> None:
        """`foreign`: any client may have written, also headers without a value."""
        self._foreign = foreign
        self._data = fetched.data
        self._at = (0, 0)  # where the batch that is taken from begins and ends
        self._batches = cast("Any", MemoryRecords)(fetched.data)
        self._aborted = sorted(fetched.aborted, key=itemgetter(1), reverse=True)
        self._aborting: set[int] = set()
        self._records: Iterator[Any] | None = None
        self._batch_end = offset
        self.next_offset = offset
        """The offset of the first record that was not taken yet."""

    def take(self, count: int) -> list[Stored]:
        """Up to `count` records from `next_offset` on; [] when nothing is left. Raises `Damaged`."""
        taken: list[Stored] = []
        try:
            while len(taken) < count:
                if self._records is None:
                    if not self._batches.has_next():
                        break
                    self._records = self._next_batch()
                try:
                    self._drain(self._records, taken, count - len(taken))
                except UnicodeDecodeError:
                    # What was taken of the batch stays, and is not taken again.
                    self.next_offset = max(self.next_offset, taken[-1].offset + 1 if taken else 0)
                    self._records = decode_tolerantly(self._data[slice(*self._at)])
        except (KafkaError, ValueError) as error:
            raise Damaged(
                f"a record batch at offset {self.next_offset} or behind it can't be decoded: {error!r}"
            ) from error
        return taken

    def _next_batch(self) -> Iterator[Any]:
        batch = self._batches.next_batch()
        start = self._at[1]
        self._at = (start, start + 12 + int.from_bytes(self._data[start + 8 : start + 12], "big"))
        if not batch.validate_crc():
            raise ValueError("its checksum is another one")
        self._batch_end = batch.next_offset
        while self._aborted and self._aborted[-1][1] <= batch.base_offset:
            self._aborting.add(self._aborted.pop()[0])
        if batch.is_control_batch:  # the end of somebody's transaction, never a record
            self._aborting.discard(batch.producer_id)
            return iter(())
        if batch.is_transactional and batch.producer_id in self._aborting:
            return iter(())
        # A batch may be iterated only once, and pieces of it are taken.
        return chain(batch)

    def _drain(self, records: Iterator[Any], taken: list[Stored], room: int) -> None:
        wanted = self.next_offset
        for record in records:
            offset = record.offset
            if offset < wanted:  # a batch is fetched whole, also where reading begins in its middle
                continue
            headers = tuple(record.headers)
            if self._foreign:
                headers = tuple((name, value or b"") for name, value in headers)
            taken.append(Stored(offset, record.timestamp, record.key or b"", record.value or b"", headers))
            room -= 1
            if room == 0:
                self.next_offset = offset + 1
                return
        # Compaction may have removed the last records of a batch; its end is known all the same.
        self.next_offset = max(wanted, self._batch_end)
        self._records = None


FIRST, END = -2, -1


class OffsetAnswer(NamedTuple):
    """An error code (0 is none) and an offset."""

    code: int
    offset: int


def offset_at(shard: Shard, which: int) -> Call[OffsetAnswer]:
    """The first offset that is kept (`FIRST`), or the high watermark (`END`)."""
    request = OffsetRequest(-1, 0, [(shard.topic, [(shard.partition, which)])])
    return Call("list offsets", request, _offset)


def _offset(answer: Any) -> OffsetAnswer:
    for _topic, partitions in answer.topics:
        for _partition, code, _time_ms, offset in partitions:
            return OffsetAnswer(code, offset)
    return OffsetAnswer(-1, -1)
