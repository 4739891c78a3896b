"""Words for JSON values, in the sentences that say what was expected and what was found."""

from collections.abc import Mapping
from typing import Final, cast

QUOTED_CHARACTERS_MAX: Final = 60
"""The longest text that is quoted whole."""

_KINDS: Final[Mapping[str, str]] = {
    "string": "text",
    "dict": "a JSON object",
    "model": "a JSON object",
    "list": "a JSON array",
    "tuple": "a JSON array",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "finite": "a number",
}
"""By the first word of what pydantic calls an error."""


def expected_kind(error_type: str) -> str | None:
    """The kind of value that an error of pydantic's misses; None for an error that is about something else."""
    kind, _, what = error_type.partition("_")
    return _KINDS.get(kind) if what in ("type", "parsing", "from_float", "number") else None


def found_value(found: object) -> str:
    """A short value as it stands in JSON, and a large one by its kind."""
    match found:
        case None:
            return "null"
        case bool():
            return "true" if found else "false"
        case dict():
            return "an object" if found else "an empty object"
        case list() | tuple():
            return "an array" if cast("list[object]", found) else "an empty array"
        case str() if len(found) > QUOTED_CHARACTERS_MAX:
            return f"a text of {len(found)} characters"
        case _:
            return ascii(found)[: QUOTED_CHARACTERS_MAX * 4]
