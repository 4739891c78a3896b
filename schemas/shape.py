"""What a schema says, apart from how it is written: its records by full name, without documentation.

Two schemas of one shape write the same bytes and read the same records. The check compares shapes, so that it can say
in which field of which record two schemas differ.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from interlock.schemas.avro import Definition, is_union
from interlock.schemas.errors import InvalidSchema

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


class Field(NamedTuple):
    """A field of a record."""

    name: str
    type: Any
    """A primitive's or a record's full name, a list of such (a union), or `{"type": "array"|"map", …}`."""
    default: tuple[object, ...]
    """The default as the only element, or empty where there is none."""
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A record schema with everything that it nests."""

    root: str
    records: dict[str, tuple[Field, ...]]
    """Full name → fields."""


def shape(definition: Definition) -> Shape:
    """The shape of a record schema. Raises `InvalidSchema` for what the catalogue's schemas don't use (enum, fixed)."""
    records: dict[str, tuple[Field, ...]] = {}
    return Shape(root=_type(definition, "", records), records=records)


def _type(schema: Any, namespace: str, records: dict[str, tuple[Field, ...]]) -> Any:
    if isinstance(schema, str):
        return schema if schema in PRIMITIVES or "." in schema else f"{namespace}.{schema}"
    if is_union(schema):
        return [_type(branch, namespace, records) for branch in schema]
    match schema:
        case {"type": "record"}:
            return _record(schema, namespace, records)
        case {"type": "array", "items": items}:
            return {"type": "array", "items": _type(items, namespace, records)}
        case {"type": "map", "values": values}:
            return {"type": "map", "values": _type(values, namespace, records)}
        case _:
            raise InvalidSchema(f"expected a primitive, a record, an array, a map or a union, found {schema!r}")


def _record(schema: Definition, namespace: str, records: dict[str, tuple[Field, ...]]) -> str:
    namespace = schema.get("namespace", namespace)
    name = f"{namespace}.{schema['name']}"
    records[name] = tuple(
        Field(
            field["name"],
            _type(field["type"], namespace, records),
            (field["default"],) if "default" in field else (),
            tuple(field.get("aliases", ())),
        )
        for field in schema["fields"]
    )
    return name
