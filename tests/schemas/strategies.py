"""Objects of any stored class, drawn from the types of its fields."""

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1
"""What a long holds."""

texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    # Lengths around the places where a length takes another byte.
    st.sampled_from([62, 63, 64, 65, 8_191, 8_192]).map("x".__mul__),
    st.just("ü" * 32),
)
longs = st.one_of(
    st.integers(SMALLEST, LARGEST),
    st.integers(-200, 20_000),
    st.integers(1_600_000_000_000, 2_300_000_000_000),
    st.sampled_from([0, SMALLEST, LARGEST, 8_191, 8_192, (1 << 27) - 1, 1 << 27, (1 << 41) - 1, 1 << 41]),
)

_PRIMITIVES: Mapping[object, st.SearchStrategy[Any]] = {
    str: texts,
    int: longs,
    bool: st.booleans(),
    types.NoneType: st.none(),
}


def objects(cls: type) -> st.SearchStrategy[Any]:
    """Objects of a dataclass."""
    hints = get_type_hints(cls)
    return st.builds(cls, **{field.name: values(hints[field.name]) for field in dataclasses.fields(cls)})


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    if hint in _PRIMITIVES:
        return _PRIMITIVES[hint]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return objects(hint)
    arguments = get_args(hint)
    if get_origin(hint) is Literal:
        return st.sampled_from(arguments)
    if get_origin(hint) in (Union, types.UnionType):
        return st.one_of(*map(values, arguments))
    assert get_origin(hint) is tuple
    assert arguments[1] is Ellipsis
    if get_origin(arguments[0]) is tuple:
        key, value = get_args(arguments[0])
        return st.lists(st.tuples(values(key), values(value)), max_size=3, unique_by=lambda pair: pair[0]).map(tuple)
    return st.lists(values(arguments[0]), max_size=3).map(tuple)
