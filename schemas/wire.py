"""Avro's binary encoding of what isn't a record: numbers, texts, lists, maps and unions, as functions ready to call.

A writer takes a value and gives its bytes. A reader takes bytes and a place in them, and gives the value and the place
behind it. Readers raise LookupError or ValueError for damaged bytes, or reach a place behind the end (a slice of bytes
is cut there in silence), so whoever called compares the place with the length; writers raise AttributeError,
TypeError, KeyError or ValueError for values that have no place in the schema.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Writer = Callable[[Any], bytes]
Reader = Callable[[bytes, int], tuple[Any, int]]

_PAIRS = [bytes((low & 127 | 128, low >> 7 | 128)) for low in range(1 << 14)]
"""14 bits as two groups of 7, both with the bit that says that more follows."""
_LAST = [bytes((low,)) if low < 128 else bytes((low & 127 | 128, low >> 7)) for low in range(1 << 14)]
"""14 bits as the last one or two groups of a number."""


def write_long(number: int) -> bytes:
    """An integer of 64 bits: zigzag, then groups of 7 bits, lowest first. Raises OverflowError beyond 64 bits."""
    if 0 <= number < 8_192:
        return _LAST[number << 1]
    high = number >> 27
    if 0 < high < 16_384:  # among them instants in milliseconds, until 2039
        # Cut in two first: Python's arithmetic is several times slower beyond 30 bits.
        low = number & 0x7FF_FFFF
        return _PAIRS[(low & 0x1FFF) << 1] + _PAIRS[low >> 13] + _LAST[high]
    zigzag = number << 1 if number >= 0 else ~(number << 1)
    if zigzag < 16_384:
        return _LAST[zigzag]
    if zigzag < 1 << 28:
        return _PAIRS[zigzag & 0x3FFF] + _LAST[zigzag >> 14]
    if zigzag >> 64:
        raise OverflowError(f"expected an integer of 64 bits, found {number}")
    groups = bytearray()
    while zigzag > 127:
        groups.append(zigzag & 127 | 128)
        zigzag >>= 7
    groups.append(zigzag)
    return bytes(groups)


class _Sizes(dict[int, bytes]):
    """Length → bytes; asking a table costs less than a comparison and a call."""

    def __missing__(self, size: int) -> bytes:
        return write_long(size)


SIZES = _Sizes((size, _LAST[size << 1]) for size in range(8_192))


def read_long(data: bytes, at: int) -> tuple[int, int]:
    """An integer of 64 bits."""
    group = data[at]
    if group < 128:
        return (group >> 1) ^ -(group & 1), at + 1
    # Written out for two and three bytes, as offsets take, and for six, as instants in milliseconds take.
    second = data[at + 1]
    low = group & 127 | (second & 127) << 7
    if second < 128:
        return (low >> 1) ^ -(low & 1), at + 2
    third = data[at + 2]
    low |= (third & 127) << 14
    if third < 128:
        return (low >> 1) ^ -(low & 1), at + 3
    if len(data) >= at + 6 and not group & 1:
        fourth, fifth, sixth = data[at + 3], data[at + 4], data[at + 5]
        if fourth > 127 and fifth > 127 and sixth < 128:
            low |= (fourth & 127) << 21
            return (low >> 1) + ((fifth & 127 | sixth << 7) << 27), at + 6
    return _read_long_of_any_size(data, at)


def _read_long_of_any_size(data: bytes, at: int) -> tuple[int, int]:
    zigzag = shift = 0
    while True:
        group = data[at]
        at += 1
        zigzag |= (group & 127) << shift
        if group < 128:
            break
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than ten bytes")
    if zigzag >> 64:
        raise ValueError("a number of more than 64 bits")
    return (zigzag >> 1) ^ -(zigzag & 1), at


def read_size(data: bytes, at: int) -> tuple[int, int]:
    """A length. Raises ValueError where it is negative."""
    low, high = data[at], data[at + 1]
    if low > 127 and high < 128 and not low & 1:  # from 64 to 8,191, as hashes and payloads have it
        return (low & 127 | high << 7) >> 1, at + 2
    size, at = read_long(data, at)
    if size < 0:
        raise ValueError(f"a length of {size}")
    return size, at


def write_text(text: str) -> bytes:
    """Text as UTF-8 behind its length. Raises UnicodeEncodeError for a lone surrogate."""
    encoded = text.encode()
    return SIZES[len(encoded)] + encoded


def read_text(data: bytes, at: int) -> tuple[str, int]:
    """Text."""
    size = data[at]
    if size & 129:  # not a length below 64, which is one even byte below 128
        size, at = read_size(data, at)
    else:
        size >>= 1
        at += 1
    end = at + size
    return data[at:end].decode(), end


def write_boolean(value: bool) -> bytes:
    """A truth value."""
    return BOOLEAN_BYTES[value]


BOOLEAN_BYTES = {False: b"\0", True: b"\1"}
BOOLEANS = (False, True)


def read_boolean(data: bytes, at: int) -> tuple[bool, int]:
    """A truth value. Raises IndexError for a byte that is neither 0 nor 1."""
    return BOOLEANS[data[at]], at + 1


def write_null(value: None) -> bytes:
    """Nothing takes no bytes."""
    if value is not None:
        raise TypeError(f"expected nothing, found {value!r}")
    return b""


def read_null(data: bytes, at: int) -> tuple[None, int]:
    """Nothing."""
    return None, at


def array_writer(write: Writer) -> Writer:
    """Writes a sequence as one block."""

    def write_array(items: tuple[Any, ...]) -> bytes:
        if items.__class__ is not tuple:
            raise TypeError(f"expected a tuple, found {items!r}")
        if not items:
            return b"\0"
        return b"".join((SIZES[len(items)], *map(write, items), b"\0"))

    return write_array


def array_reader(read: Reader) -> Reader:
    """Reads a sequence of any number of blocks as a tuple."""

    def read_array(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        count = data[at]
        if count == 0:
            return (), at + 1
        items: list[Any] = []
        while count:
            if count & 129:  # not a count below 64, which is one even byte below 128
                count, at = read_long(data, at)
                if count == 0:
                    raise ValueError("an end of a list that takes several bytes")
                if count < 0:  # Avro's way to announce that the block's size in bytes comes next
                    count = -count
                    _, at = read_size(data, at)
            else:
                count >>= 1
                at += 1
            for _ in range(count):
                item, at = read(data, at)
                items.append(item)
            count = data[at]
        return tuple(items), at + 1

    return read_array


def pair_writer(write: Writer) -> Writer:
    """Writes an entry of a map."""

    def write_pair(pair: tuple[str, Any]) -> bytes:
        key, value = pair
        return write_text(key) + write(value)

    return write_pair


def pair_reader(read: Reader) -> Reader:
    """Reads an entry of a map."""

    def read_pair(data: bytes, at: int) -> tuple[tuple[str, Any], int]:
        key, at = read_text(data, at)
        value, at = read(data, at)
        return (key, value), at

    return read_pair


def union_writer(branches: Sequence[tuple[type, Writer]]) -> Writer:
    """Writes a value as the branch of its class."""
    found = {cls: (SIZES[index], write) for index, (cls, write) in enumerate(branches)}

    def write_union(value: Any) -> bytes:
        tag, write = found[value.__class__]
        return tag + write(value)

    return write_union


def union_reader(branches: Sequence[Reader]) -> Reader:
    """Reads a value as the branch that its number names, at most 63. Raises KeyError where there is none."""
    found = {write_long(index)[0]: read for index, read in enumerate(branches)}

    def read_union(data: bytes, at: int) -> tuple[Any, int]:
        return found[data[at]](data, at + 1)

    return read_union


PRIMITIVES: Mapping[str, tuple[type, Writer, Reader]] = {
    "string": (str, write_text, read_text),
    "long": (int, write_long, read_long),
    "boolean": (bool, write_boolean, read_boolean),
    "null": (type(None), write_null, read_null),
}
"""Avro's name → class, writer and reader."""
