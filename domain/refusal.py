"""Refusals are data: a kind, a sentence and the ids; exceptions mean that the program is wrong.

The sentence says what was expected, what was found, and where it helps what to do: "Expected …, found …; …".
"""

from dataclasses import dataclass, field
from typing import Literal

RefusalKind = Literal["invalid", "not-found", "conflict", "superseded", "state", "too-large", "unserved"]
"""invalid: the request itself is wrong · not-found: it names what isn't there · conflict: another one has it ·
superseded: it lost a compare-and-swap · state: not now · too-large: over a limit · unserved: nobody here can do it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is turned down; nothing has changed."""

    kind: RefusalKind
    sentence: str
    details: tuple[tuple[str, str], ...] = field(default=())
    """Names and ids that a program may act on, such as the claimant of a conflict."""
