"""Durations as people and ISO 8601 write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.domain.durations import DURATION_MS_MAX, duration_ms
from interlock.domain.refusal import Refusal

pytestmark = pytest.mark.domain

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1h", HOUR_MS),
        ("1h30m", HOUR_MS * 3 // 2),
        ("1.5h", HOUR_MS * 3 // 2),
        ("1,5h", HOUR_MS * 3 // 2),
        ("90s", 90_000),
        ("500ms", 500),
        ("1s1ms", 1_001),
        ("2d", 48 * HOUR_MS),
        ("1w", 168 * HOUR_MS),
        ("0s", 0),
        ("PT1H", HOUR_MS),
        ("PT1H30M", HOUR_MS * 3 // 2),
        ("P2D", 48 * HOUR_MS),
        ("P1W", 168 * HOUR_MS),
        ("P1DT1H", 25 * HOUR_MS),
        ("PT0.001S", 1),
        ("1m", 60_000),
        ("PT1M", 60_000),
        ("36600d", DURATION_MS_MAX),
    ],
)
def test_both_forms_are_read(text: str, expected: int) -> None:
    assert duration_ms(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "P", "PT", "P1DT", "5", "h", "1 h", " 1h", "1h\n", "-1h", "+1h", "1H", "pt1h", "1m1h", "1h1h", "١h", "1e3s"],
)
def test_anything_else_is_refused_with_examples(text: str) -> None:
    refusal = duration_ms(text)
    assert isinstance(refusal, Refusal)
    assert refusal.kind == "invalid"
    assert refusal.sentence.startswith(f"Expected a duration such as 90s, 1h30m, 2d, PT1H30M or P2D, found {text!r}")


@pytest.mark.parametrize("text", ["P1M", "P1Y", "P1Y2M", "1y", "1mo"])
def test_years_and_months_have_no_length(text: str) -> None:
    refusal = duration_ms(text)
    assert isinstance(refusal, Refusal)
    assert "years and months have no fixed length" in refusal.sentence


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0.1ms", "exact to the millisecond"), ("PT1.0001S", "exact to"), ("36601d", "at most 100 years")],
)
def test_what_can_t_be_kept_exactly_or_is_absurd_is_refused(text: str, expected: str) -> None:
    refusal = duration_ms(text)
    assert isinstance(refusal, Refusal)
    assert expected in refusal.sentence


def test_a_long_text_is_not_repeated_whole() -> None:
    refusal = duration_ms("x" * 10_000)
    assert isinstance(refusal, Refusal)
    assert len(refusal.sentence) < 200


@given(st.integers(0, DURATION_MS_MAX))
def test_every_number_of_milliseconds_can_be_written(milliseconds: int) -> None:
    seconds, rest = divmod(milliseconds, 1_000)
    assert duration_ms(f"{milliseconds}ms") == milliseconds
    assert duration_ms(f"PT{seconds}.{rest:03}S") == milliseconds


@given(st.text(max_size=20))
def test_no_text_raises(text: str) -> None:
    assert isinstance(duration_ms(text), int | Refusal)
