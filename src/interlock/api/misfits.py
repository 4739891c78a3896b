"""What doesn't fit in the body of a request, in a sentence: what was expected of which field, and what was found.

Only short values are quoted; of large ones the sentence has the kind.
"""

from collections.abc import Mapping
from typing import Final, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

OWNER_PATTERN: Final = r"^[^:]+:.+$"
ID_PATTERN: Final = r"^[!-~]+$"
QUOTED_CHARACTERS_MAX: Final = 60
"""The longest text that is quoted whole."""

_PATTERNS: Final[Mapping[str, str]] = {
    OWNER_PATTERN: "KIND:ID, such as team:payments",
    ID_PATTERN: "an id of printable ASCII characters without spaces",
}
_KINDS: Final[Mapping[str, str]] = {
    "string": "text",
    "dict": "a JSON object",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "finite": "a number",
}
"""What a field should be, by the first word of the error's type."""


def misfit(error: ValidationError) -> str:
    """The first thing that doesn't fit."""
    errors = error.errors(include_url=False)
    first = errors[0]
    place = str(first["loc"][0]) if first["loc"] else "the body"
    if first["type"] == "extra_forbidden":
        return f"Expected only fields that this request has, found {place!r}; see /v1/openapi.json."
    if first["type"] == "missing":
        return f"Expected a field {place!r}, found none."
    # A field that may be of several kinds has an error for each of them.
    expected = dict.fromkeys(_expected(each) for each in errors if each["loc"][:1] == first["loc"][:1])
    return f"Expected {place!r} to be {' or '.join(expected)}, found {kind_or_value(first['input'])}."


def kind_or_value(found: object) -> str:
    """A short value as it is, and what is large by its kind."""
    match found:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[found]
        case dict():
            return "an object"
        case list() | tuple():
            return "an array"
        case str() if len(found) > QUOTED_CHARACTERS_MAX:
            return f"a text of {len(found)} characters"
        case _:
            return ascii(found)[: QUOTED_CHARACTERS_MAX * 4]


def _expected(error: ErrorDetails) -> str:
    context = cast("dict[str, object]", error.get("ctx", {}))
    match error["type"]:
        case "string_pattern_mismatch":
            return _PATTERNS.get(str(context["pattern"]), f"text of the form {context['pattern']}")
        case "string_too_short":
            return "a name"
        case "string_too_long":
            return f"text of at most {context['max_length']} characters"
        case "greater_than_equal":
            return f"{context['ge']:g} or more"
        case "less_than_equal":
            return f"at most {context['le']:g}"
        case kind:
            return _KINDS.get(kind.partition("_")[0], error["msg"].removeprefix("Input should be "))
