"""Records' bytes: Avro in single-object encoding, written and read as the objects of the domain.

    C3 01 · fingerprint, 8 bytes, least significant first · the record in Avro's binary encoding
    00 · id in a schema registry, 4 bytes, most significant first · the same (Confluent's framing, where it is on)

The first bytes say which schema wrote a record; readers take either framing and every version of each type, an older
one by way of `interlock.schemas.upcasters`. What always holds: `decode(encode(x)) == x`, and bytes that are no whole
record of a known schema raise `UnreadableRecord`, never anything else, and never give a wrong object.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache

from eventsourcing.domain import TAggregateID

from interlock.schemas.catalog import Catalog, Schema, catalog
from interlock.schemas.compiled import Compiler
from interlock.schemas.errors import InvalidSchema, UnreadableRecord, UnwritableRecord
from interlock.schemas.explain import fault
from interlock.schemas.mapper import FactMapper
from interlock.schemas.upcasters import UPCASTERS, Upcaster, lift
from interlock.schemas.wire import Reader, Writer
from interlock.schemas.written import WrittenSchema

SINGLE_OBJECT = b"\xc3\x01"
CONFLUENT = b"\x00"
_SINGLE_OBJECT_BYTES = 10
_CONFLUENT_BYTES = 5

RegistryIds = Mapping[tuple[str, int], int]
"""(Stored name, version) → the id that a schema registry gave to it."""


class AvroCodec:
    """Encodes and decodes every stored type. Safe to share; what it compiles at first use it keeps."""

    def __init__(
        self,
        *,
        registry_ids: RegistryIds | None = None,
        stored: Catalog | None = None,
        upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
    ) -> None:
        """`registry_ids` switches Confluent's framing on, and then names every version of every type."""
        self._catalog = catalog() if stored is None else stored
        self._upcasters = upcasters
        self._compiler = Compiler(self._catalog.types)
        self._names = {row.type: row.name for row in self._catalog.rows.values()}
        schemas = [schema for name in self._catalog.rows for schema in self._catalog.versions(name)]
        self._heads = {SINGLE_OBJECT + schema.fingerprint: schema for schema in schemas}
        self._registered: dict[str, bytes] = {}
        if registry_ids is not None:
            self._register(schemas, registry_ids)
        self._writers: dict[type, Writer] = {}
        self._readers: dict[bytes, Reader] = {}

    def encode(self, item: object) -> bytes:
        """The record of an event or message. Raises `UnwritableRecord`, which names the field and what it holds."""
        try:
            return self._writers[item.__class__](item)
        except KeyError:
            if item.__class__ in self._writers:
                raise self._unwritable(item) from None
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise self._unwritable(item) from error
        self._writers[item.__class__] = self._make_writer(item.__class__)
        return self.encode(item)

    def decode(self, data: bytes) -> object:
        """The event or message in a record, lifted to its newest version. Raises `UnreadableRecord`."""
        start = _SINGLE_OBJECT_BYTES
        read = self._readers.get(data[:_SINGLE_OBJECT_BYTES])
        if read is None:
            read, start = self._find_reader(data)
        try:
            item, end = read(data, start)
        except (LookupError, ValueError) as error:
            raise self._unreadable(data, start, str(error)) from error
        if end != len(data):
            raise self._unreadable(data, start, f"one that would end at byte {end}")
        return item

    def type_name(self, item: object) -> str:
        """The stored name of an object or a class, such as "executions.TimerSet". Raises `UnwritableRecord`."""
        name = self._names.get(item.__class__)
        if name is None:
            name = self._names.get(item) if isinstance(item, type) else None
        if name is None:
            raise _unknown_type(item if isinstance(item, type) else item.__class__)
        return name

    def stores(self, name: str) -> bool:
        """Whether there is a type of that stored name."""
        return name in self._catalog.rows

    def schemas(self) -> Sequence[WrittenSchema]:
        """Every schema that it reads, those that it writes with among them."""
        return tuple(
            WrittenSchema(
                schema.fingerprint.hex(), schema.name, schema.version, json.dumps(schema.definition, ensure_ascii=False)
            )
            for name in self._catalog.rows
            for schema in self._catalog.versions(name)
        )

    def unknown_schema(self, data: bytes) -> str | None:
        """The fingerprint in bytes that begin as a record does, of a schema that it doesn't know; else None."""
        head = data[:_SINGLE_OBJECT_BYTES]
        if len(head) < _SINGLE_OBJECT_BYTES or not head.startswith(SINGLE_OBJECT) or head in self._heads:
            return None
        return head[len(SINGLE_OBJECT) :].hex()

    def _register(self, schemas: Sequence[Schema], ids: RegistryIds) -> None:
        missing = [f"{schema.name} v{schema.version}" for schema in schemas if (schema.name, schema.version) not in ids]
        if missing:
            raise InvalidSchema(f"expected a registry id for every schema, found none for {', '.join(missing)}")
        for schema in schemas:
            head = CONFLUENT + ids[schema.name, schema.version].to_bytes(4)
            if head in self._heads:
                other = self._heads[head]
                raise InvalidSchema(
                    f"expected one registry id for each schema, found {ids[schema.name, schema.version]} for both"
                    f" {other.name} v{other.version} and {schema.name} v{schema.version}"
                )
            self._heads[head] = schema
            self._registered[schema.name] = head

    def _make_writer(self, cls: type) -> Writer:
        name = self._names.get(cls)
        if name is None:
            raise _unknown_type(cls)
        newest = self._catalog.newest(name)
        head = self._registered.get(name, SINGLE_OBJECT + newest.fingerprint)
        return self._compiler.writer(newest.definition, head)

    def _find_reader(self, data: bytes) -> tuple[Reader, int]:
        start = _CONFLUENT_BYTES if data[:1] == CONFLUENT else _SINGLE_OBJECT_BYTES
        head = data[:start]
        if head not in self._readers:
            if head not in self._heads:
                raise UnreadableRecord(self._unknown_head(data))
            self._readers[head] = self._make_reader(self._heads[head])
        return self._readers[head], start

    def _make_reader(self, schema: Schema) -> Reader:
        newest = self._catalog.newest(schema.name)
        read = self._compiler.reader(newest.definition)
        if schema.version == newest.version:
            return read
        versions = self._catalog.versions(schema.name)[schema.version - 1 :]

        def read_older(data: bytes, at: int) -> tuple[object, int]:
            lifted = lift(data[at:], versions, self._upcasters)
            item, end = read(lifted, 0)
            if end != len(lifted):
                raise ValueError(f"expected {len(lifted)} bytes of {newest.name} v{newest.version}, found {end}")
            return item, len(data)

        return read_older

    def _unknown_head(self, data: bytes) -> str:
        if data[:2] == SINGLE_OBJECT:
            return (
                f"this release doesn't know the schema with fingerprint {data[2:10].hex() or 'none'} of a record of"
                f" {len(data)} bytes; where a newer release wrote it, upgrade this one, else another program did"
            )
        if data[:1] == CONFLUENT:
            known = "of a registry that is configured here" if self._registered else "while no registry is configured"
            return f"expected a record {known}, found the schema id {data[1:5].hex() or 'none'} in {len(data)} bytes"
        return f"expected a record that begins with C3 01, found {data[:10].hex(' ') or 'nothing'} in {len(data)} bytes"

    def _unreadable(self, data: bytes, start: int, found: str) -> UnreadableRecord:
        schema = self._heads[data[:start]]
        return UnreadableRecord(
            f"expected a whole record of {schema.name} v{schema.version} in {len(data)} bytes, found {found}"
        )

    def _unwritable(self, item: object) -> UnwritableRecord:
        name = self.type_name(item)
        found = fault(self._catalog.newest(name).definition, item, name, self._catalog.types)
        return UnwritableRecord(found or f"expected a {name} that its schema can hold, found {item!r}")


class AvroMapper(FactMapper[TAggregateID]):
    """The `eventsourcing` library's mapper made of this codec; `MAPPER_TOPIC=interlock.schemas.codec:AvroMapper`."""

    @property
    def codec(self) -> AvroCodec:
        """One for the process."""
        return _shared()


@cache
def _shared() -> AvroCodec:
    return AvroCodec()


def _unknown_type(cls: type) -> UnwritableRecord:
    return UnwritableRecord(
        f"expected a type with a row in schemas/catalog.py, found {cls.__module__}.{cls.__qualname__}"
    )
