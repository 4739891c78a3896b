"""Where values come from, and what is said where they can't be had."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.domain.executions.execution.sources import SourceFault, resolve_correlation, resolve_text
from interlock.domain.executions.execution.state import ExecutionState, evolve
from tests.domain.executions.scenario import ORDER, completed, started

pytestmark = pytest.mark.domain


def state_with(output: str, data: str = ORDER) -> ExecutionState:
    return evolve(evolve(None, started(data)), completed("quote", output))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("input", ORDER),
        ("input.order.id", '"o-7"'),
        ("input.order.lines.1.sku", '"b"'),
        ("input.order.note", "null"),
        ("quote", '{"price": 1.50}'),
        ("quote.price", "1.5"),
    ],
)
def test_a_source_gives_json_text(source: str, text: str) -> None:
    assert resolve_text(state_with('{"price": 1.50}'), "ship", source) == text


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("reserve", "no output of 'reserve' (there are: input, quote)"),
        (
            "input.order.price",
            "no 'price' in 'input.order', which is an object with id, lines, count, gift, total, note",
        ),
        ("input.order.id.x", "no 'x' in 'input.order.id', which is a text of 3 characters"),
        ("input.order.lines.2", "no '2' in 'input.order.lines', which is an array of 2"),
        ("input.order.lines.-1", "no '-1' in 'input.order.lines', which is an array of 2"),
        ("input.order.lines.9999999999999", "no '9999999999999' in 'input.order.lines', which is an array of 2"),
        ("input.order.note.x", "no 'x' in 'input.order.note', which is null"),
        ("input.order.gift.x", "no 'x' in 'input.order.gift', which is false"),
        ("quote.x", "no 'x' in 'quote', which is an object with no members"),
    ],
)
def test_a_source_that_leads_nowhere_says_node_source_and_what_is_there(source: str, found: str) -> None:
    with pytest.raises(SourceFault) as fault:
        resolve_text(state_with("{}"), "ship", source)
    assert fault.value.error_type == "UnresolvedSource"
    assert fault.value.message == f"Expected a value for node 'ship' at source {source!r}, found {found}."


@pytest.mark.parametrize(
    "output",
    ["", "no json", "[" * 100_000, "1" * 5_000, '{"a":' * 50_000],
    ids=["empty", "text", "deep", "long", "open"],
)
def test_an_output_that_can_not_be_read_is_a_fault_and_no_crash(output: str) -> None:
    with pytest.raises(SourceFault, match="a value of 'quote' that can't be read"):
        resolve_text(state_with(output), "ship", "quote.x")


def test_a_number_that_json_can_not_carry_is_a_fault_and_no_crash() -> None:
    with pytest.raises(SourceFault, match="a value that JSON can't carry"):
        resolve_text(state_with('{"x":1e999}'), "ship", "quote.x")


def test_what_is_found_can_be_stored() -> None:
    state = state_with('{"\\ud800":"\\ud800"}')
    with pytest.raises(SourceFault) as fault:
        resolve_text(state, "ship", "quote.x")
    fault.value.message.encode("utf-8")
    value = resolve_text(state_with('{"x":"\\ud800"}'), "ship", "quote.x")
    assert value.encode("utf-8") == b'"\\ud800"'


@pytest.mark.parametrize(
    ("source", "correlation"),
    [
        (None, ""),
        ("input.order.id", "o-7"),
        ("input.order.count", "2"),
        ("input.order.gift", "false"),
        ("quote", "q"),
    ],
)
def test_a_correlation_is_a_text(source: str | None, correlation: str) -> None:
    assert resolve_correlation(state_with('"q"'), "paid", source) == correlation


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("{}", "an object with no members"),
        ("[]", "an array of 0"),
        ("null", "null"),
        ("1.5", "1.5"),
        ('""', "a text of 0 characters"),
        ('" a"', "a text of 2 characters"),
        (json.dumps("x" * 1_025), "a text of 1025 characters"),
        ('"\\ud800"', "a text of 1 characters"),
    ],
)
def test_what_is_no_correlation_is_a_fault(output: str, found: str) -> None:
    with pytest.raises(SourceFault) as fault:
        resolve_correlation(state_with(output), "paid", "quote")
    assert fault.value.error_type == "InvalidCorrelation"
    assert fault.value.message.endswith(f"as correlation of node 'paid' at source 'quote', found {found}.")


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )
)
def test_a_value_comes_out_as_it_went_in(value: object) -> None:
    state = state_with(json.dumps({"x": [value]}))
    assert json.loads(resolve_text(state, "ship", "quote.x.0")) == value
