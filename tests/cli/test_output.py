"""How values look to people."""

import pytest

from interlock.cli.output import age, clean, instant, print_table, short


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


def test_a_row_is_one_line_where_no_terminal_says_how_wide_it_may_be(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("A", "B", "C"), [("x" * 500, 1, ""), ("größe", 22, "end")], "none")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["A", "B", "C"], ["x" * 500, "1"], ["größe", "22", "end"]]
    assert lines[0].index("B") == lines[1].index("1") == lines[2].index("22")
