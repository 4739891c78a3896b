"""When schedules are due: held against the plain meaning of a cron expression, minute by minute."""

import contextlib
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, get_args
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.domain.definitions import schedules
from interlock.domain.definitions.executable import Schedule
from interlock.domain.definitions.schedules import ScheduleFault, check, next_ms, normal

ZONES = (
    "UTC",
    "Europe/Brussels",
    "America/New_York",
    "America/Sao_Paulo",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "Pacific/Apia",
)
CHANGES = (
    datetime(2026, 3, 29, 1, tzinfo=UTC),
    datetime(2026, 10, 25, 1, tzinfo=UTC),
    datetime(2026, 3, 8, 7, tzinfo=UTC),
    datetime(2026, 11, 1, 6, tzinfo=UTC),
    datetime(2026, 4, 4, 15, tzinfo=UTC),
    datetime(2026, 10, 3, 15, 30, tzinfo=UTC),
    datetime(2011, 12, 30, 10, tzinfo=UTC),
    datetime(2026, 2, 15, 2, tzinfo=UTC),
)
"""In some of the zones clocks change then; the sixth by half an hour, the seventh by a day."""


Gap = Literal["shift", "skip"]
Overlap = Literal["first", "last", "both"]
GAPS: tuple[Gap, ...] = get_args(Gap)
OVERLAPS: tuple[Overlap, ...] = get_args(Overlap)


def cron(expression: str, zone: str = "UTC", gap: Gap = "shift", overlap: Overlap = "first") -> Schedule:
    """A cron schedule."""
    return Schedule(kind="cron", expression=expression, zone=zone, gap=gap, overlap=overlap)


def ms(instant: datetime) -> int:
    """In Unix milliseconds."""
    return round(instant.timestamp() * 1000)


def occurrences(schedule: Schedule, after: datetime, count: int) -> list[datetime]:
    """The next ones, in turn."""
    found: list[datetime] = []
    at: int | None = ms(after)
    for _ in range(count):
        assert at is not None
        at = next_ms(schedule, at, since_ms=0)
        if at is None:
            break
        found.append(datetime.fromtimestamp(at / 1000, UTC))
    return found


# ---- the calendar -------------------------------------------------------------------------------------------------

FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """Expressions that come often enough for a walk by minutes to meet them."""
    return " ".join(draw(fields(low, high, rare=position >= 2)) for position, (low, high) in enumerate(FIELDS))


@st.composite
def fields(draw: st.DrawFn, low: int, high: int, *, rare: bool) -> str:
    value = st.integers(low, high)
    some = [
        st.builds("{}-{}".format, value, value),
        st.builds("{}-{}/{}".format, value, value, st.integers(1, 7)),
        st.builds("*/{}".format, st.integers(1, 7)),
        st.builds("{}/{}".format, value, st.integers(1, 7)),
        value.map(str),
    ]
    items = st.lists(st.one_of(some), min_size=1, max_size=3).map(",".join)
    return draw(st.one_of(st.just("*"), st.just("*"), st.just("*"), items) if rare else items)


def meant(field: str, low: int, high: int) -> set[int]:
    """The values of a field, by its plain meaning: a range goes upwards from its first value, around the end."""
    top = 6 if high == 7 else high
    around = 7 if high == 7 else high + 1
    found: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            found |= set(range(low, top + 1, int(step or 1)))
            continue
        first, _, last = span.partition("-")
        begin = int(first)
        if not last and not step:
            found.add(begin % around)
            continue
        end = int(last) if last else top
        if begin > end:
            begin %= around
        walk = [begin]
        # Monday to 7 goes on to Sunday and ends there, as 0 at the beginning would.
        highest = 7 if high == end == 7 else top
        while walk[-1] != end:
            walk.append(low if walk[-1] == highest else walk[-1] + 1)
        found |= {value % around for value in walk[:: int(step or 1)]}
    return found


def matches(expression: str, wall: datetime) -> bool:
    """Whether a wall clock shows a time that an expression means."""
    texts = expression.split()
    minute, hour, day, month, weekday = (meant(text, *span) for text, span in zip(texts, FIELDS, strict=True))
    by_day, by_weekday = wall.day in day, wall.isoweekday() % 7 in weekday
    whole_day, whole_week = len(day) == 31, len(weekday) == 7
    days = (by_day or by_weekday) if not whole_day and not whole_week else (by_day and by_weekday)
    return wall.minute in minute and wall.hour in hour and wall.month in month and days


