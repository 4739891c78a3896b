"""Older records are read as the newest version: by Avro's rules where they suffice, else by a function."""

from pathlib import Path
from typing import Any

import pytest

from interlock.schemas.avro import fingerprint, write_record
from interlock.schemas.catalog import Catalog
from interlock.schemas.codec import AvroCodec
from interlock.schemas.errors import UnreadableRecord
from tests.schemas import shop


@pytest.fixture
def stored(tmp_path: Path) -> Catalog:
    return Catalog(shop.ROWS, shop.NESTED, shop.write_schemas(tmp_path))


def written(schema: dict[str, Any], fields: dict[str, object]) -> bytes:
    """A record as an older release wrote it."""
    return b"\xc3\x01" + fingerprint(schema) + write_record(fields, schema)


OLDEST = written(shop.SOLD_1, {"item": "tea", "prices": [{"cents": 250}], "quantity": "3"})
OLDER = written(
    shop.SOLD_2, {"item": "tea", "prices": [{"cents": 9, "currency": "CHF"}], "buyer": "Ada", "quantity": "4"}
)
TEA = shop.Sold(item="tea", prices=(shop.Price(cents=250),), buyer=None, quantity=3)


def test_a_record_goes_through_every_version_between_its_own_and_the_newest(stored: Catalog) -> None:
    """Proves: LOG-04"""
    codec = AvroCodec(stored=stored, upcasters=shop.UPCASTERS)
    assert codec.decode(OLDEST) == TEA
    expected = shop.Sold(item="tea", prices=(shop.Price(cents=9, currency="CHF"),), buyer="Ada", quantity=4)
    assert codec.decode(OLDER) == expected


def test_what_was_lifted_is_written_as_the_newest_version(stored: Catalog) -> None:
    codec = AvroCodec(stored=stored, upcasters=shop.UPCASTERS)
    record = codec.encode(codec.decode(OLDEST))
    assert record[2:10] == fingerprint(shop.SOLD_3)
    assert codec.decode(record) == TEA


def test_an_older_record_in_the_framing_of_a_registry_is_lifted_too(stored: Catalog) -> None:
    """Proves: LOG-04"""
    ids = {("shop.Sold", 1): 1, ("shop.Sold", 2): 2, ("shop.Sold", 3): 3, ("shop.Closed", 1): 4, ("shop.Day", 1): 5}
    codec = AvroCodec(stored=stored, upcasters=shop.UPCASTERS, registry_ids=ids)
    assert codec.decode(b"\x00\x00\x00\x00\x01" + OLDEST[10:]) == TEA
    assert codec.encode(TEA)[:5] == b"\x00\x00\x00\x00\x03"


def test_records_within_a_union_are_told_apart(stored: Catalog) -> None:
    codec = AvroCodec(stored=stored, upcasters=shop.UPCASTERS)
    day = shop.Day(facts=(TEA, shop.Closed(at_ms=5), TEA))
    assert codec.decode(codec.encode(day)) == day


def test_an_older_record_that_is_cut_or_has_something_behind_it_is_unreadable(stored: Catalog) -> None:
    codec = AvroCodec(stored=stored, upcasters=shop.UPCASTERS)
    for damaged in [OLDEST[:size] for size in range(10, len(OLDEST))] + [OLDEST + b"\0"]:
        with pytest.raises(UnreadableRecord, match=r"expected shop\.Sold v1 to be readable as v2, found "):
            codec.decode(damaged)


def test_a_step_that_fails_is_named(stored: Catalog) -> None:
    codec = AvroCodec(stored=stored, upcasters=shop.UPCASTERS)
    with pytest.raises(UnreadableRecord, match=r"expected shop\.Sold v2 to be readable as v3, found ValueError"):
        codec.decode(written(shop.SOLD_1, {"item": "tea", "prices": [], "quantity": "some"}))


def test_a_step_that_gives_what_the_next_version_cannot_hold_is_named(stored: Catalog) -> None:
    codec = AvroCodec(stored=stored, upcasters={("shop.Sold", 2): lambda sold: sold | {"quantity": None}})
    with pytest.raises(UnreadableRecord, match=r"expected shop\.Sold v2 to be readable as v3, found "):
        codec.decode(OLDER)
