"""Reads an incoming stimulus, from any client and in any state, and says where it belongs.

    {"type": "Event", "name": "order.placed", "data": {…}, "idempotencyKey": "…", "correlation": "…", "ttl": "PT1H",
     "deliver": "all", "shell": "default"}

`type` and `name` are required; `data` may be any JSON value and is `{}` where it is absent. What can't be read or is
not such an object becomes a `RejectStimulus`, never an exception, so the records behind it go on (STM-07).

What would surprise: an unknown field is refused, because a misspelt `idempotencyKey` would start work twice; so is an
empty key or correlation, which a client with an empty variable would share with all others. A sentence never shows
values of `data`; only the excerpt may.
"""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

from interlock.domain.durations import duration_ms
from interlock.domain.messages import Origin, RejectStimulus, RouteStimulus
from interlock.domain.refusal import Refusal
from interlock.domain.routing.dead_letter.letter import EXCERPT_CHARACTERS_MAX, dead_letter_id, excerpt
from interlock.domain.routing.json_text import JsonUnfit, JsonValue, canonical, parse
from interlock.domain.sharding import digest, identity_for_run, routing_key, stimulus_identity

STIMULUS_TYPES: Final = ("Event",)
"""What a stimulus may be."""
TTL_MS_MAX: Final = 366 * 86_400_000
"""A leap year: what is kept takes memory of its shard until then."""
NAME_CHARACTERS_MAX: Final = 256
KEY_CHARACTERS_MAX: Final = 1_024
"""Of an idempotency key or a correlation; longer ones are digests that were not taken."""
FIELDS: Final = ("type", "name", "data", "idempotencyKey", "correlation", "ttl", "deliver", "shell", "testRun")

Reason = Literal["unreadable", "unknown-type", "too-large", "invalid"]

_SHOWN_CHARACTERS_MAX = 40
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def read_stimulus(
    value: bytes, *, origin: Origin, arrived_at_ms: int, shell: str, bytes_max: int, request_id: str = ""
) -> RouteStimulus | RejectStimulus:
    """What a record or a request body asks for.

    `shell` is taken where the record names none; a caller that may act in one shell only compares the result's.
    `bytes_max` bounds the record and the canonical text of its data. `request_id` stands in for the place in a topic
    where `origin` has none: the same again for a repeated request. Raises `ValueError` where a stimulus would have no
    id at all, since then the caller is wrong and not the record.
    """
    if origin.channel != "kafka" and not request_id:
        raise ValueError(f"expected a request id for a stimulus that came by {origin.channel}, found none")
    try:
        return _read(value, origin, arrived_at_ms, shell, bytes_max, request_id)
    except _Unfit as unfit:
        reason, detail = unfit.reason, unfit.detail
    except JsonUnfit as unfit:
        reason, detail = "unreadable", str(unfit)
    return RejectStimulus(
        dead_letter_id=dead_letter_id(origin, request_id),
        shell=shell,
        reason=reason,
        detail=detail,
        # At most four bytes make a character.
        excerpt=excerpt(value[: 4 * EXCERPT_CHARACTERS_MAX].decode("utf-8", "replace")),
        size=len(value),
        rejected_at_ms=arrived_at_ms,
        origin=origin,
    )


def shard_key(message: RouteStimulus | RejectStimulus) -> str:
    """What decides the routing shard of what was read; a rejected one has its home by its own id."""
    if isinstance(message, RejectStimulus):
        return message.dead_letter_id
    return routing_key(message.shell, message.identity, message.correlation)


def stimulus_id(shell: str, identity: str, correlation: str, key: str) -> str:
    """The id of a stimulus with an idempotency key, which is unique within the triple (STM-04)."""
    return digest("stimulus", shell, identity, correlation, key)


