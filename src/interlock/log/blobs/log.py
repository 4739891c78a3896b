"""A log whose large values stand in a blob store: the port's calls over those of another log.

    send: what is too large ─► blobs, durably ─► the batch, with references in their place ─► the log
    read: the log ─► references ─► blobs, each checked against its digest ─► the records as they were sent

So nobody else knows of it: not the journal's rule, nor processors, nor projectors. A record with a reference has
`blob` as its last header, and a `BlobReference` as its value.

Always true: what `read` gives is what was sent, byte for byte, or it raises `BlobLost`. A reference never lands before
its value is durable. A crash between the two leaves a blob that nothing refers to, which harms nobody.

What would surprise: a blob store that is away makes `send` raise `NotNow` and `read` raise `Unavailable`, as a log that
is away does; both are outages, and no reason to give a message up.
"""

import asyncio
import hashlib
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from interlock.domain.blob import BlobReference
from interlock.log.blobs.store import BlobLost, Blobs
from interlock.log.port import (
    BatchTooLarge,
    Extent,
    Log,
    NotNow,
    Reader,
    Record,
    Refused,
    Shard,
    Stored,
    Unavailable,
    batch_bytes,
    record_bytes,
)
from interlock.log.weight import BLOB_BYTES_MIN, CONTENT_BYTES_MAX, INLINE_BYTES_MAX
from interlock.schemas.codec import AvroCodec
from interlock.schemas.errors import UnreadableRecord

H_BLOB: Final = "blob"
"""The last header of a record whose value is a reference: `sha256:<64 hexadecimal digits>;size=<bytes>`."""

READ_BYTES_MAX: Final = 16 << 20
"""How much one `read` fetches, unless a single value is larger."""
KEPT_BYTES_MAX: Final = 32 << 20
"""How much a process keeps of what it put and fetched last: every journal is read by several views, and what a shard
promises is what it delivers a moment later."""
AT_ONCE_MAX: Final = 8
"""How many blobs are put or fetched side by side."""


class BlobLog:
    """Implements `port.Log` over a log and a blob store, both of which it takes over."""

    def __init__(self, log: Log, blobs: Blobs, codec: AvroCodec) -> None:
        self.blobs = blobs
        self._log = log
        self._codec = codec
        self._kept = _Kept()

    @property
    def batch_bytes_max(self) -> int:
        """The largest batch in bytes that `send` takes, as `weight.Load` counts."""
        return self._log.batch_bytes_max

    async def send(self, shard: Shard, batch: Sequence[Record]) -> int:
        """Appends the batch as `Log.send` says; what is too large of it goes to the blob store before.

        Raises `BatchTooLarge` where it can't be made to fit, with nothing put away, and `NotNow` where the blob store
        is away.
        """
        large = False
        for record in batch:
            if len(record.value) > INLINE_BYTES_MAX:
                large = True
            if record.headers and record.headers[-1][0] == H_BLOB:
                raise Refused(f"expected records for {shard} without {H_BLOB!r} as their last header, found one")
        if not large:
            try:
                return await self._log.send(shard, batch)
            except BatchTooLarge:
                # Nothing has landed. Most batches fit, and their bytes shall be counted only once, by the log.
                if batch_bytes(batch) <= self._log.batch_bytes_max:
                    raise
        return await self._log.send(shard, await self._put_away(shard, batch))

    def reader(self, shard: Shard, offset: int) -> Reader:
        """A reader whose first `read` begins at `offset`, and that gives records as they were sent."""
        return _BlobReader(self, shard, self._log.reader(shard, offset))

    async def end(self, shard: Shard) -> int:
        """As `Log.end`."""
        return await self._log.end(shard)

    async def extent(self, shard: Shard) -> Extent:
        """As `Log.extent`."""
        return await self._log.extent(shard)

    async def close(self) -> None:
        """Closes the log. A value that is being put is put for nobody; its batch is refused by the closed log."""
        await self._log.close()

    # ---- for readers ------------------------------------------------------------------------------------------------

    def reference(self, stored: Stored) -> BlobReference | None:
        """The reference in a record, or None where the record is none: its value is the value then."""
        if not stored.headers or stored.headers[-1][0] != H_BLOB:
            return None
        try:
            found = self._codec.decode(stored.value)
        except UnreadableRecord:
            return None
        if not isinstance(found, BlobReference) or _header(found) != stored.headers[-1][1]:
            return None
        return found

    async def fetch(self, reference: BlobReference, at: str) -> bytes:
        """The value that a record `at` some place refers to. Raises `BlobLost`, `Unavailable`."""
        value = self._kept.get(reference.sha256)
        if value is not None:
            return value
        value = await self.blobs.get(reference.sha256, reference.size)
        if value is None:
            raise BlobLost(_lost(reference, at, self.blobs.place, "none"))
        if len(value) != reference.size or hashlib.sha256(value).hexdigest() != reference.sha256:
            raise BlobLost(_lost(reference, at, self.blobs.place, "others, so they were changed"))
        self._kept.put(reference.sha256, value)
        return value

    # ---- for send ---------------------------------------------------------------------------------------------------

    async def _put_away(self, shard: Shard, batch: Sequence[Record]) -> list[Record]:
        """The batch as it goes to the log, once what it refers to is durable."""
        references = {index: _reference(batch[index].value) for index in self._too_large(shard, batch)}
        values = {each.sha256: batch[index].value for index, each in references.items()}
        await self._put(shard, values)
        return [
            record if index not in references else self._refer(record, references[index])
            for index, record in enumerate(batch)
        ]

    def _too_large(self, shard: Shard, batch: Sequence[Record]) -> list[int]:
        """Which values go: those that are too large in any case, then the largest until the rest fits."""
        bytes_max = self._log.batch_bytes_max
        content = batch_bytes(batch)
        # Whoever fills a batch up to the bound puts a frame and its note before it.
        content_max = CONTENT_BYTES_MAX + bytes_max
        if content > content_max:
            raise BatchTooLarge(f"expected at most {content_max} bytes for {shard} at once, found {content}")
        size = content
        chosen: list[int] = []
        for index in sorted(range(len(batch)), key=lambda each: -len(batch[each].value)):
            record = batch[index]
            length = len(record.value)
            if length <= BLOB_BYTES_MIN or (length <= INLINE_BYTES_MAX and size <= bytes_max):
                break
            reference = BlobReference(sha256="0" * 64, size=length)
            size += record_bytes(self._refer(record, reference)) - record_bytes(record)
            chosen.append(index)
        if size > bytes_max:
            raise BatchTooLarge(
                f"expected at most {bytes_max} bytes for {shard} beside what is put into the blob store, found {size} "
                f"({content} with it)"
            )
        return chosen

    def _refer(self, record: Record, reference: BlobReference) -> Record:
        headers = (*record.headers, (H_BLOB, _header(reference)))
        return Record(record.key, self._codec.encode(reference), headers)

    async def _put(self, shard: Shard, values: Mapping[str, bytes]) -> None:
        """Raises `NotNow`."""
        missing = deque(sha256 for sha256 in values if self._kept.get(sha256) is None)
        while missing:
            some = [missing.popleft() for _ in range(min(AT_ONCE_MAX, len(missing)))]
            outcomes = await asyncio.gather(
                *(self.blobs.put(sha256, values[sha256]) for sha256 in some), return_exceptions=True
            )
            for sha256, outcome in zip(some, outcomes, strict=True):
                if isinstance(outcome, Unavailable):
                    raise NotNow(
                        f"expected the blob store at {self.blobs.place} to take {len(values[sha256])} bytes for "
                        f"{shard}, found: {outcome}; nothing was sent, send it again later"
                    ) from outcome
                if outcome is not None:
                    raise outcome
                self._kept.put(sha256, values[sha256])


