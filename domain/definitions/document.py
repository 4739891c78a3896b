"""The document of a definition: what an author writes (or `Workflow.document` gives) and a publish carries, as JSON.

It is read strictly: an unknown field, a number for a text or a key that stands twice is an error, since what is
silently dropped here would be missing in a run months later. Every bound stands here. `parse` gives a `Refusal` whose
sentence names the path of the first thing that is wrong.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from interlock.domain.definitions.names import definition_fault, name_fault, node_id_fault, slot_fault, source_fault
from interlock.domain.definitions.templates import METHODS
from interlock.domain.definitions.wording import expected_kind, found_value
from interlock.domain.durations import duration_ms
from interlock.domain.refusal import FAULTS_MAX, TOLD_WHERE, Fault, Refusal, fault, of_fault

DOCUMENT_BYTES_MAX: Final = 256 * 1024
"""UTF-8. An executable is one record of the journal, and a record fits an append."""
DOCUMENT_DEPTH_MAX: Final = 60
"""Of lists and objects within each other; schemas are walked recursively."""
STEPS_MAX: Final = 1_000
TRIGGERS_MAX: Final = 100
"""Each is a row of the trigger index and a claim of the ledger, all in the one append of an activation."""
INPUTS_MAX: Final = 100

JsonSchema = dict[str, object]


def _name(text: str) -> str:
    if fault := name_fault(text):
        raise ValueError(fault)
    return text


def _node_id(text: str) -> str:
    if fault := node_id_fault(text):
        raise ValueError(fault)
    return text


def _definition(text: str) -> str:
    if fault := definition_fault(text):
        raise ValueError(fault)
    return text


def _slot(text: str) -> str:
    if fault := slot_fault(text):
        raise ValueError(fault)
    return text


def _source(text: str) -> str:
    if fault := source_fault(text):
        raise ValueError(fault)
    return text


def _duration(text: object) -> int:
    if not (milliseconds := _interval(text)):
        raise ValueError(f"expected a duration of 1ms or more, found {text!r}")
    return milliseconds


def _interval(text: object) -> int:
    """As a duration; how short it may be is the schedule's to say."""
    if not isinstance(text, str):
        raise ValueError(f"expected a duration as text, such as 90s, found {found_value(text)}")  # noqa: TRY004 - pydantic takes no TypeError
    match duration_ms(text):
        case Refusal(sentence=sentence):
            raise ValueError(sentence)
        case milliseconds:
            return milliseconds


def _texts(given: object) -> object:
    """One text, or a list of them, as a tuple."""
    return (
        (given,) if isinstance(given, str) else tuple(cast("list[object]", given)) if isinstance(given, list) else given
    )


Name = Annotated[str, AfterValidator(_name)]
DefinitionName = Annotated[str, AfterValidator(_definition)]
SlotName = Annotated[str, AfterValidator(_slot)]
NodeId = Annotated[str, AfterValidator(_node_id)]
Source = Annotated[str, AfterValidator(_source)]
Duration = Annotated[int, BeforeValidator(_duration)]
"""Milliseconds, from a text such as "2d"."""
Interval = Annotated[int, BeforeValidator(_interval)]
"""The same, of which a schedule says how short it may be."""


