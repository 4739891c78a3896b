"""A schema as clients get it, apart from the types that this release has."""

from typing import NamedTuple


class WrittenSchema(NamedTuple):
    """A schema that records may be written with."""

    fingerprint: str
    """As records begin with it, in hexadecimal digits."""
    name: str
    """The stored name of its type."""
    version: int
    text: str
    """The schema as JSON."""

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"
