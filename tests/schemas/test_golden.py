"""Records of every version that was ever written are read for ever."""

import pytest

from interlock.schemas.catalog import Schema, catalog
from interlock.schemas.codec import AvroCodec
from tests.schemas.golden import FOLDER, golden_path, read_golden

SCHEMAS = [schema for name in catalog().rows for schema in catalog().versions(name)]
CODEC = AvroCodec()


def named(schema: Schema) -> str:
    return f"{schema.name}.v{schema.version}"


def test_every_version_of_every_type_has_its_records_and_no_record_is_without_a_type() -> None:
    """Proves: LOG-04"""
    assert {path.name for path in FOLDER.iterdir()} == {golden_path(schema).name for schema in SCHEMAS}


@pytest.mark.parametrize("schema", SCHEMAS, ids=named)
def test_a_record_is_read_as_the_object_that_it_was(schema: Schema) -> None:
    """Proves: LOG-04"""
    records = read_golden(golden_path(schema))
    assert len(records) == 2
    for data, text in records:
        assert data[2:10] == schema.fingerprint
        assert repr(CODEC.decode(data)) == text


@pytest.mark.parametrize("schema", [catalog().newest(name) for name in catalog().rows], ids=named)
def test_the_newest_version_is_still_written_as_it_was(schema: Schema) -> None:
    for data, _ in read_golden(golden_path(schema)):
        assert CODEC.encode(CODEC.decode(data)) == data
