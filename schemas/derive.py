"""The schema that a dataclass asks for. A draft is made of it once, and the check compares it with the committed file.

    str → string · Literal → string · int → long · bool → boolean · X | None → ["null", X] · tuple[X, ...] → array
    tuple[tuple[str, X], ...] → map, in order · a dataclass → its record · a union of dataclasses → their union

An avro enum would be closed: a reader that doesn't know a new symbol can't read the record. So a Literal is a string.
"""

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from interlock.schemas.avro import Definition
from interlock.schemas.errors import InvalidSchema

AvroType = str | Definition | list[Any]
"""What may stand under "type" in a field."""

_PRIMITIVES: dict[object, str] = {str: "string", int: "long", bool: "boolean"}


def derive(cls: type, names: Mapping[type, str]) -> Definition:
    """The schema of a dataclass, without documentation. `names`: class → full Avro name, of all that may occur.

    Raises `InvalidSchema` for a type of field that has no place in a record.
    """
    return _Derivation(names).record(cls)


class _Derivation:
    def __init__(self, names: Mapping[type, str]) -> None:
        self._names = names
        self._defined: set[type] = set()
        """Avro defines a name where it first occurs, and names it from there on."""

    def record(self, cls: type) -> Definition:
        self._defined.add(cls)
        namespace, _, name = self._name(cls).rpartition(".")
        hints = get_type_hints(cls)
        fields = [self._field(cls, field, hints[field.name]) for field in dataclasses.fields(cls)]
        return {"type": "record", "name": name, "namespace": namespace, "fields": fields}

    def _field(self, cls: type, field: "dataclasses.Field[Any]", hint: object) -> Definition:
        where = f"{cls.__name__}.{field.name}"
        if field.default_factory is not dataclasses.MISSING:
            raise InvalidSchema(f"expected a plain default for {where}, found a factory, which no schema can hold")
        found: Definition = {"name": field.name, "type": self._type(hint, where)}
        if field.default is not dataclasses.MISSING:
            found["default"] = field.default
        elif isinstance(found["type"], list) and found["type"][0] == "null":
            found["default"] = None
        return found

    def _type(self, hint: object, where: str) -> AvroType:
        if isinstance(hint, type) and hint in _PRIMITIVES:
            return _PRIMITIVES[hint]
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return self._name(hint) if hint in self._defined else self.record(hint)
        arguments = get_args(hint)
        origin = get_origin(hint)
        if origin is Literal and all(isinstance(value, str) for value in arguments):
            return "string"
        if origin in (Union, types.UnionType):
            return self._union(arguments, where)
        if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
            return self._sequence(arguments[0], where)
        raise InvalidSchema(f"expected a type that a record can hold at {where}, found {hint}")

    def _union(self, branches: tuple[object, ...], where: str) -> AvroType:
        some = [branch for branch in branches if branch is not types.NoneType]
        nullable = len(some) < len(branches)
        if len(some) > 1 and not all(dataclasses.is_dataclass(branch) for branch in some):
            raise InvalidSchema(f"expected a union of records at {where}, found {branches}")
        return [*(["null"] if nullable else []), *(self._type(branch, where) for branch in some)]

    def _sequence(self, item: object, where: str) -> AvroType:
        if get_origin(item) is tuple and get_args(item)[:1] == (str,) and len(get_args(item)) == 2:
            return {"type": "map", "values": self._type(get_args(item)[1], where)}
        return {"type": "array", "items": self._type(item, where)}

    def _name(self, cls: type) -> str:
        if cls not in self._names:
            raise InvalidSchema(f"expected {cls.__module__}.{cls.__name__} in schemas/catalog.py, found no name for it")
        return self._names[cls]
