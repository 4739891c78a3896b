"""How values look to people."""

import pytest

from interlock.cli.output import age, clean, instant, short


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (0, "0.0s"),
        (1_500, "1.5s"),
        (59_999, "60.0s"),
        (60_000, "1m0s"),
        (3_599_000, "59m59s"),
        (3_600_000, "1h0m"),
        (90_000_000, "1d1h"),
    ],
)
def test_an_age_is_told_in_its_two_largest_units(ms: int, shown: str) -> None:
    assert age(ms) == shown


def test_an_instant_is_told_in_utc_with_milliseconds() -> None:
    assert instant(1_700_000_000_123) == "2023-11-14 22:13:20.123Z"
    assert instant(None) == ""


def test_a_long_value_is_cut_where_it_is_shown_in_one_line() -> None:
    assert short({"a": 1}) == '{"a": 1}'
    assert len(short("x" * 500)) == 100


def test_what_would_act_on_a_terminal_is_shown_and_not_done() -> None:
    assert clean("a\x1b[31mred\x07\n\x9b2J") == r"a\x1b[31mred\x07\n\x9b2J"
    assert clean("größe – ✓") == "größe – ✓"