class _Unfit(Exception):
    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason: Reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a record, each read once and with its own sentence."""

    of: dict[str, JsonValue]

    def text(self, name: str, characters_max: int) -> str:
        """A text that says something; "" where the field is absent or null."""
        value = self.of.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise _Unfit("invalid", f"Expected {name} as text, found {_kind(value)}; put it into quotes")
        if not value or value.isspace():
            raise _Unfit("invalid", f"Expected {name} to say something, found it blank; leave it out if there is none")
        if len(value) > characters_max:
            raise _Unfit("invalid", f"Expected {name} of at most {characters_max} characters, found {len(value)}")
        if value != value.strip() or _CONTROL.search(value):
            raise _Unfit(
                "invalid", f"Expected {name} without control characters and spaces around it, found {_shown(value)}"
            )
        return value

    def required(self, name: str, characters_max: int) -> str:
        """A text that has to be there."""
        value = self.text(name, characters_max)
        if not value:
            raise _Unfit("invalid", f'Expected a field "{name}", found none')
        return value


def _read(
    value: bytes, origin: Origin, arrived_at_ms: int, shell: str, bytes_max: int, request_id: str
) -> RouteStimulus:
    if len(value) > bytes_max:
        raise _Unfit("too-large", f"Expected a stimulus of at most {bytes_max} bytes, found {len(value)}")
    record = parse(value)
    if not isinstance(record, dict):
        raise _Unfit("invalid", f"Expected a JSON object, found {_kind(record)}")
    _check_names(record)
    fields = _Fields(record)
    type_ = fields.required("type", NAME_CHARACTERS_MAX)
    if type_ not in STIMULUS_TYPES:
        raise _Unfit("unknown-type", f"Expected a type of {', '.join(STIMULUS_TYPES)}, found {_shown(type_)}")
    name = fields.required("name", NAME_CHARACTERS_MAX)
    shell = fields.text("shell", NAME_CHARACTERS_MAX) or shell
    correlation = fields.text("correlation", KEY_CHARACTERS_MAX)
    key = fields.text("idempotencyKey", KEY_CHARACTERS_MAX)
    identity = stimulus_identity(type_, name)
    # Meant for one test run, it has an identity that nothing else listens to.
    if test_run := fields.text("testRun", KEY_CHARACTERS_MAX):
        identity = identity_for_run(test_run, identity)
    return RouteStimulus(
        stimulus_id=stimulus_id(shell, identity, correlation, key) if key else _id_of(origin, request_id),
        shell=shell,
        type=type_,
        name=name,
        identity=identity,
        correlation=correlation,
        idempotency_key=key,
        data=_data(record, bytes_max),
        ttl_ms=_ttl_ms(record.get("ttl")),
        deliver=_deliver(record.get("deliver")),
        arrived_at_ms=arrived_at_ms,
        origin=origin,
    )


def _check_names(record: dict[str, JsonValue]) -> None:
    for name in record:
        if name not in FIELDS:
            near = get_close_matches(name, FIELDS, n=1)
            hint = f'did you mean "{near[0]}"?' if near else 'what belongs to the event goes into "data"'
            raise _Unfit("invalid", f"Expected fields of {', '.join(FIELDS)}, found {_shown(name)}; {hint}")


def _id_of(origin: Origin, request_id: str) -> str:
    if origin.channel == "kafka":
        return digest("stimulus-at", origin.topic, str(origin.partition), str(origin.offset))
    return digest("stimulus-by", request_id)


def _data(record: dict[str, JsonValue], bytes_max: int) -> str:
    data = canonical(record.get("data", {}))
    # A number may be written out longer than it came (1e15), so this is not the size that was compared before.
    size = len(data) if data.isascii() else len(data.encode("utf-8"))
    if size > bytes_max:
        raise _Unfit("too-large", f"Expected data of at most {bytes_max} bytes in its canonical form, found {size}")
    return data


def _ttl_ms(value: JsonValue) -> int | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise _Unfit("invalid", f'Expected ttl as text such as "1h" or "PT1H", found {_kind(value)}')
    ttl_ms = duration_ms(value)
    if isinstance(ttl_ms, Refusal):
        raise _Unfit("invalid", f"In ttl: {ttl_ms.sentence}")
    if not 0 < ttl_ms <= TTL_MS_MAX:
        raise _Unfit("invalid", f"Expected a ttl between 1ms and 366d, found {_shown(value)}")
    return ttl_ms


def _deliver(value: JsonValue) -> Literal["all", "one"]:
    if value is None or value == "all":
        return "all"
    if value == "one":
        return "one"
    found = _shown(value) if isinstance(value, str) else _kind(value)
    raise _Unfit("invalid", f'Expected deliver to be "all" or "one", found {found}')


def _kind(value: JsonValue) -> str:
    """What a value is, in JSON's words and without the value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "an array"
        case dict():
            return "an object"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARACTERS_MAX else f"{text[:_SHOWN_CHARACTERS_MAX]}…")