@settings(max_examples=60, deadline=None)
@given(expressions(), st.sampled_from(ZONES), st.sampled_from(CHANGES), st.integers(-90, 1500))
def test_the_next_occurrence_is_the_first_match_strictly_after(
    expression: str, zone: str, change: datetime, minutes: int
) -> None:
    """Proves: SCH-04"""
    after = change - timedelta(minutes=minutes)
    found = next_ms(cron(expression, zone, gap="skip", overlap="both"), ms(after), since_ms=0)
    end = after + timedelta(days=2)
    walked = next(
        (each for each in minutes_of(after, end) if matches(expression, each.astimezone(ZoneInfo(zone)))), None
    )
    if walked is None:
        assert found is None or found > ms(end)
    else:
        assert found == ms(walked)


def minutes_of(after: datetime, end: datetime) -> list[datetime]:
    """Every full minute in between."""
    first = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return [first + timedelta(minutes=each) for each in range(int((end - first) / timedelta(minutes=1)) + 1)]


@settings(max_examples=60, deadline=None)
@given(
    expressions(),
    st.sampled_from(ZONES),
    st.sampled_from(CHANGES),
    st.sampled_from(GAPS),
    st.sampled_from(OVERLAPS),
)
def test_every_expression_in_every_zone_is_answered_and_only_goes_forward(
    expression: str, zone: str, change: datetime, gap: Gap, overlap: Overlap
) -> None:
    """Proves: SCH-04 (case A2: strictly increasing and total, over the days at which clocks change)."""
    found = occurrences(cron(expression, zone, gap=gap, overlap=overlap), change - timedelta(hours=26), 30)
    assert found == sorted(set(found))
    assert all(each > change - timedelta(hours=26) for each in found)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("expression", ["20 */4 * * *", "0,15,30,45 6-22 * * *", "*/5 * * * *", "59 23 31 12 *"])
def test_sets_of_hours_that_are_odd_have_all_their_occurrences(expression: str, zone: str) -> None:
    """Proves: SCH-04 (case A2)."""
    after = datetime(2026, 3, 27, tzinfo=UTC)
    found = occurrences(cron(expression, zone, gap="skip", overlap="both"), after, 40)
    if expression != "59 23 31 12 *":
        local = [each for each in minutes_of(after, found[-1]) if matches(expression, each.astimezone(ZoneInfo(zone)))]
        assert found == local
    assert len(found) == 40


# ---- clocks that change -------------------------------------------------------------------------------------------


def shown(schedule: Schedule, after: str, count: int) -> list[str]:
    """The next occurrences, as UTC."""
    found = occurrences(schedule, datetime.fromisoformat(after), count)
    return [each.strftime("%m-%d %H:%M") for each in found]


def test_a_time_that_the_clock_jumps_over_is_later_by_the_jump_or_is_left_out() -> None:
    """Proves: SCH-04"""
    half_past_two, after = "30 2 * * *", "2026-03-28T12:00+00:00"
    assert shown(cron(half_past_two, "Europe/Paris"), after, 2) == ["03-29 01:30", "03-30 00:30"]
    assert shown(cron(half_past_two, "Europe/Paris", gap="skip"), after, 1) == ["03-30 00:30"]


def test_times_that_fall_together_behind_a_jump_come_once() -> None:
    """Proves: SCH-04"""
    hourly = cron("0,40 2,3 * * *", "Europe/Paris")
    assert shown(hourly, "2026-03-29T00:00+00:00", 3) == ["03-29 01:00", "03-29 01:40", "03-30 00:00"]


def test_a_time_that_comes_twice_counts_first_last_or_both() -> None:
    """Proves: SCH-04"""
    expected_of: dict[Overlap, list[str]] = {
        "first": ["10-25 00:30", "10-26 01:30"],
        "last": ["10-25 01:30", "10-26 01:30"],
        "both": ["10-25 00:30", "10-25 01:30"],
    }
    for overlap, expected in expected_of.items():
        schedule = cron("30 2 * * *", "Europe/Paris", overlap=overlap)
        assert shown(schedule, "2026-10-24T12:00+00:00", 2) == expected


