"""What a record weighs on the log: how much of `Log.batch_bytes_max` it takes, now that large values stand elsewhere.

The one place where this is said; whoever fills a batch counts by it, and `interlock.log.blobs.log` acts by it:

- a value over `INLINE_BYTES_MAX` goes to the blob store in any case, and weighs what its reference does;
- any other weighs all that it is, so that no batch is filled with what would have to be put away;
- what doesn't fit by its weight, such as one decision of many values of 200 KB, may still fit by its `least`: when
  every value that is worth a blob (`BLOB_BYTES_MIN`) is put away. So that is asked of a batch of its own only.

What would surprise: a value that grows past `INLINE_BYTES_MAX` weighs less. Who knows only an upper bound of its size
counts it by `Load.add_bound`.
"""

from dataclasses import dataclass
from typing import Final

from interlock.log.port import Record, record_bytes

INLINE_BYTES_MAX: Final = 256 << 10
"""The largest value that stands in the log itself where there is room: a quarter of a batch, so that one record never
keeps all others out of an append."""
BLOB_BYTES_MIN: Final = 4 << 10
"""The smallest value that is worth a blob: below it a thousand of them would be a thousand flushes for one batch."""
REFERENCE_BYTES: Final = 256
"""What a reference takes at most in place of a value, its header included."""
CONTENT_BYTES_MAX: Final = 64 << 20
"""The most bytes of one batch, with what is put away: writers and readers hold all of it in memory."""


@dataclass(slots=True)
class Load:
    """What records take, in bytes; counts up as they are added."""

    weight: int = 0
    """What they take of a batch, by the rule for values over `INLINE_BYTES_MAX` alone."""
    least: int = 0
    """What they take where everything goes to the blob store that may."""
    content: int = 0
    """All their bytes, wherever they stand."""

    def add(self, overhead: int, value: int) -> None:
        """Adds a record with a value of so many bytes, and so many beside it: `RECORD_OVERHEAD_BYTES`, key, headers."""
        self.content += overhead + value
        if value <= BLOB_BYTES_MIN:
            self.weight += overhead + value
            self.least += overhead + value
        else:
            self.weight += overhead + (value if value <= INLINE_BYTES_MAX else REFERENCE_BYTES)
            self.least += overhead + REFERENCE_BYTES

    def add_bound(self, overhead: int, value_max: int) -> None:
        """Adds a record with a value of at most so many bytes."""
        self.content += overhead + value_max
        self.weight += overhead + min(value_max, INLINE_BYTES_MAX)
        self.least += overhead + min(value_max, BLOB_BYTES_MIN)

    def took(self, record: Record, bytes_max: int) -> bool:
        """Adds the record if it still has room; the first one always has, since the log alone refuses."""
        value = len(record.value)
        one = Load()
        one.add(record_bytes(record) - value, value)
        if self.content and not self.has_room(one, bytes_max):
            return False
        self.add_load(one)
        return True

    def add_load(self, other: "Load") -> None:
        """Adds what others take."""
        self.weight += other.weight
        self.least += other.least
        self.content += other.content

    def has_room(self, other: "Load", bytes_max: int) -> bool:
        """Whether `other` still fits into a batch of `bytes_max` that holds this."""
        if self.content + other.content > CONTENT_BYTES_MAX:
            return False
        return self.weight + other.weight <= bytes_max or (not self.weight and other.fits(bytes_max))

    def fits(self, bytes_max: int) -> bool:
        """Whether it fits into a batch of its own."""
        return self.least <= bytes_max and self.content <= CONTENT_BYTES_MAX

    def told(self, bytes_max: int) -> str:
        """Why it doesn't fit."""
        if self.content > CONTENT_BYTES_MAX:
            return f"expected at most {CONTENT_BYTES_MAX} bytes at once, found {self.content}"
        return (
            f"expected at most {bytes_max} bytes at once beside what is put into the blob store, found {self.least} "
            f"({self.content} with it)"
        )
