"""When a schedule is due: a fixed interval, or a cron expression on the wall clock of a zone (SCH-01, SCH-04).

A cron expression has the five fields minute, hour, day of the month, month and day of the week. Its grammar stands here
and is stricter than that of croniter, which gets every field as a list of values and does calendar arithmetic on wall
clocks only; what happens where the clocks change is decided here:

    gap: a time that the clock jumps over       shift: as much later as it jumps · skip: not at all
    overlap: a time that comes twice            first · last · both

Always so: an occurrence is after the instant that was asked about, and none comes twice; asked about each occurrence in
turn, the next ones are all of them, in order. Nothing depends on the zone of the machine. The rules of a zone are those
of the machine's time zone database, so what a far occurrence is may change with it, and what has been is never asked
again.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal, Protocol
from zoneinfo import ZoneInfo, available_timezones

from croniter import CroniterBadDateError, croniter

from interlock.domain.definitions.executable import Schedule

EXPRESSION_CHARACTERS_MAX: Final = 100
"""With the zone behind it, an expression is a name (`names.NAME_LENGTH_MAX`)."""
INTERVAL_MS_MIN: Final = 1_000
"""What starts runs more often is no timer."""
SKIPPED_MAX: Final = 1_000
"""Times in a row that the clock jumps over, after which a schedule counts as one that never comes again."""

_MONTH_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS: Final = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_DAYS: Final = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_FIELDS: Final[tuple[tuple[str, int, int, dict[str, int]], ...]] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)
_ITEM: Final = re.compile(r"(?:(\*)|([0-9a-z]{1,3})(?:-([0-9a-z]{1,3}))?)(?:/([0-9]{1,2}))?", re.ASCII)
_NTH: Final = re.compile(r"([0-9a-z]{1,3})#([1-5])", re.ASCII)
_LAST: Final = re.compile(r"l([0-7])", re.ASCII)
_AROUND: Final = timedelta(hours=25)
"""Clocks that change within this may matter; Samoa once left out a day."""


class Recurrence(Protocol):
    """What a schedule says, wherever it is kept; see `executable.Schedule`."""

    @property
    def kind(self) -> Literal["interval", "cron"]:
        """Which of the two it is."""
        ...

    @property
    def every_ms(self) -> int:
        """The interval."""
        ...

    @property
    def expression(self) -> str:
        """The cron expression."""
        ...

    @property
    def zone(self) -> str:
        """Whose wall clock it is about."""
        ...

    @property
    def gap(self) -> Literal["shift", "skip"]:
        """What becomes of a time that the clock jumps over."""
        ...

    @property
    def overlap(self) -> Literal["first", "last", "both"]:
        """Which one counts of a time that comes twice."""
        ...


class ScheduleFault(Exception):
    """A schedule that can't be one."""

    def __init__(self, field: str, expected: str, found: str) -> None:
        super().__init__(f"expected {expected}, found {found}")
        self.field = field
        """Which of its fields: "every", "expression" or "zone"."""
        self.expected = expected
        self.found = found


def schedule_of(said: Recurrence) -> Schedule:
    """The schedule of a trigger, out of wherever it was kept."""
    return Schedule(
        kind=said.kind,
        every_ms=said.every_ms,
        expression=said.expression,
        zone=said.zone,
        gap=said.gap,
        overlap=said.overlap,
    )


def check(schedule: Recurrence) -> None:
    """Whether it can be one, whatever the time is. Raises `ScheduleFault`."""
    if schedule.kind == "interval":
        if schedule.every_ms < INTERVAL_MS_MIN:
            raise ScheduleFault("every", f"an interval of {INTERVAL_MS_MIN} ms or more", f"{schedule.every_ms} ms")
        return
    _listed(schedule.expression)
    if schedule.zone not in _zones():
        expected = "a time zone of the IANA database, such as Europe/Paris or UTC"
        raise ScheduleFault("zone", expected, repr(schedule.zone[:100]))