class Part(BaseModel):
    """A part of a document: strict, frozen, without unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class TriggerBase(Part):
    """What every node has that starts work."""

    id: Name | None = None
    """Its node id; what it claims (first) if none is given. Needed where two triggers claim the same."""


class EventTrigger(TriggerBase):
    """Starts a run for each event of a name."""

    type: Literal["event"]
    name: Name


class HttpTrigger(TriggerBase):
    """Starts a run for each request to a path."""

    type: Literal["http"]
    method: Annotated[tuple[str, ...], BeforeValidator(_texts), Field(min_length=1, max_length=len(METHODS))]
    """One, or a list of them."""
    path: str
    """A template; see `templates`."""


class TimerTrigger(TriggerBase):
    """Starts a run every so often."""

    type: Literal["timer"]
    every: Interval


class CronTrigger(TriggerBase):
    """Starts a run whenever the wall clock of a zone shows certain times."""

    type: Literal["cron"]
    expression: str
    zone: str = "UTC"
    gap: Literal["shift", "skip"] = "shift"
    """What becomes of a time that the clock jumps over."""
    overlap: Literal["first", "last", "both"] = "first"
    """Which one counts of a time that comes twice."""


class CustomTrigger(TriggerBase):
    """A trigger of a type that an extension describes."""

    type: Name
    """Which provider describes it, such as "acme.mqtt"."""
    name: Name | None = None
    config: dict[str, object] = {}
    """What its provider needs to know of it."""


TriggerPart = EventTrigger | HttpTrigger | TimerTrigger | CronTrigger | CustomTrigger
"""A node that starts work."""
_OWN_TRIGGERS: Final = ("event", "http", "timer", "cron")


def _trigger_kind(trigger: object) -> str | None:
    """The tag of a trigger, by its type."""
    if not isinstance(trigger, dict):
        return None
    kind = cast("dict[str, object]", trigger).get("type")
    return f"<{kind}>" if kind in _OWN_TRIGGERS else "<custom>"


TaggedTrigger = Annotated[
    Annotated[EventTrigger, Tag("<event>")]
    | Annotated[HttpTrigger, Tag("<http>")]
    | Annotated[TimerTrigger, Tag("<timer>")]
    | Annotated[CronTrigger, Tag("<cron>")]
    | Annotated[CustomTrigger, Tag("<custom>")],
    Discriminator(
        _trigger_kind, custom_error_type="trigger", custom_error_message="Input should be an object with a type"
    ),
]


_TRIGGER: Final[TypeAdapter[TriggerPart]] = TypeAdapter(TaggedTrigger)


class StepPart(Part):
    """What every step has."""

    id: NodeId
    description: str | None = None
    """For readers; it is no part of what runs."""


class ActivityStep(StepPart):
    """Calls an activity."""

    activity: Name
    inputs: Annotated[dict[Name, Source], Field(max_length=INPUTS_MAX)] = {}
    """Parameter → source."""
    output: JsonSchema | None = None
    """The JSON Schema of what it gives."""


class WaitPart(Part):
    """What a step waits for."""

    event: Name
    correlate: Source | None = None
    timeout: Duration | None = None


class WaitStep(StepPart):
    """Waits for a stimulus."""

    wait: WaitPart


class SleepStep(StepPart):
    """Waits for a time."""

    sleep: Duration


def _kind(step: object) -> str | None:
    """The tag of a step, by the field that makes it what it is."""
    if isinstance(step, dict):
        return next((f"<{kind}>" for kind in ("activity", "wait", "sleep") if kind in step), None)
    return None


Step = Annotated[
    Annotated[ActivityStep, Tag("<activity>")]
    | Annotated[WaitStep, Tag("<wait>")]
    | Annotated[SleepStep, Tag("<sleep>")],
    Discriminator(
        _kind,
        custom_error_type="step",
        custom_error_message='Input should be a step with one of the fields "activity", "wait" and "sleep"',
    ),
]


class PublishPart(Part):
    """What the workflow demands of publishing where a request names no slot; it is no part of what runs."""

    slot: SlotName | None = None
    """The slot that such a request is for."""
    explicit: bool = False
    """Such a request is refused: every slot has to be named."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.explicit and self.slot is not None:
            raise ValueError('expected "slot" or "explicit", found both')
        return self


class Document(Part):
    """A definition as its author wrote it."""

    name: DefinitionName
    """The id of the definition."""
    description: str | None = None
    """For readers; it is no part of what runs."""
    input: JsonSchema | None = None
    """The JSON Schema of the starting payload."""
    triggers: Annotated[tuple[TaggedTrigger, ...], Field(min_length=1, max_length=TRIGGERS_MAX, strict=False)]
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=STEPS_MAX, strict=False)]
    checkpoints: Literal["immediate", "coalesced"] | None = None
    version: Name | None = None
    """Declared by the author; the hash of the structural contract if absent (VER-01)."""
    publish: PublishPart | None = None


