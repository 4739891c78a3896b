"""What doesn't fit in the body of a request, in a sentence: what was expected of which field, and what was found.

Only short values are quoted; of large ones the sentence has the kind.
"""

from collections.abc import Mapping
from typing import Final, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from interlock.domain.definitions.wording import expected_kind, found_value

OWNER_PATTERN: Final = r"^[^:]+:.+$"
ID_PATTERN: Final = r"^[!-~]+$"

_PATTERNS: Final[Mapping[str, str]] = {
    OWNER_PATTERN: "KIND:ID, such as team:payments",
    ID_PATTERN: "an id of printable ASCII characters without spaces",
}


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
    return f"Expected {place!r} to be {' or '.join(expected)}, found {found_value(first['input'])}."


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
            return expected_kind(kind) or error["msg"].removeprefix("Input should be ")
