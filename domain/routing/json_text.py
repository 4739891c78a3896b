"""JSON as a stimulus may hold it: what one reader takes and another doesn't is refused here, and the rest is one text.

Refused are, besides what is no JSON at all: a byte order mark, a key that stands twice, NaN and infinities, integers
beyond 64 bits, nesting deeper than `DEPTH_MAX`, and halves of surrogate pairs. What is left is written by `canonical`
so that equal content is equal text: sorted keys, no spaces, one form for each number and character.
"""

import json
from typing import Final

DEPTH_MAX: Final = 64
"""Deeper than people write; far from where any reader's stack ends."""
INTEGER_MIN: Final = -(2**63)
INTEGER_MAX: Final = 2**64 - 1
"""The integers that 64 bits hold, signed or not: beyond them most readers round."""
_INTEGER_CHARACTERS_MAX = 20
_SHOWN_CHARACTERS_MAX = 40

JsonValue = dict[str, "JsonValue"] | list["JsonValue"] | str | int | float | bool | None


class JsonUnfit(ValueError):
    """The bytes are not JSON as it is taken here; the message says what was expected and found, without the values."""


def parse(value: bytes) -> JsonValue:
    """The value that the bytes hold. Raises `JsonUnfit`."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonUnfit(f"Expected JSON in UTF-8, found other bytes at {error.start}{_utf16(value)}") from None
    if not text or text.isspace():
        raise JsonUnfit("Expected a JSON object, found an empty value")
    if text[0] == "\ufeff":
        raise JsonUnfit("Expected JSON, found a byte order mark before it; write UTF-8 without one")
    if "\0" in text:
        raise JsonUnfit(f"Expected JSON, found a NUL byte at character {text.index(chr(0))}")
    try:
        parsed: JsonValue = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonUnfit(f"Expected JSON, found at line {error.lineno} column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise JsonUnfit(_TOO_DEEP) from None
    # Most values hold fewer brackets than that, so few are walked through.
    if value.count(b"{") + value.count(b"[") > DEPTH_MAX and _deeper_than(parsed, DEPTH_MAX):
        raise JsonUnfit(_TOO_DEEP)
    if b"\\u" in value:
        _check_surrogates(parsed)
    return parsed


def canonical(value: JsonValue) -> str:
    """The one text of a value that `parse` gave."""
    return _ENCODER.encode(value)


_TOO_DEEP = f"Expected at most {DEPTH_MAX} levels of nesting, found more"


def _utf16(value: bytes) -> str:
    return "; it looks like UTF-16" if value[:2] in (b"\xff\xfe", b"\xfe\xff") else ""


def _check_surrogates(value: JsonValue) -> None:
    try:
        canonical(value).encode("utf-8")
    except UnicodeEncodeError:
        raise JsonUnfit(
            "Expected characters, found half a surrogate pair (\\ud800 to \\udfff alone); write both halves"
        ) from None


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                shown = key[:_SHOWN_CHARACTERS_MAX]
                raise JsonUnfit(f"Expected each key of an object once, found {shown!r} twice; readers would disagree")
            seen.add(key)
    return made


def _integer(digits: str) -> int:
    # The length comes first: turning a million digits into a number takes minutes.
    if len(digits) > _INTEGER_CHARACTERS_MAX or not INTEGER_MIN <= (number := int(digits)) <= INTEGER_MAX:
        raise JsonUnfit(
            f"Expected integers of at most 64 bits, found one of {len(digits)} characters; write it as text"
        )
    return number


def _float(digits: str) -> float:
    number = float(digits)
    if number - number != 0.0:
        raise JsonUnfit("Expected finite numbers, found one that is too large")
    return number


def _constant(name: str) -> float:
    raise JsonUnfit(f"Expected finite numbers, found {name}")


def _deeper_than(value: JsonValue, levels: int) -> bool:
    layer = _containers([value])
    for _ in range(levels):
        inner: list[JsonValue] = []
        for item in layer:
            inner.extend(item.values() if isinstance(item, dict) else item)
        layer = _containers(inner)
        if not layer:
            return False
    return bool(layer)


def _containers(values: list[JsonValue]) -> list[dict[str, JsonValue] | list[JsonValue]]:
    return [value for value in values if isinstance(value, dict | list)]


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
