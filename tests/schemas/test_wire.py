"""Numbers and texts in Avro's binary encoding, at the places where their length changes."""

import io
from typing import Any, cast

import fastavro
import pytest
from hypothesis import given

from interlock.schemas import wire
from tests.schemas.strategies import longs, texts

EDGES = sorted({sign * ((1 << bits) + more) for bits in range(63) for more in (-1, 0, 1) for sign in (1, -1)})


def by_fastavro(schema: str, value: object) -> bytes:
    out = io.BytesIO()
    cast(Any, fastavro).schemaless_writer(out, schema, value)
    return out.getvalue()


@pytest.mark.parametrize("number", [*EDGES, (1 << 63) - 1, -(1 << 63)])
def test_a_number_at_an_edge_is_written_as_fastavro_does_and_read_back(number: int) -> None:
    written = wire.write_long(number)
    assert written == by_fastavro("long", number)
    assert wire.read_long(b"\xff" + written + b"\xff\x00", 1) == (number, 1 + len(written))
    assert wire.read_long(written, 0) == (number, len(written))


@given(number=longs)
def test_a_number_is_written_as_fastavro_does_and_read_back(number: int) -> None:
    written = wire.write_long(number)
    assert written == by_fastavro("long", number)
    assert wire.read_long(written + b"\x80", 0) == (number, len(written))


@given(text=texts)
def test_a_text_is_written_as_fastavro_does_and_read_back(text: str) -> None:
    written = wire.write_text(text)
    assert written == by_fastavro("string", text)
    assert wire.read_text(written + b"\x80", 0) == (text, len(written))


@pytest.mark.parametrize("number", [1 << 63, -(1 << 63) - 1, 1 << 200])
def test_a_number_beyond_64_bits_is_refused(number: int) -> None:
    with pytest.raises(OverflowError, match="expected an integer of 64 bits, found"):
        wire.write_long(number)


@pytest.mark.parametrize("size", range(1, 10))
def test_a_number_that_is_cut_is_refused(size: int) -> None:
    with pytest.raises(IndexError):
        wire.read_long(b"\x80" * size, 0)


@pytest.mark.parametrize("value", [2, "yes", None])
def test_a_truth_value_is_true_or_false(value: object) -> None:
    with pytest.raises(KeyError):
        wire.write_boolean(cast(bool, value))
    with pytest.raises(IndexError):
        wire.read_boolean(b"\x02", 0)
