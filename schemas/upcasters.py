"""How records of older versions become ones of the newest: the only place where anything is upcast.

A step leads from one version to the next. Where Avro's own rules can read version n as version n + 1 (a field more
that has a default, a field less), nothing is written here. Else a function is: it takes the record of version n as a
dictionary and gives that of version n + 1. Steps are chained, so a function is written once and never touched again.

In such dictionaries a record that is the branch of a union of records is a pair of its full name and itself.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from interlock.schemas.avro import read_record, write_record
from interlock.schemas.catalog import Schema
from interlock.schemas.errors import UnreadableRecord

Record = dict[str, object]
Upcaster = Callable[[Record], Record]

UPCASTERS: Mapping[tuple[str, int], Upcaster] = {}
"""(Stored name, version n) → what makes a record of version n + 1 of it. Pure, and never removed."""


def lift(body: bytes, versions: Sequence[Schema], upcasters: Mapping[tuple[str, int], Upcaster]) -> bytes:
    """The bytes of a record of `versions[0]` as one of `versions[-1]`, the newest; between them are the ones between.

    Raises `UnreadableRecord` where the bytes are damaged, or a step gives what the next version can't hold.
    """
    for older, newer in pairwise(versions):
        upcaster = upcasters.get((older.name, older.version))
        try:
            if upcaster is None:
                record = read_record(body, older.definition, newer.definition)
            else:
                record = upcaster(read_record(body, older.definition))
            body = write_record(record, newer.definition)
        except Exception as error:  # fastavro and an upcaster may raise anything; all of it means the same here
            raise UnreadableRecord(
                f"expected {older.name} v{older.version} to be readable as v{newer.version}, found {error!r}"
                f" for {body[:40].hex(' ')}"
            ) from error
    return body
