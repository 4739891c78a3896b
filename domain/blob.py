"""What stands in a log in place of a value that is too large for it. Names are storage: never rename a field."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobReference:
    """Where the value of a record is instead: in the blob store, under the digest of its bytes."""

    sha256: str
    """The SHA-256 digest of the value, 64 hexadecimal digits: what it is found by, and checked against."""
    size: int
    """How many bytes it has."""
