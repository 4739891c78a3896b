"""How the records of a batch are written into one row of the embedded log.

    batch  = count u32 · parts u32 · headers u32 × count · length u32 × parts · bytes of all parts
    parts  = key and value of each record, then name and value of each header of the first record, of the second, …

All numbers are little-endian. A row may hold several batches, one behind the other. What an append costs the event
loop is mostly here, so parts stand in an order in which whole lists are built, packed and joined, none by one.

Always true: `decode(encode(batch).data)` gives back every byte, and the size is what `batch_bytes` counts.
"""

import struct
from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

from interlock.log.port import (
    BATCH_OVERHEAD_BYTES,
    HEADER_OVERHEAD_BYTES,
    RECORD_OVERHEAD_BYTES,
    Record,
    Stored,
)

NAMES_MAX = 4096
"""The engine uses some twenty header names; the bound only guards against users who make them up by the thousand."""

_HEAD = struct.Struct("<II")


class Encoded(NamedTuple):
    """A batch as it is written: its bytes, how many records they are, and its size as `batch_bytes` counts."""

    data: bytes
    records: int
    size: int


class _NameBytes(dict[str, bytes]):
    """Header names in UTF-8; most were seen before."""

    def __missing__(self, name: str) -> bytes:
        encoded = name.encode()
        if len(self) < NAMES_MAX:
            self[name] = encoded
        return encoded


class _NameTexts(dict[bytes, str]):
    """Header names from UTF-8; the text of a name is kept once instead of once a record."""

    def __missing__(self, encoded: bytes) -> str:
        name = encoded.decode()
        if len(self) < NAMES_MAX:
            self[encoded] = name
        return name


_name_bytes = _NameBytes()
_name_texts = _NameTexts()


def encode(batch: Sequence[Record]) -> Encoded:
    """The batch as bytes; raises `UnicodeEncodeError` for a header name that has no UTF-8 (a lone surrogate)."""
    parts: list[bytes] = []
    for record in batch:
        parts += (record.key, record.value)
    # Names and values in turn; slices and maps run at the speed of C.
    flat: list[Any] = list(chain.from_iterable(chain.from_iterable([record.headers for record in batch])))
    flat[::2] = map(_name_bytes.__getitem__, flat[::2])
    parts += flat
    lengths = list(map(len, parts))
    headers = [len(record.headers) for record in batch]
    count = len(headers)
    head = struct.pack(f"<II{count}I{len(parts)}I", count, len(parts), *headers, *lengths)
    size = (
        BATCH_OVERHEAD_BYTES
        + RECORD_OVERHEAD_BYTES * count
        + HEADER_OVERHEAD_BYTES * (len(parts) // 2 - count)
        + sum(lengths)
    )
    return Encoded(b"".join((head, *parts)), count, size)


def decode(data: bytes, base: int, time_ms: int) -> list[Stored]:
    """The records of a row whose first offset is `base`; raises `ValueError` where the bytes are not such a row."""
    found: list[Stored] = []
    place = 0
    try:
        while place < len(data):
            place = _decode_batch(data, place, base + len(found), time_ms, found)
    except (struct.error, IndexError, ValueError) as error:
        raise ValueError(f"expected batches at offset {base}, found bytes that are none: {error}") from error
    if place != len(data):
        raise ValueError(f"expected batches at offset {base}, found them cut {place - len(data)} bytes short")
    return found


def _decode_batch(data: bytes, place: int, base: int, time_ms: int, found: list[Stored]) -> int:
    """Adds the records of the batch at `place` to `found`; returns the place behind it."""
    count, part_count = _HEAD.unpack_from(data, place)
    place += _HEAD.size
    numbers = struct.unpack_from(f"<{count + part_count}I", data, place)
    place += 4 * len(numbers)
    ends = list(accumulate(numbers[count:], initial=place))
    parts = [data[start:end] for start, end in pairwise(ends)]
    names = map(_name_texts.__getitem__, parts[2 * count :: 2])
    headers = tuple(zip(names, parts[2 * count + 1 :: 2], strict=True))
    first = 0
    for index in range(count):
        last = first + numbers[index]
        found.append(Stored(base + index, time_ms, parts[2 * index], parts[2 * index + 1], headers[first:last]))
        first = last
    end: int = ends[-1]
    return end
