"""The few things asked of fastavro, with types. Whoever reads old versions or checks schemas goes through here;
the hot path doesn't (`interlock.schemas.compiled`)."""

import io
import json
from collections.abc import Callable
from typing import Any, TypeGuard, cast

import fastavro
import fastavro.schema

from interlock.schemas.errors import InvalidSchema

Definition = dict[str, Any]
"""An Avro schema as JSON. `Any`, because that is what JSON is; what reads it decides by "type"."""

# What fastavro says of its types is partial, so it gets whole ones where it enters.
_schemaless_reader = cast("Callable[..., object]", fastavro.schemaless_reader)  # pyright: ignore[reportUnknownMemberType]
_schemaless_writer = cast("Callable[..., None]", fastavro.schemaless_writer)  # pyright: ignore[reportUnknownMemberType]
_fingerprint = cast("Callable[[str, str], str]", fastavro.schema.fingerprint)
_canonical_form = cast("Callable[[Definition], str]", fastavro.schema.to_parsing_canonical_form)
_parse_schema = cast("Callable[[Definition], object]", fastavro.parse_schema)


def is_union(schema: Any) -> TypeGuard[list[Any]]:
    """Whether a type is a list of branches."""
    return isinstance(schema, list)


def parse(text: str, where: str) -> Definition:
    """The record schema in a file's text. Raises `InvalidSchema`, which names `where`."""
    try:
        definition: Definition = json.loads(text)
        _parse_schema(definition)
    except Exception as error:  # fastavro names no root of its errors, and here all of them mean the same
        raise InvalidSchema(f"expected an Avro schema in {where}, found {error!r}") from error
    match definition:
        case {"type": "record"}:
            return definition
        case _:
            raise InvalidSchema(f"expected an Avro record in {where}, found {text[:60]!r}")


def fingerprint(definition: Definition) -> bytes:
    """CRC-64-AVRO of the parsing canonical form: 8 bytes, least significant first, as single-object encoding has it."""
    return bytes.fromhex(_fingerprint(_canonical_form(definition), "CRC-64-AVRO"))


def read_record(body: bytes, writer: Definition, reader: Definition | None = None) -> dict[str, object]:
    """A record as fastavro reads it, resolved to `reader`; within unions as a pair of full name and record.

    Raises ValueError where bytes are left over, and whatever fastavro raises.
    """
    stream = io.BytesIO(body)
    found = _schemaless_reader(stream, writer, reader, return_record_name=True)
    if stream.tell() != len(body):
        raise ValueError(f"expected a record of {len(body)} bytes, found one of {stream.tell()}")
    return cast("dict[str, object]", found)


def write_record(record: dict[str, object], writer: Definition) -> bytes:
    """A record as fastavro writes it; within unions as a pair of full name and record. Raises what fastavro raises."""
    out = io.BytesIO()
    _schemaless_writer(out, writer, record)
    return out.getvalue()
