"""What is written is read as what it was, whoever reads it; what is no record is refused with a reason."""

import io
from typing import Any, cast

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.domain.executions.execution.events import (
    ActivityCompleted,
    CheckpointsCoalesced,
    ExecutionCancelled,
    TimerSet,
)
from interlock.domain.messages import Origin, RejectStimulus, StartExecution
from interlock.domain.progress import Progress
from interlock.schemas.catalog import Row, catalog
from interlock.schemas.codec import AvroCodec
from interlock.schemas.errors import InvalidSchema, UnreadableRecord, UnwritableRecord
from tests.schemas.golden import sample
from tests.schemas.strategies import objects

CODEC = AvroCodec()
ROWS = list(catalog().rows.values())
FULL = [sample(row.type, row.name, True) for row in ROWS]
REGISTERED = AvroCodec(registry_ids={(row.name, 1): number for number, row in enumerate(ROWS, 70_000)})
TIMER = TimerSet(node_id="pause", due_at_ms=1_780_000_000_123, at_ms=1_780_000_000_000)

A_FEW_OF_EACH_TYPE = settings(max_examples=20, deadline=None)
"""There are some fifty types, and the generated code of one has no more than a dozen branches."""

every_type = pytest.mark.parametrize("row", ROWS, ids=lambda row: cast(Row, row).name)
some_object = st.sampled_from(ROWS).flatmap(lambda row: objects(row.type))


def name_of(item: object) -> str:
    return CODEC.type_name(item)


# ---- what is written is read ------------------------------------------------------------------------------------


@every_type
@A_FEW_OF_EACH_TYPE
@given(data=st.data())
def test_an_object_is_read_as_what_was_written(row: Row, data: st.DataObject) -> None:
    """Proves: LOG-03"""
    item = data.draw(objects(row.type))
    found = CODEC.decode(CODEC.encode(item))
    assert found == item
    assert type(found) is type(item)
    assert hash(found) == hash(item)


@pytest.mark.parametrize("item", FULL, ids=name_of)
def test_what_is_read_says_what_was_written_and_has_room_for_nothing_else(item: object) -> None:
    found = CODEC.decode(CODEC.encode(item))
    assert repr(found) == repr(item)
    assert not hasattr(found, "__dict__")


@every_type
@A_FEW_OF_EACH_TYPE
@given(data=st.data())
def test_fastavro_reads_what_is_written_and_writes_the_same_bytes(row: Row, data: st.DataObject) -> None:
    """Proves: LOG-03"""
    item = data.draw(objects(row.type))
    schema = catalog().newest(row.name)
    record = CODEC.encode(item)
    assert record[:10] == b"\xc3\x01" + schema.fingerprint
    stream = io.BytesIO(record[10:])
    read = cast(Any, fastavro).schemaless_reader(stream, schema.definition, None, return_record_name=True)
    assert stream.read() == b""
    assert read == plain(item, schema.definition)
    written = io.BytesIO()
    cast(Any, fastavro).schemaless_writer(written, schema.definition, read)
    assert written.getvalue() == record[10:]


def plain(item: Any, schema: Any, union: bool = False) -> Any:
    """What fastavro gives for an object."""
    if isinstance(item, tuple):
        if isinstance(schema, dict) and schema["type"] == "map":
            return dict(cast("tuple[tuple[str, Any], ...]", item))
        inner = cast(Any, schema)["items"]
        return [plain(one, inner, isinstance(inner, list)) for one in cast(Any, item)]
    if not hasattr(item, "__dataclass_fields__"):
        return item
    types = {cls: name for name, cls in catalog().types.items()}
    if isinstance(schema, list):
        # An optional record: its branch of the union.
        short = types[type(item)].rpartition(".")[2]
        branch = next(each for each in cast(Any, schema) if each != "null" and each["name"] == short)
        return types[type(item)], plain(item, branch)
    definition = catalog().newest(CODEC.type_name(item)).definition if union else schema
    fields = {field["name"]: plain(getattr(item, field["name"]), field["type"]) for field in definition["fields"]}
    return (types[type(item)], fields) if union else fields


