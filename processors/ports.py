"""What processors ask of the outside, besides the log: time, ids, the codec, and names of topics.

Waiting goes through the running event loop (so a virtual one decides when it ends); instants that are written down come
from the clock.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from interlock.domain.sharding import shard_of
from interlock.log.port import Shard
from interlock.schemas.written import WrittenSchema


class Clock(Protocol):
    """The time that decisions are made at."""

    def now_ms(self) -> int:
        """Milliseconds since 1970; it may jump, in either direction."""
        ...


class ClockOff(Exception):
    """This process's clock is too far from the log's to decide anything; the message says how far, and what to do."""


class Ids(Protocol):
    """Ids that nothing computes: of appends and ownerships."""

    def __call__(self) -> str:
        """32 hexadecimal digits, never the same twice."""
        ...


class Codec(Protocol):
    """Bytes and back for every event and message."""

    def encode(self, value: object, /) -> bytes:
        """The record's value. Raises where a value can't be written (text that is no Unicode, a number too large)."""
        ...

    def decode(self, data: bytes, /) -> object:
        """The event or message. Raises where the bytes are none, or of an unknown schema."""
        ...

    def type_name(self, value: object, /) -> str:
        """The stored name of its type, such as "executions.ActivityCompleted"."""
        ...

    def schemas(self) -> Sequence[WrittenSchema]:
        """Every schema that it reads, those that it writes with among them."""
        ...

    def unknown_schema(self, data: bytes, /) -> str | None:
        """The fingerprint in bytes that begin as a record does, of a schema that it doesn't know; else None."""
        ...


class Schemas(Protocol):
    """What all releases that ever wrote here have registered; `interlock.log.schema_topic.SchemaTopic` is one."""

    async def find(self, fingerprint: str, /) -> str | None:
        """Name and version of a schema, or None where nobody has registered it. Raises what the port raises."""
        ...


class SnapshotStore(Protocol):
    """Where a process keeps snapshots of what it folds: a cache, which may be lost, and torn by nobody."""

    async def write(self, name: str, blocks: AsyncIterator[bytes], /) -> None:
        """Takes the place of the one of that name once all of it is there, in one step. Raises OSError."""
        ...

    def read(self, name: str, /) -> AsyncIterator[list[bytes]]:
        """Its lines in order, some at once; none where there is none. Raises OSError."""
        ...


class NewerRelease(Exception):
    """A release that is newer than this one wrote a record; this process can't go on without losing what it says."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The names of the topics, and how many shards each context has; fixed when they are created."""

    prefix: str
    partitions: dict[str, int]
    """Context → partitions of its journal and of its inbox; and of `stimuli`."""

    def journal(self, context: str, partition: int) -> Shard:
        """The journal of a context's shard."""
        return Shard(f"{self.prefix}.{context}.journal", partition)

    def inbox(self, context: str, partition: int) -> Shard:
        """The inbox of a context's shard."""
        return Shard(f"{self.prefix}.{context}.inbox", partition)

    def user(self, name: str, partition: int = 0) -> Shard:
        """A topic for users, such as `replies`."""
        return Shard(f"{self.prefix}.{name}", partition)

    def partition(self, context: str, shard_key: str) -> int:
        """The shard of a context that a key belongs to."""
        return shard_of(shard_key, self.partitions[context])


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Every bound of a processor's loop, with its unit."""

    unit_messages_max: int = 512
    """Messages decided before an append."""
    mailbox_records_max: int = 4096
    """Records read ahead from the inbox."""
    reopen_backoff_ms: int = 50
    """The first wait after a lost ownership; doubles up to `reopen_backoff_ms_max`, with jitter."""
    reopen_backoff_ms_max: int = 5_000
    courier_retry_ms: int = 100
    """The first wait after a delivery that failed or is in doubt; doubles up to `courier_retry_ms_max`."""
    courier_retry_ms_max: int = 5_000
    takeovers_alarm: int = 5
    """Takeovers of one shard under one assignment after which two processes are said to fight for it."""
    ingress_commit_s: float = 0.5
    """How long offsets of the stimuli topic wait to be committed; what came within it is sent again after a crash."""
    snapshot_records: int = 20_000
    """Records of a journal after which what was folded of it is kept in a snapshot; more where that is large."""
    read_wait_s: float = 0.5
    """How long a read waits for records."""
    look_s: float = 0.25
    """How often is looked for what nothing wakes a process for: requests in files, and what it lacks the code of."""
    stop_s: float = 5.0
    """How long a stop lets appends and deliveries finish."""