def next_ms(schedule: Recurrence, after_ms: int, *, since_ms: int) -> int | None:
    """The first occurrence strictly after an instant, in Unix milliseconds; None if there is none any more.

    `since_ms` is when the schedule began, which an interval is counted from. Raises `ScheduleFault` as `check` does.
    """
    if schedule.kind == "interval":
        check(schedule)
        passed = max(0, (after_ms - since_ms) // schedule.every_ms)
        return since_ms + (passed + 1) * schedule.every_ms
    check(schedule)
    try:
        after = _EPOCH + timedelta(milliseconds=after_ms)
        found = _next(schedule, after)
    except (OverflowError, ValueError):
        # Past the end of the calendar; croniter's own word for it is caught where it is said.
        return None
    return None if found is None else round((found - _EPOCH) / timedelta(milliseconds=1))


def normal(expression: str) -> str:
    """An expression as it is compared: single blanks, small letters. Raises `ScheduleFault`."""
    _listed(expression)
    return " ".join(expression.lower().split())


# ---- clocks that change ---------------------------------------------------------------------------------------------

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _next(schedule: Recurrence, after: datetime) -> datetime | None:
    """The first instant after another.

    Wall-clock times are walked in order, from as far back as clocks may just have changed. A later time may be an
    earlier instant there, so the walk goes on until nothing that follows can be earlier than what was found.
    """
    zone = ZoneInfo(schedule.zone)
    offsets = _offsets(zone, after)
    wall = (after + _offset(zone, after)).replace(tzinfo=None) - (max(offsets) - min(offsets))
    times = croniter(_listed(schedule.expression), wall, ret_type=datetime)
    best: datetime | None = None
    for _ in range(SKIPPED_MAX):
        try:
            wall = times.get_next(datetime)
        except CroniterBadDateError:
            return best
        later = [instant for instant in _instants(schedule, zone, wall) if instant > after]
        best = min([*later, best] if best is not None else later, default=None)
        if best is not None and wall.replace(tzinfo=UTC) - max(_offsets(zone, best)) >= best:
            return best
    return best


def _instants(schedule: Recurrence, zone: ZoneInfo, wall: datetime) -> list[datetime]:
    """The instants at which a clock of the zone shows a time and the schedule is due."""
    before = wall.replace(tzinfo=zone, fold=0).utcoffset() or timedelta()
    behind = wall.replace(tzinfo=zone, fold=1).utcoffset() or timedelta()
    first, last = wall.replace(tzinfo=UTC) - before, wall.replace(tzinfo=UTC) - behind
    if before == behind:
        return [first]
    if before < behind:
        # The clock never shows it. By the offset from before the jump it is as much later as the clock jumps.
        return [first] if schedule.gap == "shift" else []
    return {"first": [first], "last": [last], "both": [first, last]}[schedule.overlap]


def _offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta()


def _offsets(zone: ZoneInfo, instant: datetime) -> list[timedelta]:
    """The offsets of a zone around an instant."""
    return [_offset(zone, instant + by) for by in (-_AROUND, timedelta(), _AROUND)]


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    """Read once: a name that merely finds a file there is no zone, and some systems list their own zone as one."""
    return frozenset(available_timezones()) - {"localtime"}


# ---- the grammar ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1_000)
def _listed(expression: str) -> str:
    """The expression with every field as a list of values, so that croniter has nothing to make of it."""
    if len(expression) > EXPRESSION_CHARACTERS_MAX:
        raise ScheduleFault("expression", f"at most {EXPRESSION_CHARACTERS_MAX} characters", str(len(expression)))
    fields = expression.lower().split()
    if len(fields) != len(_FIELDS):
        expected = "five fields: minute, hour, day of the month, month, day of the week"
        raise ScheduleFault("expression", expected, f"{len(fields)} in {expression!r}")
    return " ".join(_field(text, *field) for text, field in zip(fields, _FIELDS, strict=True))


def _field(text: str, what: str, low: int, high: int, names: dict[str, int]) -> str:
    values: set[int] = set()
    special: list[str] = []
    for item in text.split(","):
        if low == 1 and high == 31 and item == "l":
            special.append("l")
        elif high == 7 and (nth := _NTH.fullmatch(item)):
            special.append(f"{_value(nth[1], text, what, low, high, names) % 7}#{nth[2]}")
        elif high == 7 and (last := _LAST.fullmatch(item)):
            special.append(f"l{int(last[1]) % 7}")
        else:
            values |= _values(item, text, what, low, high, names)
    if high == 7:
        values = {value % 7 for value in values}
        high = 6
    if values.issuperset(range(low, high + 1)):
        return "*"
    if special and values and high == 6:
        # croniter takes these for each other's restriction, not for alternatives.
        raise ScheduleFault("expression", f"for the {what} either days or such as l5 and 2#1", repr(text))
    return ",".join([*map(str, sorted(values)), *special])


def _values(item: str, text: str, what: str, low: int, high: int, names: dict[str, int]) -> set[int]:
    """The values of one item between commas."""
    match = _ITEM.fullmatch(item)
    if match is None:
        expected = f"for the {what} items such as *, 5, 1-5, */2 or 1-9/2 with commas between them"
        raise ScheduleFault("expression", expected, repr(text))
    star, first, last, step_text = match.groups()
    span = list(range(low, (6 if high == 7 else high) + 1))
    step = int(step_text or 1)
    if not 1 <= step <= len(span):
        raise ScheduleFault("expression", f"for the {what} a step from 1 to {len(span)}", repr(text))
    if star:
        return set(span[::step])
    begin = _value(first, text, what, low, high, names)
    if last is None and step_text is None:
        return {begin}
    end = span[-1] if last is None else _value(last, text, what, low, high, names)
    if begin > end and high == 7:
        begin %= 7
    if begin <= end:
        return set(range(begin, end + 1, step))
    # From Friday to Monday, from 22 to 6: around the end.
    around = [*(value for value in span if value >= begin), *(value for value in span if value <= end)]
    return set(around[::step])


def _value(text: str, whole: str, what: str, low: int, high: int, names: dict[str, int]) -> int:
    value = names.get(text, int(text) if text.isdigit() else -1)
    if not low <= value <= high:
        expected = f"for the {what} {low} to {high}" + (f" or {', '.join(names)}" if names else "")
        raise ScheduleFault("expression", expected, f"{text!r} in {whole!r}")
    return value