def parse(text: str) -> Document | Refusal:
    """The document that a JSON text holds."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > DOCUMENT_BYTES_MAX:
        return _oversize(size)
    try:
        value: object = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        return _too_deep()
    except ValueError as error:
        sentence = f"Expected a JSON document, found text that can't be read: {error}."
        return of_fault("invalid", sentence, "json", "", "a JSON document", str(error))
    if _is_deeper(value, DOCUMENT_DEPTH_MAX):
        return _too_deep()
    try:
        return Document.model_validate(value)
    except ValidationError as error:
        return _misfit(error)


def parse_trigger(value: object) -> TriggerPart | Refusal:
    """The trigger that a JSON value holds, by itself."""
    try:
        return _TRIGGER.validate_python(value)
    except ValidationError as error:
        return _misfit(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """What a document says of itself, also where the rest of it is wrong."""

    definition_id: str
    publish: PublishPart | None
    """None where it demands nothing, or nothing that can be read."""


def attributed(text: str) -> Attribution | None:
    """The definition that a document is of, whatever else is wrong with it; None where nothing says so.

    What is too large is not read. A name that stands twice names nothing.
    """
    if len(text.encode("utf-8", "surrogatepass")) > DOCUMENT_BYTES_MAX:
        return None
    try:
        value: object = json.loads(text, object_pairs_hook=_without_doubled_name)
    except (ValueError, RecursionError):
        return None
    found = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    name = found.get("name")
    if not isinstance(name, str) or definition_fault(name) is not None:
        return None
    try:
        publish = PublishPart.model_validate(found["publish"]) if found.get("publish") is not None else None
    except ValidationError:
        publish = None
    return Attribution(definition_id=name, publish=publish)


def _without_doubled_name(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if [key for key, _ in pairs].count("name") > 1:
        del found["name"]
    return found


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object, of which no key stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:100]!a} stands twice in one object")
    return found


def _no_constant(text: str) -> object:
    """NaN and the infinities are no JSON, although the parser takes them."""
    raise ValueError(f"{text} is not a JSON number")


def _too_deep() -> Refusal:
    sentence = f"Expected at most {DOCUMENT_DEPTH_MAX} levels in a document, found more."
    return of_fault("too-large", sentence, "depth", "", f"at most {DOCUMENT_DEPTH_MAX} levels", "more")


def _oversize(size: int) -> Refusal:
    sentence = f"Expected a document of at most {DOCUMENT_BYTES_MAX} bytes, found {size}."
    return of_fault("too-large", sentence, "size", "", f"at most {DOCUMENT_BYTES_MAX} bytes", f"{size} bytes")


def _is_deeper(value: object, levels: int) -> bool:
    """Whether lists and objects are nested deeper than so many levels."""
    layer: list[object] = [value] if isinstance(value, list | dict) else []
    for _ in range(levels):
        layer = [inner for outer in layer for inner in _children(outer) if isinstance(inner, list | dict)]
    return bool(layer)


def _children(value: object) -> Iterable[object]:
    """What a list or an object holds."""
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _misfit(error: ValidationError) -> Refusal:
    """What is wrong with a document: the first fault as a sentence, and all of them as data."""
    # A list whose items are all wrong also counts as too short, which is no fault of its own.
    found = [each for each in error.errors(include_url=False) if each["type"] != "too_short" or not each["input"]]
    first, *others = found
    sentence = _said(first)
    sentence += f"; {len(others)} more fault{'s' if len(others) > 1 else ''} in it ({TOLD_WHERE})." if others else "."
    return Refusal("invalid", sentence, faults=tuple(_fault(each) for each in found[:FAULTS_MAX]))


def _said(error: ErrorDetails) -> str:
    """One fault, and where it stands."""
    path = _path(error["loc"])
    if error["type"] == "missing":
        return f'Expected the field "{path}" in the document, found none'
    if error["type"] == "extra_forbidden":
        return f'Expected only known fields in the document, found "{path}"'
    expected, found = _expected_found(error)
    if error["type"] in ("too_short", "too_long"):
        return f'Expected {expected}, found {found} at "{path}" of the document'
    if not error["loc"]:
        return f"Expected {expected} as document, found {found}"
    return f'For "{path}" of the document: expected {expected}, found {found}'


def _fault(error: ErrorDetails) -> Fault:
    """The same as data."""
    codes = {"missing": "missing-field", "extra_forbidden": "unknown-field", "too_short": "count", "too_long": "count"}
    expected, found = _expected_found(error)
    return fault(codes.get(error["type"], "value"), _path(error["loc"]), expected, found)


def _expected_found(error: ErrorDetails) -> tuple[str, str]:
    """What was expected, and what was found."""
    match error["type"]:
        case "missing":
            return "this field", "none"
        case "extra_forbidden":
            return "only known fields", f'a field "{error["loc"][-1]}"'
        case "too_short" | "too_long":
            context = error.get("ctx", {})
            least = error["type"] == "too_short"
            bound = int(context["min_length" if least else "max_length"])
            return f"at {'least' if least else 'most'} {bound} item{'s' * (bound != 1)}", str(context["actual_length"])
        case _:
            if (kind := expected_kind(error["type"])) is not None:
                return kind, found_value(error["input"])
            # Pydantic says "Input should be …", our own checks "Value error, expected …, found …".
            said = error["msg"].replace("Input should be", "expected").removeprefix("Value error, ")
            said = f"{said[:1].lower()}{said[1:]}".removeprefix("expected ")
            expected, separator, found = said.partition(", found ")
            return expected, found if separator else found_value(error["input"])


def _path(location: tuple[int | str, ...]) -> str:
    """A location as authors read it: `steps[1].wait.timeout`."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not part.startswith("<"):
            path += f".{part}" if path else part
    return path or "(the whole)"
