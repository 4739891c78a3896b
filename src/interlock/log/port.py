"""The port to the durable log: to send, to read, to ask how far it goes, and the errors that these may end in.

A log holds *shards* (a topic's partitions). A shard is a sequence of records; each batch that is sent lands
as a whole or not at all, contiguous, at an offset that the log alone decides. Nothing else is asked of a
backend: no transaction, no condition, no lock. What makes a journal safe stands in `interlock.log.journal`.

Always true of every backend (`tests/contract/test_log_port.py` shows it):

- offsets of one shard rise by one with each record; a batch takes a contiguous run of them;
- a record that `Log.read` has returned once is returned by every later read of that offset, until it is trimmed;
- `Log.end` never tells less than an offset that an earlier `send` through the same process was told, plus its size.

What would surprise: `send` may raise `Doubt` and the batch lands later all the same, even seconds later and behind
batches that were sent after it. Only `Refused` means that it never will.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from interlock.domain.frozen import frozen

Headers = tuple[tuple[str, bytes], ...]


class Shard(NamedTuple):
    """One partition of one topic; `topic` is the whole name, prefix included."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"


@frozen()
class Record:
    """What a writer hands over: a key, a value, and headers in order."""

    key: bytes
    value: bytes
    headers: Headers = ()


@frozen()
class Stored:
    """What a reader gets: a record with its offset and the log's own time of the append in milliseconds since 1970."""

    offset: int
    time_ms: int
    key: bytes
    value: bytes
    headers: Headers


class Extent(NamedTuple):
    """From the first offset that can be read to the one that the next record will take."""

    first: int
    end: int


class LogError(Exception):
    """The root of what a log may answer; every message says what was asked, what was found, and what to do."""


class WrongLog(LogError):
    """What stands at the address is no log that this program can use; nothing was changed, and waiting is no use."""


class Doubt(LogError):
    """A batch may have landed, may land later, or never will; only reading the log tells (never retry blindly)."""


class Refused(LogError):
    """A batch has not landed and never will."""


class BatchTooLarge(Refused):
    """The batch is larger than the log takes at once."""


class NoSuchShard(Refused):
    """The topic or the partition does not exist."""


class NotNow(Refused):
    """The batch has not landed and never will, but nothing is wrong with it (disk full, locked, closed): the same may
    be sent again later. An outage, so never a reason to give a message up.
    """


class Unavailable(LogError):
    """The log could not be asked (read, end, extent); asking again later may work."""


class OffsetGone(LogError):
    """The offset asked for is before the first that is kept, or behind the end."""

    def __init__(self, shard: Shard, offset: int, extent: Extent) -> None:
        super().__init__(
            f"expected to read {shard} from offset {offset}, found offsets {extent.first} to {extent.end} only"
        )
        self.shard = shard
        self.offset = offset
        self.extent = extent


class Reader(Protocol):
    """A place in one shard that moves forward as it is read; used by one task at a time."""

    @property
    def next_offset(self) -> int:
        """Where `read` goes on: behind what it returned, and behind what it passed because it is no record, such as the
        ends of other clients' transactions on Kafka."""
        ...

    async def read(self, wait_s: float) -> Sequence[Stored]:
        """The next records in order, at once if there are any; else waits for some and gives () after `wait_s` seconds.

        Raises `OffsetGone` where the next offset was trimmed or is behind the end, `Unavailable` where the
        log can't be asked now (the place is kept, so the call may be repeated), `NoSuchShard`.
        """
        ...

    async def close(self) -> None:
        """Lets go of what the reader holds; never raises for a log that is away."""
        ...


class Log(Protocol):
    """A durable log. One object a process; safe for many tasks of one event loop."""

    @property
    def batch_bytes_max(self) -> int:
        """The largest batch in bytes that `send` takes, as `batch_bytes` counts."""
        ...

    async def send(self, shard: Shard, batch: Sequence[Record]) -> int:
        """Appends the batch as a whole and returns the offset of its first record, once it is durable.

        Raises `Refused` (it never lands) or `Doubt` (anything else, after `send_s` at the latest).
        """
        ...

    def reader(self, shard: Shard, offset: int) -> Reader:
        """A reader whose first `read` begins at `offset`."""
        ...

    async def end(self, shard: Shard) -> int:
        """The offset behind what can be read now: everything that any `send` was told to have landed is before it.

        Raises `Unavailable`, `NoSuchShard`.
        """
        ...

    async def extent(self, shard: Shard) -> Extent:
        """What can be read now, from the first offset that is kept to what `end` tells; costs more than `end` does."""
        ...

    async def close(self) -> None:
        """Ends what is under way as `Doubt` and lets go of connections and files."""
        ...


