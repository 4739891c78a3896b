"""When two templates of paths are the same, and what no template can be."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from interlock.domain.definitions.templates import TemplateFault, shape

LITERALS = st.from_regex(r"[A-Za-z0-9._~!$&'()+,;=@-]{1,8}", fullmatch=True).filter(
    lambda text: text not in (".", "..")
)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)


@st.composite
def shapes(draw: st.DrawFn) -> list[str]:
    """Segments of a shape: literals and `:`, and maybe `*` at the end."""
    segments = draw(st.lists(st.one_of(LITERALS, st.just(":")), max_size=6))
    return [*segments, "*"] if draw(st.booleans()) else segments


def named(segments: list[str], names: list[str]) -> str:
    """A template of a shape, its parameters named in turn."""
    left = iter(names)
    return "/" + "/".join(each + next(left) if each in (":", "*") else each for each in segments)


@given(
    shapes(), st.lists(NAMES, min_size=7, max_size=7, unique=True), st.lists(NAMES, min_size=7, max_size=7, unique=True)
)
def test_names_of_parameters_never_count(segments: list[str], first: list[str], second: list[str]) -> None:
    """Proves: RTE-02"""
    assert shape(named(segments, first)) == shape(named(segments, second)) == "/" + "/".join(segments)


@given(shapes(), shapes(), st.lists(NAMES, min_size=7, max_size=7, unique=True))
def test_whatever_else_differs_counts(one: list[str], other: list[str], names: list[str]) -> None:
    """Proves: RTE-02"""
    assume(one != other)
    assert shape(named(one, names)) != shape(named(other, names))


@given(st.one_of(st.text(), st.text("/:*.a{}%", max_size=12).map(lambda text: f"/{text}")))
def test_every_text_has_a_shape_or_a_fault_and_a_shape_is_readable(text: str) -> None:
    found = shape(text)
    if isinstance(found, TemplateFault):
        assert found.expected
        assert found.found
    else:
        assert re.fullmatch(r"/|(/([A-Za-z0-9._~!$&'()+,;=@-]+|:))*(/\*)?", found)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("", "begins with /"),
        ("orders", "begins with /"),
        ("//", "not empty"),
        ("/orders/", "not empty"),
        ("/a/../b", "leave as they are"),
        ("/a/*/b", "at the end"),
        ("/a/:", "a parameter as :"),
        ("/a/:1", "a parameter as :"),
        ("/a/:x:y", "a parameter as :"),
        ("/:x/:x", "each name once"),
        ("/:x/*x", "each name once"),
        ("/{id}", "a parameter as :id"),
        ("/<int:id>", "a parameter as :id"),
        ("/a%2Fb", "letters, digits"),
        ("/a b", "letters, digits"),
        ("/größe", "letters, digits"),
        ("/a?b=c", "letters, digits"),
        ("/a\n", "letters, digits"),
        ("/" + "a" * 180, "at most 180"),
    ],
)
def test_a_path_that_can_not_be_one_says_what_was_expected(template: str, expected: str) -> None:
    found = shape(template)
    assert isinstance(found, TemplateFault)
    assert expected in found.expected