@settings(deadline=None)
@given(item=some_object)
def test_the_framing_of_a_registry_is_written_where_it_is_on_and_both_are_read(item: object) -> None:
    """Proves: LOG-03"""
    framed = REGISTERED.encode(item)
    assert framed[:2] == b"\x00\x00"
    assert framed[5:] == CODEC.encode(item)[10:]
    assert REGISTERED.decode(framed) == item
    assert REGISTERED.decode(CODEC.encode(item)) == item


@every_type
def test_a_type_has_its_stored_name_by_class_and_by_object(row: Row) -> None:
    assert CODEC.type_name(row.type) == row.name
    assert CODEC.type_name(sample(row.type, row.name, False)) == row.name


def test_the_stored_names_are_not_taken_from_the_classes_but_agree_with_them() -> None:
    assert CODEC.type_name(TimerSet) == "executions.TimerSet"
    assert CODEC.type_name(StartExecution) == "messages.StartExecution"
    assert {row.name.partition(".")[2] for row in ROWS} == {row.type.__name__ for row in ROWS}


# ---- what is no record ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("item", FULL, ids=name_of)
def test_a_record_that_is_cut_anywhere_is_unreadable(item: object) -> None:
    for record in (CODEC.encode(item), REGISTERED.encode(item)):
        for size in range(len(record)):
            with pytest.raises(UnreadableRecord):
                REGISTERED.decode(record[:size])


@pytest.mark.parametrize("item", FULL, ids=name_of)
def test_a_record_with_something_behind_it_is_unreadable(item: object) -> None:
    with pytest.raises(
        UnreadableRecord, match=r"expected a whole record of .* v1 in \d+ bytes, found one that would end"
    ):
        CODEC.decode(CODEC.encode(item) + b"\0")


@settings(max_examples=300, deadline=None)
@given(item=some_object, place=st.integers(0, 10_000), byte=st.integers(0, 255), raw=st.binary(max_size=40))
def test_damaged_bytes_are_read_as_some_object_or_refused_by_one_error(
    item: object, place: int, byte: int, raw: bytes
) -> None:
    record = bytearray(CODEC.encode(item))
    record[place % len(record)] = byte
    for damaged in (bytes(record), bytes(record[:10]) + raw, raw):
        try:
            found = CODEC.decode(damaged)
        except UnreadableRecord:
            continue
        # What was read is whole: it can be written again.
        assert CODEC.decode(CODEC.encode(found)) == found


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected a record that begins with C3 01, found nothing in 0 bytes"),
        (b'{"type": "Event"}', "expected a record that begins with C3 01, found 7b 22 74 79 70 65 22 3a 20 22 in 17"),
        (b"\xc3\x01" + b"\x11" * 9, "know the schema with fingerprint 1111111111111111 of a record of 11 bytes"),
        (b"\xc3\x01", "know the schema with fingerprint none of a record of 2 bytes"),
        (b"\x00\x00\x00\x00\x07", "expected a record while no registry is configured, found the schema id 00000007"),
    ],
)
def test_an_unreadable_record_says_what_was_found(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableRecord, match=message):
        CODEC.decode(data)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param(b"\x01\x00\x00", "a length of -1", id="a negative length"),
        pytest.param(b"\xff" * 11, "a number of more than ten bytes", id="a number without end"),
        pytest.param(b"\xff" * 9 + b"\x7f", "a number of more than 64 bits", id="a number too large"),
        pytest.param(b"\x02\xff\x00\x00", "'utf-8' codec can't decode byte 0xff", id="text that is no UTF-8"),
        pytest.param(b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x00\x00", "", id="text longer than memory"),
    ],
)
def test_a_damaged_body_is_named(body: bytes, found: str) -> None:
    with pytest.raises(UnreadableRecord, match=f"expected a whole record of executions.TimerSet v1 in .*{found}"):
        CODEC.decode(CODEC.encode(TIMER)[:10] + body)


