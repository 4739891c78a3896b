"""How long something takes, as people write it: `90s`, `1h30m`, `2d`, or ISO 8601 `PT1H30M`, `P2D`.

A duration is a whole number of milliseconds. Years and months are refused in both forms, because how long one is
depends on when it begins; a day is always 24 hours here. `M` is minutes in ISO's time part, `m` is minutes in the
short form.
"""

import re
from typing import Final

from interlock.domain.refusal import Refusal

DURATION_MS_MAX: Final = 100 * 366 * 86_400_000
"""A hundred years: what is longer is a mistake, and instants made from it would leave the calendar."""

_NUMBER = r"([0-9]{1,15}(?:[.,][0-9]{1,9})?)"
_ISO = re.compile(
    rf"P(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?=[0-9])(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?", re.ASCII
)
_ISO_UNITS_MS: Final[tuple[int, ...]] = (604_800_000, 86_400_000, 3_600_000, 60_000, 1_000)
_SHORT = re.compile(
    rf"(?:{_NUMBER}w)?(?:{_NUMBER}d)?(?:{_NUMBER}h)?(?:{_NUMBER}m)?(?:{_NUMBER}s)?(?:{_NUMBER}ms)?", re.ASCII
)
_SHORT_UNITS_MS: Final[tuple[int, ...]] = (*_ISO_UNITS_MS, 1)
_SHOWN_CHARACTERS_MAX = 40


def duration_ms(text: str) -> int | Refusal:
    """The milliseconds that a text stands for, 0 included; a refusal of kind "invalid" says what was expected.

    A unit is written once, larger ones first. A fraction may stand with any unit, with a point or a comma, as long as
    the whole is exact to the millisecond.
    """
    units = _SHORT_UNITS_MS
    match = _SHORT.fullmatch(text)
    if match is None:
        match, units = _ISO.fullmatch(text), _ISO_UNITS_MS
    if match is None or match.lastindex is None:
        return _refused("a duration such as 90s, 1h30m, 2d, PT1H30M or P2D", text)
    total = 0
    for amount, unit_ms in zip(match.groups(), units, strict=True):
        if amount is None:
            continue
        whole, _, fraction = amount.replace(",", ".").partition(".")
        part, rest = divmod(int(fraction or "0") * unit_ms, 10 ** len(fraction))
        if rest:
            return _refused("a duration that is exact to the millisecond", text)
        total += int(whole) * unit_ms + part
    if total > DURATION_MS_MAX:
        return _refused("a duration of at most 100 years", text)
    return total


def _refused(expected: str, text: str) -> Refusal:
    shown = text if len(text) <= _SHOWN_CHARACTERS_MAX else f"{text[:_SHOWN_CHARACTERS_MAX]}…"
    return Refusal("invalid", f"Expected {expected}, found {shown!r}; years and months have no fixed length")
