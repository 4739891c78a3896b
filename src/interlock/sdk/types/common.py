"""What answers of every kind share."""

from dataclasses import dataclass
from typing import Generic, TypeVar

Json = dict[str, object] | list[object] | str | int | float | bool | None
"""A JSON value."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A part of a list, the newest first."""

    items: tuple[T, ...]
    next: str | None
    """Given as `after`, the list goes on behind this part; None at its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether a process is well."""

    ok: bool
    problems: tuple[str, ...]
    """live: what stands still until somebody acts · ready: what has to come before it serves."""
    roles: tuple[str, ...]