class _BlobReader:
    """Implements `port.Reader`: in the order of the log, a bounded number of bytes at a time."""

    def __init__(self, log: BlobLog, shard: Shard, reader: Reader) -> None:
        self._log = log
        self._shard = shard
        self._reader = reader
        self._waiting: deque[Stored] = deque()
        """Read, and not given yet: what they refer to is still to be fetched."""

    @property
    def next_offset(self) -> int:
        """Where `read` goes on."""
        return self._waiting[0].offset if self._waiting else self._reader.next_offset

    async def read(self, wait_s: float) -> Sequence[Stored]:
        """As `Reader.read`; besides it raises `BlobLost`, and `Unavailable` where the blob store is away; the place is
        kept by both. What is there to be fetched is fetched, also where that takes longer than `wait_s`.
        """
        if not self._waiting:
            records = await self._reader.read(wait_s)
            if H_BLOB not in [stored.headers[-1][0] for stored in records if stored.headers]:
                return records
            self._waiting.extend(records)
        some = self._some()
        wanted = {index: reference for index, stored in enumerate(some) if (reference := self._log.reference(stored))}
        outcomes = await asyncio.gather(
            *(self._log.fetch(each, f"{self._shard}@{some[index].offset}") for index, each in wanted.items()),
            return_exceptions=True,
        )
        for index, outcome in zip(wanted, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                if index == 0:
                    raise outcome
                # Told by the next read; what is before it is not kept back.
                del some[index:]
                break
            stored = some[index]
            some[index] = Stored(stored.offset, stored.time_ms, stored.key, outcome, stored.headers[:-1])
        for _ in some:
            self._waiting.popleft()
        return some

    def _some(self) -> list[Stored]:
        """As many as may be held at once; at least one."""
        count = size = references = 0
        for stored in self._waiting:
            reference = self._log.reference(stored)
            size += len(stored.value) if reference is None else reference.size
            references += reference is not None
            if count and (size > READ_BYTES_MAX or references > AT_ONCE_MAX):
                break
            count += 1
        return list(islice(self._waiting, count))

    async def close(self) -> None:
        """Lets go of the reader below."""
        self._waiting.clear()
        await self._reader.close()


class _Kept:
    """The values that were put and fetched last."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, sha256: str) -> bytes | None:
        """The value, if it is kept."""
        value = self._values.get(sha256)
        if value is not None:
            self._values.move_to_end(sha256)
        return value

    def put(self, sha256: str, value: bytes) -> None:
        """Keeps a value that is in the store, in place of those that were not asked for the longest time."""
        if sha256 in self._values or len(value) > KEPT_BYTES_MAX:
            return
        self._values[sha256] = value
        self._bytes += len(value)
        while self._bytes > KEPT_BYTES_MAX:
            self._bytes -= len(self._values.popitem(last=False)[1])


def _reference(value: bytes) -> BlobReference:
    return BlobReference(sha256=hashlib.sha256(value).hexdigest(), size=len(value))


def _header(reference: BlobReference) -> bytes:
    return f"sha256:{reference.sha256};size={reference.size}".encode()


def _lost(reference: BlobReference, at: str, place: str, found: str) -> str:
    return (
        f"expected {reference.size} bytes with the SHA-256 digest {reference.sha256} at {place}, which the record at "
        f"{at} refers to, found {found}; put them back there (any copy of the blob store has them), then start this "
        "process again"
    )