PREFIX_PATTERN: Final = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$"
"""What names of topics may begin with, on every log: what Kafka takes, and no name of a folder."""

RECORD_OVERHEAD_BYTES = 32
HEADER_OVERHEAD_BYTES = 8
BATCH_OVERHEAD_BYTES = 128


def record_bytes(record: Record) -> int:
    """The size of a record as every backend counts it: an upper bound of what Kafka's format v2 writes."""
    size = RECORD_OVERHEAD_BYTES + len(record.key) + len(record.value)
    for name, value in record.headers:
        # Kafka counts the bytes of a name, which are more than its characters where it isn't ASCII.
        name_bytes = len(name) if name.isascii() else len(name.encode("utf-8", "surrogatepass"))
        size += HEADER_OVERHEAD_BYTES + name_bytes + len(value)
    return size


def batch_bytes(batch: Sequence[Record]) -> int:
    """The size of a batch, to be compared with `Log.batch_bytes_max`."""
    return BATCH_OVERHEAD_BYTES + sum(record_bytes(record) for record in batch)


@frozen(kw_only=True)
class TopicSpec:
    """How a topic must be; `topics create` makes it so and `topics check` compares."""

    name: str
    partitions: int
    compacted: bool = False
    """Keep the newest record a key (tables) instead of every record for ever (journals, inboxes)."""


@frozen(kw_only=True)
class TopicFault:
    """One way in which a topic is not what the engine needs: it could lose journals, or shards would move."""

    topic: str
    setting: str
    expected: str
    found: str
    remedy: str


class LogAdmin(Protocol):
    """What `topics create|check` and the start of a process ask of a log."""

    async def create(self, topics: Sequence[TopicSpec]) -> Sequence[str]:
        """Makes those that are missing and returns their names; leaves existing ones as they are."""
        ...

    async def check(self, topics: Sequence[TopicSpec]) -> Sequence[TopicFault]:
        """Every fault found; none means that journals are safe here (LOG-07). Raises `Unavailable`."""
        ...

    async def topic_id(self, topic: str) -> str:
        """An id that a topic keeps for life and that one made anew under the same name does not share."""
        ...

    async def clock_skew_s(self, now_ms: Callable[[], int]) -> float:
        """The log's clock minus the given one, in seconds."""
        ...


class Assignment(Protocol):
    """Which shards of a topic this process *should* own: a matter of liveness, never of safety.

    An assignment is told by a consumer group on Kafka, by lease rows in SQLite, by configuration in memory.
    """

    def current(self) -> frozenset[int]:
        """The partitions that are this process's now, as far as it knows."""
        ...

    async def changed(self, known: frozenset[int]) -> frozenset[int]:
        """Waits until `current()` differs from `known`, then returns it."""
        ...

    async def close(self) -> None:
        """Leaves at once, so that others take over without waiting for a timeout."""
        ...


class GroupSource(Protocol):
    """The records of topics that anybody may write to, shared out between processes, with positions that the log keeps.

    For the ingress only, which has no journal to keep its positions in. Delivery is at least once: what was polled and
    not committed is polled again, by this process or another.
    """

    async def poll(self, wait_s: float) -> Sequence[tuple[Shard, Sequence[Stored]]]:
        """The next records of this process's shards, in order within each; () where none came for `wait_s` seconds.

        Reading begins at what was committed, or at the first record that is kept. Records of a shard that was given
        away meanwhile are left out. Raises `Unavailable` where nothing can be read now, and `OffsetGone` where records
        were trimmed that nobody has committed.
        """
        ...

    async def commit(self, offsets: Mapping[Shard, int]) -> frozenset[Shard]:
        """Keeps for each shard the offset to go on from, and returns the shards for which it did.

        A shard that was given away is left out: its records are polled again by who has it. Raises `Unavailable`.
        """
        ...

    async def close(self) -> None:
        """Gives all shards away at once; never raises for a log that is away."""
        ...
