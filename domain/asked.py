"""What a command asks for, in 32 digits: they tell one that comes again from another one under the same id.

Whoever heard no answer sends a command again, perhaps from another process and after a restart, so who sends it and
when is no part of it. Nor is why (the reason of a cancel): two that differ in it alone want the same.

What would surprise: the digits are storage. A field that commands get later has a default, and counts only where it
has another value; so what was asked before it came has the same digits ever after.
"""

import json
from collections.abc import Sequence
from dataclasses import MISSING, fields
from functools import lru_cache
from typing import Final, Protocol, cast

from interlock.domain.sharding import digest

NOT_ASKED: Final = frozenset({"command_id", "requested_by", "requested_at_ms", "reason"})
"""Fields that say who asks, when and why."""
REMEMBERED: Final = 8
"""Commands, each with a document of a quarter of a MiB at most."""


class Command(Protocol):
    """A message to which there is an answer; one of the data classes of `interlock.domain.messages`."""

    @property
    def command_id(self) -> str:
        """Its sender's word for it."""
        ...

    @property
    def requested_by(self) -> str:
        """Who asks."""
        ...

    def __hash__(self) -> int:
        """It is frozen."""
        ...


@lru_cache(maxsize=REMEMBERED)
def asked_of(command: Command) -> str:
    """What a command asks for. Who takes it up, decides it and answers it asks one after the other: the last few are
    remembered, since a document is read for each."""
    parts = [type(command).__name__]
    for field in fields(cast("type", command)):
        value: object = getattr(command, field.name)
        if field.name in NOT_ASKED or (field.default is not MISSING and value == field.default):
            continue
        parts += (field.name, _canonical(str(value)) if field.name == "document" else repr(value))
    return digest(*parts)


def command_of(message: object) -> Command | None:
    """The message as a command, if it is one."""
    return cast("Command", message) if isinstance(getattr(message, "command_id", None), str) else None


def _canonical(document: str) -> str:
    """A document without what its writer may do otherwise the next time: blanks, and the order of fields.

    What is no JSON, or is nothing that this can read, is only itself. Fields that come twice stay so.
    """
    try:
        return json.dumps(json.loads(document, object_pairs_hook=_pairs), separators=(",", ":"))
    except (ValueError, RecursionError):
        return document


def _pairs(pairs: Sequence[tuple[str, object]]) -> object:
    return {"fields": sorted(pairs, key=lambda pair: pair[0])}
