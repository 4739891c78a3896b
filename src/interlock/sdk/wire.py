"""Data classes to JSON values and back: names in camel case, tuples as arrays.

Reading is tolerant of what it doesn't know and strict about what it needs: an unknown field is passed over, a missing
one without a default is a `WireError`.
"""

import dataclasses
import types
from collections.abc import Hashable
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from interlock.sdk.types import Json

T = TypeVar("T")


class WireError(ValueError):
    """An answer is not what this client expects; most likely the server is of another release."""


def to_wire(value: object) -> Json:
    """The JSON value of an answer. Keys of dictionaries are data and stay as they are."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {camel(field.name): to_wire(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [to_wire(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, dict):
        return {key: to_wire(item) for key, item in cast("dict[str, object]", value).items()}
    return cast("Json", value)


def from_wire(type_: type[T], value: object) -> T:
    """What a JSON value says, as a type of `interlock.sdk.types`. Raises `WireError`."""
    return cast("T", _read(type_, value, str(getattr(type_, "__name__", type_))))


@cache
def camel(name: str) -> str:
    """A field's name on the wire."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def hints(type_: type[Any]) -> dict[str, Any]:
    """The types of a data class's fields."""
    return _hints(cast("Hashable", type_))


@cache
def _hints(type_: Any) -> dict[str, Any]:
    return get_type_hints(type_)


def _read(type_: Any, value: object, where: str) -> object:
    origin, arguments = get_origin(type_), get_args(type_)
    if type_ == Json or type_ is object or origin is Literal or isinstance(type_, TypeVar):
        return value
    if origin in (Union, types.UnionType):
        present = [each for each in arguments if each is not type(None)]
        return None if value is None else _read(present[0], value, where)
    if origin is tuple:
        items_found = cast("list[object]", _of(list, value, where))
        return tuple(_read(arguments[0], item, where) for item in items_found)
    if origin is dict:
        items = cast("dict[str, object]", _of(dict, value, where)).items()
        return {key: _read(arguments[1], item, where) for key, item in items}
    target = origin or type_
    if dataclasses.is_dataclass(target):
        return _data_class(cast("type[Any]", target), arguments, value, where)
    return _of(type_, value, where)


def _data_class(type_: type[Any], arguments: tuple[Any, ...], value: object, where: str) -> object:
    found = cast("dict[str, object]", _of(dict, value, where))
    known: dict[str, Any] = hints(type_)
    given: dict[str, object] = {}
    for field in dataclasses.fields(type_):
        name = camel(field.name)
        if name in found:
            item_type = known[field.name]
            if arguments:
                item_type = item_type[arguments] if getattr(item_type, "__parameters__", ()) else item_type
            given[field.name] = _read(item_type, found[name], f"{where}.{name}")
        elif field.default is dataclasses.MISSING:
            raise WireError(f"Expected a field {name!r} in {where}, found none; is the server of another release?")
    return type_(**given)


def _of(type_: type[T], value: object, where: str) -> T:
    if not isinstance(value, type_):
        raise WireError(f"Expected {where} as {type_.__name__}, found {type(value).__name__}.")
    return value
