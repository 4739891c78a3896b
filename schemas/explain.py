"""Why an object has no place in its schema. Asked only after writing it failed, so it may take its time."""

from collections.abc import Mapping
from typing import Any, TypeGuard

from interlock.schemas.avro import Definition, is_union

_CLASSES: Mapping[str, type] = {"string": str, "long": int, "boolean": bool, "null": type(None)}


def fault(schema: Definition, item: object, where: str, types: Mapping[str, type]) -> str | None:
    """A sentence about the first field that doesn't fit, or None. `types`: full Avro name → class."""
    return _Search(types).value(schema, item, where, "")


class _Search:
    def __init__(self, types: Mapping[str, type]) -> None:
        self._types = types
        self._defined: dict[str, Definition] = {}

    def value(self, schema: Any, value: object, where: str, namespace: str) -> str | None:
        if is_union(schema):
            return self._union(schema, value, where, namespace)
        if isinstance(schema, str):
            if schema in _CLASSES:
                return _primitive(schema, value, where)
            schema = self._defined[schema if schema in self._defined else f"{namespace}.{schema}"]
        if schema["type"] == "record":
            return self._record(schema, value, where, namespace)
        if not _is_tuple(value):
            return f"expected a tuple at {where}, found {_short(value)}"
        items = enumerate(value)
        if schema["type"] == "array":
            found = (self.value(schema["items"], item, f"{where}[{index}]", namespace) for index, item in items)
        else:
            found = (self._pair(schema["values"], item, f"{where}[{index}]", namespace) for index, item in items)
        return next(filter(None, found), None)

    def _record(self, schema: Definition, value: object, where: str, namespace: str) -> str | None:
        namespace = schema.get("namespace", namespace)
        name = f"{namespace}.{schema['name']}"
        self._defined[name] = schema
        if value.__class__ is not self._types[name]:
            return f"expected a {schema['name']} at {where}, found {_short(value)}"
        found = (
            self.value(field["type"], getattr(value, field["name"]), f"{where}.{field['name']}", namespace)
            for field in schema["fields"]
        )
        return next(filter(None, found), None)

    def _union(self, branches: list[Any], value: object, where: str, namespace: str) -> str | None:
        for branch in branches:
            if self._class(branch, namespace) is value.__class__:
                return self.value(branch, value, where, namespace)
        names = [branch if isinstance(branch, str) else branch.get("name", branch["type"]) for branch in branches]
        return f"expected one of {', '.join(names)} at {where}, found {_short(value)}"

    def _class(self, branch: Any, namespace: str) -> type | None:
        if isinstance(branch, str):
            return _CLASSES.get(branch) or self._types.get(branch) or self._types.get(f"{namespace}.{branch}")
        if branch["type"] == "record":
            return self._types[f"{branch.get('namespace', namespace)}.{branch['name']}"]
        return tuple

    def _pair(self, schema: Any, value: object, where: str, namespace: str) -> str | None:
        if not _is_tuple(value) or len(value) != 2:
            return f"expected a pair at {where}, found {_short(value)}"
        key, item = value
        return _primitive("string", key, f"{where}[0]") or self.value(schema, item, f"{where}[1]", namespace)


def _primitive(name: str, value: object, where: str) -> str | None:
    if not isinstance(value, _CLASSES[name]):
        return f"expected a {name} at {where}, found {_short(value)}"
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            return (
                f"expected text that UTF-8 can hold at {where}, found a lone surrogate at character {error.start}:"
                f" {_short(value[error.start : error.start + 10])}"
            )
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return f"expected an integer of 64 bits at {where}, found one of {value.bit_length()} bits"
    return None


def _is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(value, tuple)


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
