"""Where a node's values come from: "input", "input.a.b", "<node>" or "<node>.a.b", looked up in JSON texts.

A source without a path is handed on as the text that it is; only a path costs a parse. A name in a path is a member of
an object, a number also an index of an array. What can't be found is a `SourceFault`, which faults the run: it says
the node that asked, the source, and what is there instead.
"""

import json
from typing import Final, cast

from interlock.domain.executions.execution.state import ExecutionState

EXCERPT_CHARS_MAX: Final = 200
"""How much of a value an error shows; enough to recognise it, too little to flood a log."""

CORRELATION_CHARS_MAX: Final = 1_024
"""The longest correlation that a stimulus may carry."""

_ENCODER: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
"""Made once: `json.dumps` makes one for each call, which takes longer than a small value."""


class SourceFault(Exception):
    """A value can't be had; the type and the message go into the fault of the run."""

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type
        """`UnresolvedSource` or `InvalidCorrelation`."""
        self.message = message


def resolve_text(state: ExecutionState, node_id: str, source: str) -> str:
    """The value of a source as JSON text. Raises `SourceFault`."""
    name, _, path = source.partition(".")
    text = _text(state, node_id, source, name)
    if not path:
        return text
    value = _walk(node_id, source, name, text, path)
    try:
        return _ENCODER.encode(value)
    except (ValueError, RecursionError) as error:
        raise _unresolved(node_id, source, f"a value that JSON can't carry ({error})") from None


def resolve_correlation(state: ExecutionState, node_id: str, source: str | None) -> str:
    """The correlation that a wait asks for: a text as it is, an integer or a boolean in its JSON form; "" where none is
    asked for. Raises `SourceFault`: `InvalidCorrelation` for everything else, and for a text that no stimulus can carry
    (blank, blanks at its ends, too long), since the run would wait for ever, or with "" meet what is not meant for it.
    """
    if source is None:
        return ""
    name, _, path = source.partition(".")
    value = _walk(node_id, source, name, _text(state, node_id, source, name), path)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str) and value and value == value.strip() and _can_be_carried(value):
        return value
    raise SourceFault(
        "InvalidCorrelation",
        f"Expected a text of 1 to {CORRELATION_CHARS_MAX} characters without blanks at its ends, an integer or a "
        f"boolean as correlation of node {node_id!r} at source {source!r}, found {_shown(value)}.",
    )


def _text(state: ExecutionState, node_id: str, source: str, name: str) -> str:
    if name == "input":
        return state.started.data
    text = state.outputs.get(name)
    if text is None:
        there = ", ".join(["input", *state.outputs])
        raise _unresolved(node_id, source, f"no output of {name!r} (there are: {there})")
    return text


def _walk(node_id: str, source: str, name: str, text: str, path: str) -> object:
    try:
        value = cast("object", json.loads(text))
    except (ValueError, RecursionError) as error:  # a number of too many digits is a ValueError as well
        raise _unresolved(node_id, source, f"a value of {name!r} that can't be read ({error})") from None
    at = name
    for step in path.split(".") if path else ():
        value = _member(node_id, source, at, value, step)
        at = f"{at}.{step}"
    return value


def _member(node_id: str, source: str, at: str, whole: object, step: str) -> object:
    value = whole  # a name of its own, so that what is shown below keeps its type
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        if step in members:
            return members[step]
    elif isinstance(value, list):
        items = cast("list[object]", value)
        if step.isascii() and step.isdigit() and len(step) < 10 and int(step) < len(items):
            return items[int(step)]
    raise _unresolved(node_id, source, f"no {step!r} in {at!r}, which is {_shown(whole)}")


def _unresolved(node_id: str, source: str, found: str) -> SourceFault:
    return SourceFault(
        "UnresolvedSource", f"Expected a value for node {node_id!r} at source {source!r}, found {found}."
    )


def _shown(value: object) -> str:
    """What a value is; of texts only the length and of objects only the names, since what they say may be private."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return f"an object with {_excerpt(', '.join(cast('dict[str, object]', value)) or 'no members')}"
    if isinstance(value, list):
        return f"an array of {len(cast('list[object]', value))}"
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    return _excerpt(json.dumps(value))


def _excerpt(text: str) -> str:
    shown = text if len(text) <= EXCERPT_CHARS_MAX else text[:EXCERPT_CHARS_MAX] + "…"
    return shown.encode("utf-8", "backslashreplace").decode("utf-8")


def _can_be_carried(value: str) -> bool:
    """Whether a text is within the limit and can be stored: half of a surrogate pair, which JSON can escape, can't."""
    if len(value) > CORRELATION_CHARS_MAX:
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