def test_a_list_in_blocks_with_their_sizes_is_read_as_other_writers_may_write_it() -> None:
    head = CODEC.encode(Progress(inbox=0, received=(), delivered=(), answered=(), publishing=0))[:10]
    blocks = b"\x03\x08\x02a\x02b" + b"\x02\x02c" + b"\x00"  # two in a block of 4 bytes, then one without a size
    expected = Progress(inbox=1, received=(), delivered=(), answered=("a", "b", "c"), publishing=2)
    assert CODEC.decode(head + b"\x02\x00\x00" + blocks + b"\x04") == expected
    with pytest.raises(UnreadableRecord, match="an end of a list that takes several bytes"):
        CODEC.decode(head + b"\x02\x00\x00" + blocks[:-1] + b"\x80\x00" + b"\x04")


# ---- what can't be written --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            ActivityCompleted(node_id="n", attempt=1, output="ab\ud800c", at_ms=0),
            r"UTF-8 can hold at executions.ActivityCompleted.output, found a lone surrogate at character 2: '\\ud800c'",
        ),
        (
            ActivityCompleted(node_id="n", attempt=1 << 63, output="", at_ms=0),
            "expected an integer of 64 bits at executions.ActivityCompleted.attempt, found one of 64 bits",
        ),
        (
            ActivityCompleted(node_id="n", attempt=-(1 << 63) - 1, output="", at_ms=0),
            "expected an integer of 64 bits at executions.ActivityCompleted.attempt, found one of 64 bits",
        ),
        (
            ActivityCompleted(node_id=cast(str, None), attempt=1, output="", at_ms=0),
            "expected a string at executions.ActivityCompleted.node_id, found None",
        ),
        (
            ActivityCompleted(node_id="n", attempt=cast(int, 1.5), output="", at_ms=0),
            "expected a long at executions.ActivityCompleted.attempt, found 1.5",
        ),
        (
            CheckpointsCoalesced(steps=(ExecutionCancelled(at_ms=1), ExecutionCancelled(at_ms=1 << 64))),
            r"expected an integer of 64 bits at executions.CheckpointsCoalesced.steps\[1\].at_ms, found one of 65",
        ),
        (
            CheckpointsCoalesced(steps=cast(Any, (Origin(channel="test"),))),
            r"expected one of ExecutionStarted, .* at executions.CheckpointsCoalesced.steps\[0\], found Origin",
        ),
        (
            CheckpointsCoalesced(steps=cast(Any, [])),
            r"expected a tuple at executions.CheckpointsCoalesced.steps, found \[\]",
        ),
        (
            Progress(inbox=1, received=(("\udfff", 1),), delivered=(), answered=(), publishing=0),
            r"at messages.Progress.received\[0\]\[0\], found a lone surrogate at character 0",
        ),
        (
            RejectStimulus(
                dead_letter_id="", shell="", reason="invalid", detail="", excerpt="", size=0, rejected_at_ms=0,
                origin=Origin(channel="test", offset=1 << 63),
            ),
            "expected an integer of 64 bits at messages.RejectStimulus.origin.offset, found one of 64 bits",
        ),
    ],
)  # fmt: skip
def test_what_has_no_place_in_the_schema_is_refused_with_its_field(item: object, message: str) -> None:
    with pytest.raises(UnwritableRecord, match=message):
        CODEC.encode(item)


@pytest.mark.parametrize("item", [object(), Origin(channel="test"), None, "text"])
def test_what_is_no_stored_type_is_refused(item: object) -> None:
    with pytest.raises(UnwritableRecord, match="expected a type with a row in schemas/catalog"):
        CODEC.encode(item)
    with pytest.raises(UnwritableRecord, match="expected a type with a row in schemas/catalog"):
        CODEC.type_name(item)


def test_a_registry_that_does_not_know_every_schema_is_refused() -> None:
    ids = {(row.name, 1): number for number, row in enumerate(ROWS)}
    del ids["executions.TimerSet", 1]
    with pytest.raises(InvalidSchema, match="expected a registry id for every schema, found none for executions"):
        AvroCodec(registry_ids=ids)
    with pytest.raises(InvalidSchema, match=r"found 2 for both .* and executions\.TimerSet v1"):
        AvroCodec(registry_ids=ids | {("executions.TimerSet", 1): 2})
