"""What a field may hold where its dataclass says `Literal`: no schema tells, since for Avro such a field is a string.

A choice that a release could write stays readable for ever, as a field does. So the ledger keeps the choices of each
released version, and the check misses those that the dataclasses don't have any more.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

Choices = dict[str, list[str]]
"""Full Avro name of a record, a dot, and its field → what it may hold."""


def choices(cls: type, names: Mapping[type, str]) -> Choices:
    """Those of a dataclass and of all that it nests. `names`: class → full Avro name, of all that may occur."""
    found: Choices = {}
    seen: set[type] = set()

    def look(record: type) -> None:
        seen.add(record)
        hints = get_type_hints(record)
        for field in dataclasses.fields(record):
            for hint in _within(hints[field.name]):
                if get_origin(hint) is Literal:
                    found.setdefault(f"{names[record]}.{field.name}", []).extend(get_args(hint))
                elif isinstance(hint, type) and dataclasses.is_dataclass(hint) and hint not in seen:
                    look(hint)

    look(cls)
    return found


def _within(hint: Any) -> Iterator[Any]:
    """A type and those that it is made of."""
    yield hint
    if get_origin(hint) is not Literal:
        for each in get_args(hint):
            yield from _within(each)
