"""Decodes a record batch that the fast decoder gives up on, because a header's name is no UTF-8.

Such a name breaks Kafka's own rule, but brokers do not look at names, and any C client can write one. Whoever reads a
topic that anybody may write to must get past it; the record then carries a name in which the odd bytes are escaped,
as in `\\xff`. Slow, and used for such batches only.
"""

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from aiokafka import codec

_HEADER = struct.Struct(">qiibIhiqqqhii")
"""Format v2: base offset, length, leader epoch, magic, checksum, attributes, last offset delta, first and largest
timestamp, producer id and epoch, base sequence, number of records."""

_CODEC_MASK = 0x07
_LOG_APPEND_TIME = 0x08
_CODECS = {1: "gzip_decode", 2: "snappy_decode", 3: "lz4_decode", 4: "zstd_decode"}


class TolerantRecord(NamedTuple):
    """A record with the attributes that aiokafka's have."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def decode_tolerantly(batch: bytes) -> Iterator[TolerantRecord]:
    """The records of one batch of format v2, as it was fetched. Raises `ValueError` where it is none."""
    try:
        base, _, _, _, _, attributes, _, first_ms, largest_ms, *_, count = _HEADER.unpack_from(batch)
        body = batch[_HEADER.size :]
        if attributes & _CODEC_MASK:
            decompress: Callable[[bytes], bytes] = getattr(codec, _CODECS[attributes & _CODEC_MASK])
            body = bytes(decompress(body))
        cursor = _Cursor(body)
        for _ in range(count):
            yield cursor.record(base, first_ms, largest_ms if attributes & _LOG_APPEND_TIME else None)
    except (struct.error, IndexError, KeyError) as error:
        raise ValueError(f"the batch is cut or of an unknown form: {error!r}") from error


class _Cursor:
    """A place in the bytes of a batch."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def record(self, base: int, first_ms: int, append_ms: int | None) -> TolerantRecord:
        """The next record."""
        end = self._varint() + self._at
        self._at += 1  # attributes, which say nothing
        time_ms = first_ms + self._varint()
        offset = base + self._varint()
        key, value = self._bytes(), self._bytes()
        headers = [
            ((self._bytes() or b"").decode("utf-8", "backslashreplace"), self._bytes()) for _ in range(self._varint())
        ]
        self._at = end
        return TolerantRecord(offset, time_ms if append_ms is None else append_ms, key, value, headers)

    def _bytes(self) -> bytes | None:
        size = self._varint()
        if size < 0:
            return None
        self._at += size
        if self._at > len(self._data):
            raise IndexError(f"{size} bytes at {self._at - size} of {len(self._data)}")
        return self._data[self._at - size : self._at]

    def _varint(self) -> int:
        """A number with 7 bits a byte, the lowest first, its sign in the lowest bit (zigzag)."""
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7
