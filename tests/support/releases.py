"""Two releases that differ in every stored type: what one wrote, the other has to lift, or to leave alone.

This release plays the newer one, with a version 2 of every type. In version 1, as the older release writes it, the
first field of each record has another name, at every depth, so no record of it is read right without its upcaster.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from interlock.schemas.avro import is_union, read_record, write_record
from interlock.schemas.catalog import NESTED, STORED, Catalog, Row, catalog, schema_path
from interlock.schemas.codec import SINGLE_OBJECT, AvroCodec
from interlock.schemas.errors import UnreadableRecord
from interlock.schemas.upcasters import Record, Upcaster
from interlock.schemas.written import WrittenSchema

FORMERLY = "formerly_"
_HEAD_BYTES = 10


class NewerRelease(AvroCodec):
    """Writes version 2 of every type, and reads version 1."""

    def __init__(self, root: Path) -> None:
        """`root` is an empty folder, for the schemas of both."""
        rows = [Row(row.name, row.type, 2) for row in STORED]
        for row in rows:
            newest = catalog().newest(row.name).definition
            for version, definition in enumerate((_aged(newest), newest), 1):
                path = root / schema_path(row.name, version)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(definition), "utf-8")
        self.versions = Catalog(rows, NESTED, root)
        super().__init__(stored=self.versions, upcasters=_upcasters(self.versions))


class OlderRelease:
    """Writes and reads version 1 of every type, and knows no other."""

    def __init__(self, newer: NewerRelease) -> None:
        self._newer = newer
        self._versions = newer.versions
        self._heads = {SINGLE_OBJECT + self._versions.versions(row.name)[0].fingerprint for row in STORED}

    def encode(self, value: object) -> bytes:
        """As version 1 has it."""
        older, newer = self._versions.versions(self.type_name(value))
        record = read_record(self._newer.encode(value)[_HEAD_BYTES:], newer.definition)
        aged = _renamed(record, newer.definition, {}, _age)
        return SINGLE_OBJECT + older.fingerprint + write_record(aged, older.definition)

    def decode(self, data: bytes) -> object:
        """Of version 1 only."""
        if data[:_HEAD_BYTES] not in self._heads:
            raise UnreadableRecord(f"this release doesn't know {data[:_HEAD_BYTES].hex()}")
        return self._newer.decode(data)

    def type_name(self, value: object) -> str:
        """The same in both."""
        return self._newer.type_name(value)

    def schemas(self) -> Sequence[WrittenSchema]:
        """Those of version 1."""
        return [each for each in self._newer.schemas() if each.version == 1]

    def unknown_schema(self, data: bytes) -> str | None:
        """Version 2 is unknown too."""
        head = data[:_HEAD_BYTES]
        return head[2:].hex() if head.startswith(SINGLE_OBJECT) and head not in self._heads else None

    def wrote(self, data: bytes) -> bool:
        """Whether a record is of version 1."""
        return data[:_HEAD_BYTES] in self._heads


def _upcasters(versions: Catalog) -> Mapping[tuple[str, int], Upcaster]:
    def upcaster(name: str) -> Upcaster:
        newest = versions.newest(name).definition

        def upcast(record: Record) -> Record:
            found: Record = _renamed(record, newest, {}, _rejuvenate)
            return found

        return upcast

    return {(name, 1): upcaster(name) for name in versions.rows}


def _aged(schema: Any) -> Any:
    """The schema of version 1."""
    if is_union(schema):
        return [_aged(branch) for branch in schema]
    match schema:
        case {"type": "record", "fields": []}:
            return schema | {"fields": [{"name": FORMERLY, "type": "string", "default": ""}]}
        case {"type": "record", "fields": [first, *others]}:
            fields = [first | {"name": FORMERLY + first["name"]}, *others]
            return schema | {"fields": [field | {"type": _aged(field["type"])} for field in fields]}
        case {"type": "array", "items": items}:
            return schema | {"items": _aged(items)}
        case {"type": "map", "values": values}:
            return schema | {"values": _aged(values)}
        case _:
            return schema


def _age(record: dict[str, Any], fields: list[str]) -> dict[str, Any]:
    """A record of version 2, whose fields are so called, as one of version 1."""
    if not fields:
        return {FORMERLY: ""}
    return {(FORMERLY if name == fields[0] else "") + name: value for name, value in record.items()}


def _rejuvenate(record: dict[str, Any], fields: list[str]) -> dict[str, Any]:
    """A record of version 1 as one of version 2."""
    return {name.removeprefix(FORMERLY): value for name, value in record.items() if fields}


def _renamed(value: Any, schema: Any, known: dict[str, Any], rename: Any) -> Any:
    """A value of either version with every record in it renamed; `schema` is of version 2."""
    if isinstance(schema, str) and schema in known:
        schema = known[schema]
    if is_union(schema):
        _know(schema, known)
        return _of_branch(value, schema, known, rename)
    match schema:
        case {"type": "record", "fields": fields}:
            _know(schema, known)
            names = [field["name"] for field in fields]
            types = {field["name"]: field["type"] for field in fields}
            # In either version, the values are found by the names that they have in version 2.
            within = {name: _renamed(item, types[name.removeprefix(FORMERLY)], known, rename) for name, item in
                      value.items() if name != FORMERLY}  # fmt: skip
            return rename(within, names)
        case {"type": "array", "items": items}:
            return [_renamed(item, items, known, rename) for item in value]
        case {"type": "map", "values": values}:
            return {key: _renamed(item, values, known, rename) for key, item in value.items()}
        case _:
            return value


def _of_branch(value: Any, union: list[Any], known: dict[str, Any], rename: Any) -> Any:
    if isinstance(value, tuple):
        name, record = value  # pyright: ignore[reportUnknownVariableType]
        return name, _renamed(record, known[name], known, rename)
    if isinstance(value, list):
        [array] = [branch for branch in union if isinstance(branch, dict) and branch["type"] == "array"]  # pyright: ignore[reportUnknownVariableType]
        return _renamed(value, array, known, rename)
    return value


def _know(schema: Any, known: dict[str, Any], namespace: str = "") -> None:
    """Notes every record that is defined within, by its full name and by its bare one."""
    if is_union(schema):
        for branch in schema:
            _know(branch, known, namespace)
    match schema:
        case {"type": "record", "name": name, "fields": fields}:
            space = schema.get("namespace", namespace)
            known[f"{space}.{name}"] = schema
            known.setdefault(name, schema)
            for field in fields:
                _know(field["type"], known, space)
        case {"type": "array", "items": within} | {"type": "map", "values": within}:
            _know(within, known, namespace)
        case _:
            pass