def test_nothing_depends_on_the_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves: SCH-04 (case A5: the same occurrences under TZ=UTC and TZ=Asia/Tokyo; the first is strictly after)."""
    lists: list[list[str]] = []
    for machine in ("UTC", "Asia/Tokyo", "Europe/Paris"):
        monkeypatch.setenv("TZ", machine)
        time.tzset()
        lists.append(shown(cron("0 */3 * * *", "Europe/Brussels"), "2026-03-28T23:00+00:00", 12))
    monkeypatch.delenv("TZ")
    time.tzset()
    assert lists[0] == lists[1] == lists[2]
    assert lists[0][:2] == ["03-29 01:00", "03-29 04:00"]
    assert "TZ" not in os.environ


# ---- intervals ----------------------------------------------------------------------------------------------------


@given(st.integers(1_000, 10**10), st.integers(0, 10**13), st.integers(-(10**12), 10**14))
def test_an_interval_is_counted_from_its_beginning(every_ms: int, since_ms: int, after_ms: int) -> None:
    found = next_ms(Schedule(kind="interval", every_ms=every_ms), after_ms, since_ms=since_ms)
    assert found is not None
    assert found > max(since_ms, after_ms) or found - every_ms == since_ms > after_ms
    assert (found - since_ms) % every_ms == 0
    assert found - every_ms <= max(since_ms, after_ms)


# ---- what is no schedule --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expression", ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 29 2 mon#1"])
def test_a_schedule_that_never_comes_has_no_next_occurrence(expression: str) -> None:
    """Proves: SCH-01"""
    assert next_ms(cron(expression), ms(CHANGES[0]), since_ms=0) is None


def test_a_leap_day_comes_and_the_end_of_the_calendar_is_an_end() -> None:
    assert occurrences(cron("0 0 29 2 *"), datetime(2096, 3, 1, tzinfo=UTC), 1) == [datetime(2104, 2, 29, tzinfo=UTC)]
    assert next_ms(cron("0 0 1 1 *"), ms(datetime(9999, 6, 1, tzinfo=UTC)), since_ms=0) is None


@pytest.mark.parametrize(
    ("expression", "minutes"),
    [("5-5 * * * *", {5}), ("5-5/2 * * * *", {5}), ("7 3-3 * * *", {7}), ("0-30/10 * * * *", {0, 10, 20, 30})],
)
def test_a_range_from_a_value_to_itself_is_that_value(expression: str, minutes: set[int]) -> None:
    """croniter takes `5-5` for every minute."""
    found = occurrences(cron(expression), datetime(2026, 1, 1, tzinfo=UTC), 10)
    assert {each.minute for each in found} == minutes


def test_days_may_be_the_last_ones_or_counted() -> None:
    after = datetime(2026, 3, 1, tzinfo=UTC)
    assert [each.day for each in occurrences(cron("0 0 L * *"), after, 2)] == [31, 30]
    assert [each.day for each in occurrences(cron("0 0 * * mon#2"), after, 2)] == [9, 13]
    assert [each.day for each in occurrences(cron("0 0 * * L5"), after, 2)] == [27, 24]


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "* * * *",
        "0 * * * * *",
        "@daily",
        "R * * * *",
        "H * * * *",
        "R(1-3) * * * *",
        "60 * * * *",
        "0 0 0 * *",
        "0 0 * 13 *",
        "0 0 * * 8",
        "*/0 * * * *",
        "*/70 * * * *",
        "5--5 * * * *",
        "1,,2 * * * *",
        "٣ * * * *",
        "0 0 1W * *",
        "0 0 ? * *",
        "0 0 * * 1,5#2",
        "0 0 * foo *",
        "0 " * 60,
    ],
)
def test_an_expression_that_can_not_be_one_is_refused(expression: str) -> None:
    """Proves: SCH-01"""
    with pytest.raises(ScheduleFault) as caught:
        normal(expression)
    assert caught.value.field == "expression"


@settings(deadline=None)
@given(st.one_of(st.text(max_size=30), st.text("0123456789*/-,#lLrRhHwW? @mon", max_size=40)), st.text(max_size=20))
def test_every_text_is_an_expression_or_refused(expression: str, zone: str) -> None:
    """Proves: SCH-01"""
    for schedule in (cron(expression), cron("0 6 * * *", zone), cron(f"{expression} * * * *")):
        with contextlib.suppress(ScheduleFault):
            check(schedule)
            next_ms(schedule, 0, since_ms=0)


@pytest.mark.parametrize(
    "zone", ["", "Europe", "europe/paris", "../etc/passwd", "/etc/localtime", "localtime", "CEST", "a\x00"]
)
def test_a_zone_that_is_none_of_the_database_is_refused(zone: str) -> None:
    """Proves: SCH-04"""
    with pytest.raises(ScheduleFault) as caught:
        check(cron("0 6 * * *", zone))
    assert caught.value.field == "zone"


def test_expressions_that_mean_the_same_text_are_one() -> None:
    assert normal("  0   6 * *  MON-Fri ") == "0 6 * * mon-fri"


def test_the_clock_is_not_asked() -> None:
    """Proves: EXT-02"""
    source = Path(schedules.__file__).read_text("utf-8")
    assert ".now(" not in source
    assert ".today(" not in source
    assert "utcnow" not in source
