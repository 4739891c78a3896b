"""Whatever a client writes is read, or becomes a dead letter that says why."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.domain.messages import Origin, RejectStimulus, RouteStimulus
from interlock.domain.routing.dead_letter.letter import EXCERPT_CHARACTERS_MAX
from interlock.domain.routing.intake import read_stimulus, shard_key
from interlock.domain.routing.json_text import DEPTH_MAX
from interlock.domain.sharding import digest, routing_key, stimulus_identity

pytestmark = pytest.mark.domain

ORIGIN = Origin(channel="kafka", topic="interlock.stimuli@t", partition=1, offset=42)
BYTES_MAX = 10_000


def read(value: bytes, origin: Origin = ORIGIN, request_id: str = "") -> RouteStimulus | RejectStimulus:
    return read_stimulus(
        value, origin=origin, arrived_at_ms=1_000, shell="default", bytes_max=BYTES_MAX, request_id=request_id
    )


def routed(value: bytes) -> RouteStimulus:
    message = read(value)
    assert isinstance(message, RouteStimulus), message
    return message


def rejected(value: bytes) -> RejectStimulus:
    message = read(value)
    assert isinstance(message, RejectStimulus), message
    return message


def event(**fields: object) -> bytes:
    return json.dumps({"type": "Event", "name": "order.placed", **fields}).encode()


def with_data(text: bytes) -> bytes:
    return b'{"type": "Event", "name": "order.placed", "data": ' + text + b"}"


def test_a_full_stimulus_is_read_as_its_author_meant_it() -> None:
    """Proves: STM-01"""
    message = routed(
        event(
            data={"b": [1, 1.5, None], "a": "é"},
            idempotencyKey="k",
            correlation="o-1",
            ttl="PT1H",
            deliver="one",
            shell="tenant",
        )
    )
    identity = stimulus_identity("Event", "order.placed")
    assert message == RouteStimulus(
        stimulus_id=digest("stimulus", "tenant", identity, "o-1", "k"),
        shell="tenant",
        type="Event",
        name="order.placed",
        identity=identity,
        correlation="o-1",
        idempotency_key="k",
        data='{"a":"é","b":[1,1.5,null]}',
        ttl_ms=3_600_000,
        deliver="one",
        arrived_at_ms=1_000,
        origin=ORIGIN,
    )
    assert shard_key(message) == routing_key("tenant", identity, "o-1")


def test_only_type_and_name_are_required() -> None:
    message = routed(event())
    assert (message.shell, message.correlation, message.idempotency_key) == ("default", "", "")
    assert (message.data, message.ttl_ms, message.deliver) == ("{}", None, "all")
    assert routed(event(idempotencyKey=None, correlation=None, ttl=None, deliver=None, shell=None)) == message


def test_without_a_key_the_place_in_the_log_is_the_identity() -> None:
    """Proves: STM-04"""
    elsewhere = Origin(channel="kafka", topic=ORIGIN.topic, partition=1, offset=43)
    first, again, other = read(event()), read(event()), read(event(), elsewhere)
    assert isinstance(first, RouteStimulus)
    assert isinstance(other, RouteStimulus)
    assert first == again
    assert first.stimulus_id != other.stimulus_id


def test_a_request_is_identified_by_its_id() -> None:
    http = Origin(channel="http")
    first, again, other = (read(event(), http, request) for request in ("r1", "r1", "r2"))
    assert isinstance(first, RouteStimulus)
    assert isinstance(other, RouteStimulus)
    assert first == again
    assert first.stimulus_id != other.stimulus_id
    assert read(b"", http, "r1") == read(b"", http, "r1") != read(b"", http, "r2")
    with pytest.raises(ValueError, match="expected a request id"):
        read(event(), http)


def test_equal_content_is_equal_text() -> None:
    one = routed(with_data(b'{"x": 1, "y": {"b": "\\u00e9\\ud83d\\ude00", "a": [ ]}}'))
    other = routed(with_data('{"y":{"a":[],"b":"é😀"},"x":1}'.encode()))
    assert one.data == other.data == '{"x":1,"y":{"a":[],"b":"é😀"}}'


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (b"", "an empty value"),
        (b" \n", "an empty value"),
        (b"\xef\xbb\xbf{}", "a byte order mark"),
        (b"\xff\xfe{\x00", "UTF-16"),
        (b"\x80\x81", "other bytes at 0"),
        (b'{"type": "Event", \x00', "a NUL byte at character 18"),
        (b"order.placed", "at line 1 column 1"),
        (b'{"type": "Event"', "at line 1 column 17"),
        (event() + b"{}", "Extra data"),
        (b'{"type": "Event", "type": "Event", "name": "x"}', "'type' twice"),
        (with_data(b'{"a": 1, "b": 2, "a": 1}'), "'a' twice"),
        (with_data(b"NaN"), "found NaN"),
        (with_data(b"-Infinity"), "found -Infinity"),
        (with_data(b"1e999"), "one that is too large"),
        (with_data(b"18446744073709551616"), "of 20 characters"),
        (with_data(b"-9223372036854775809"), "of 20 characters"),
        (with_data(b"9" * 9_000), "of 9000 characters"),
        (with_data(b'"\\ud800"'), "half a surrogate pair"),
        (with_data(b'{"\\udc00": 1}'), "half a surrogate pair"),
        (event(name="\ud800"), "half a surrogate pair"),
        (with_data(b"[" * DEPTH_MAX + b"]" * DEPTH_MAX), "more"),
        (b"[" * BYTES_MAX, "more"),
        (b'{"a":' * (BYTES_MAX // 5), "more"),
    ],
)
def test_what_is_not_json_as_it_is_taken_is_unreadable(value: bytes, found: str) -> None:
    """Proves: STM-07"""
    message = rejected(value)
    assert message.reason == "unreadable"
    assert message.detail.startswith("Expected ")
    assert found in message.detail
    assert (message.size, message.origin, message.shell) == (len(value), ORIGIN, "default")


@pytest.mark.parametrize(
    "data",
    [b"18446744073709551615", b"-9223372036854775808", b"[" * (DEPTH_MAX - 1) + b"]" * (DEPTH_MAX - 1), b'"\\u0000"'],
)
def test_what_is_just_within_the_limits_is_taken(data: bytes) -> None:
    assert routed(with_data(data)).data == data.decode()


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (b"[]", "an array"),
        (b"null", "null"),
        (b"{}", 'Expected a field "type", found none'),
        (b'{"type": "Event"}', 'Expected a field "name", found none'),
        (event(type=5), "Expected type as text, found a number"),
        (event(name=["x"]), "Expected name as text, found an array"),
        (event(name=""), "found it blank"),
        (event(name=" x"), "spaces around it"),
        (event(name="a\nb"), "control characters"),
        (event(name="\x00"), "control characters"),
        (event(name="x" * 257), "at most 256 characters, found 257"),
        (event(idempotencykey="k"), 'did you mean "idempotencyKey"?'),
        (event(order=5), 'what belongs to the event goes into "data"'),
        (event(idempotencyKey=""), "leave it out"),
        (event(idempotencyKey=7), "put it into quotes"),
        (event(correlation=""), "leave it out"),
        (event(correlation=True), "true or false"),
        (event(ttl=5), 'Expected ttl as text such as "1h" or "PT1H", found a number'),
        (event(ttl="soon"), "Expected a duration such as"),
        (event(ttl="0s"), "between 1ms and 366d"),
        (event(ttl="367d"), "between 1ms and 366d"),
        (event(deliver="some"), 'Expected deliver to be "all" or "one", found \'some\''),
        (event(deliver={}), "found an object"),
        (event(shell=" "), "Expected shell to say something"),
    ],
)
def test_what_is_json_but_no_stimulus_is_invalid(value: bytes, found: str) -> None:
    """Proves: STM-07"""
    message = rejected(value)
    assert message.reason == "invalid"
    assert found in message.detail


def test_a_type_that_nobody_knows_is_named() -> None:
    """Proves: STM-07"""
    message = rejected(event(type="event"))
    assert (message.reason, message.detail) == ("unknown-type", "Expected a type of Event, found 'event'")


def test_the_limit_of_bytes_holds_for_the_record_and_for_its_canonical_data() -> None:
    """Proves: STM-07"""
    room = BYTES_MAX - len(with_data(b'""'))
    assert routed(with_data(b'"' + b"x" * room + b'"')).data == json.dumps("x" * room)
    assert rejected(with_data(b'"' + b"x" * (room + 1) + b'"')).reason == "too-large"
    grows = rejected(with_data(b"[" + b"1e15," * 1_000 + b"1]"))
    assert grows.reason == "too-large"
    assert "canonical form, found 19003" in grows.detail


def test_a_dead_letter_shows_a_bounded_and_printable_excerpt() -> None:
    """Proves: STM-07"""
    value = b"\x1b[31m\x00\x80" + "ü".encode() * 2 * EXCERPT_CHARACTERS_MAX
    message = rejected(value)
    assert len(message.excerpt) == EXCERPT_CHARACTERS_MAX
    assert message.excerpt.startswith("\ufffd[31m\ufffd\ufffdüü")
    assert message.size == len(value)


def test_a_dead_letter_is_the_same_for_the_same_record() -> None:
    assert rejected(b"x") == rejected(b"x")
    assert shard_key(rejected(b"x")) == rejected(b"x").dead_letter_id


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace")))
def test_no_bytes_raise(value: bytes) -> None:
    """Proves: STM-07"""
    message = read(value)
    assert isinstance(message, RejectStimulus)
    message.excerpt.encode("utf-8")
    message.detail.encode("utf-8")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    # A surrogate half can't be written as UTF-8, and has a test of its own.
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values)
def test_data_keeps_its_value_and_canonical_text_is_stable(data: object) -> None:
    message = routed(event(data=data))
    assert json.loads(message.data) == data
    assert routed(with_data(message.data.encode())).data == message.data


mixed = st.dictionaries(
    st.sampled_from(["type", "name", "data", "idempotencyKey", "correlation", "ttl", "deliver", "shell", "x"]),
    st.sampled_from(["Event", "all", "one", "1h", "", "PT5M", "\ud800", "x" * 2_000, "\x00"]) | json_values,
)


@given(mixed)
def test_any_object_is_routed_or_rejected_with_a_sentence(record: dict[str, object]) -> None:
    """Proves: STM-07"""
    message = read(json.dumps(record).encode())
    if isinstance(message, RejectStimulus):
        assert message.detail.startswith(("Expected ", "In ttl: Expected "))
    else:
        assert message.type == record["type"] == "Event"
        assert message.name == record["name"]
