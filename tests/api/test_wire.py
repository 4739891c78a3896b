"""Answers as JSON and back: what the server writes is what the client reads."""

import dataclasses
import inspect
import json
import types
from typing import Any, Literal, Union, cast, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.sdk import WireError
from interlock.sdk import types as answers
from interlock.sdk.types import Json, Page, Published, Run, Slot
from interlock.sdk.wire import camel, from_wire, hints, to_wire

ANSWERS: list[Any] = [
    each
    for _, each in inspect.getmembers(answers, inspect.isclass)
    if dataclasses.is_dataclass(each) and each is not Page
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def values_of(type_: Any) -> st.SearchStrategy[Any]:
    """Values of a type that an answer may hold."""
    origin, arguments = get_origin(type_), get_args(type_)
    if type_ == Json:
        return json_values
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of(*(st.none() if each is type(None) else values_of(each) for each in arguments))
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(st.text(), values_of(arguments[1]), max_size=2)
    if dataclasses.is_dataclass(type_):
        made = cast("type[Any]", type_)
        return st.builds(made, **{name: values_of(each) for name, each in hints(made).items()})
    return {str: st.text(), int: st.integers(), bool: st.booleans()}[type_]


@pytest.mark.parametrize("type_", ANSWERS, ids=lambda each: str(each.__name__))
@given(data=st.data())
def test_every_answer_comes_back_as_it_was_written(type_: Any, data: st.DataObject) -> None:
    """Proves: OPS-01."""
    value = data.draw(values_of(type_))
    assert from_wire(type_, json.loads(json.dumps(to_wire(value)))) == value


def slot(**more: object) -> dict[str, object]:
    """A slot as the server writes it."""
    made = Slot(
        slot_id="s", shell="default", definition_id="d", name="n", revision=1, publication_id="p", activated_at_ms=5
    )
    written = to_wire(made)
    assert isinstance(written, dict)
    return {**written, **more}


def test_names_are_in_camel_case_and_a_page_holds_its_items() -> None:
    assert "activatedAtMs" in slot()
    page = from_wire(Page[Slot], {"items": [slot()], "next": None})
    assert (page.items[0].activated_at_ms, page.next) == (5, None)


def test_a_field_of_a_newer_server_is_passed_over() -> None:
    assert from_wire(Slot, slot(invented=1)).revision == 1


def test_a_field_that_may_be_left_out_has_its_default() -> None:
    found = from_wire(Published, {"status": "pending", "commandId": "c", "publicationId": "p"})
    assert (found.revision, found.missing) == (0, ())


@pytest.mark.parametrize(
    "value", [None, [], "text", {}, {"revision": 1}, {"items": [], "next": None}], ids=lambda each: str(each)[:20]
)
def test_what_is_no_such_answer_is_told(value: object) -> None:
    with pytest.raises(WireError, match="Expected"):
        from_wire(Slot, value)


def test_a_field_of_another_kind_is_told() -> None:
    with pytest.raises(WireError, match=r"Slot\.revision"):
        from_wire(Slot, slot(revision="1"))


def test_keys_of_payloads_stay_as_they_are() -> None:
    assert to_wire({"order_id": 1}) == {"order_id": 1}
    assert camel("order_id") == "orderId"
    assert "order_id" not in {camel(name) for name in hints(Run)}
