"""Trigger providers: what a trigger of a document asks for (TRG-01).

A provider is a strategy with a stable id and a cardinality. Each trigger has to be described by exactly one of them
(TRG-02); one that recognises a trigger and gives no descriptor says that it starts nothing, which is no error (TRG-03).
Third parties register their own (`docs/guides/extending.md`), so nothing that one does is believed: what it raises, and
what it gives that is no descriptor, fails the publish and names it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast

from interlock.domain.definitions import schedules
from interlock.domain.definitions.document import (
    TRIGGERS_MAX,
    CronTrigger,
    EventTrigger,
    HttpTrigger,
    TimerTrigger,
    TriggerPart,
)
from interlock.domain.definitions.executable import Cardinality, Route, Schedule, Trigger
from interlock.domain.definitions.names import CLAIM_LENGTH_MAX, name_fault
from interlock.domain.definitions.schedules import ScheduleFault
from interlock.domain.definitions.templates import METHODS, TemplateFault, shape
from interlock.domain.refusal import Fault, Refusal, bounded, fault, of_fault
from interlock.domain.sharding import stimulus_identity

ERROR_CHARACTERS_MAX: Final = 200
"""Of what an extension raised, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """One thing that a trigger asks for, in the words of its provider."""

    type: str
    """The type of the stimuli that start it, such as "Event"."""
    name: str
    """Their name."""
    claim: str
    """What it claims; two triggers share it exactly if they claim the same."""
    route: Route | None = None
    """Where it is found, if it is an HTTP endpoint."""
    schedule: Schedule | None = None
    """When it is due, if it comes by itself."""


class TriggerProvider(Protocol):
    """Describes the triggers that it knows.

    It decides with the publish, so it is pure: no I/O, no clock, no chance, and quick. The same trigger always gets the
    same answer, in every process.
    """

    @property
    def id(self) -> str:
        """Stable and not blank; names it in errors and configuration."""
        ...

    @property
    def cardinality(self) -> Cardinality:
        """Whether several publications of a shell may have authority over one claim of its triggers."""
        ...

    def describe(self, trigger: TriggerPart) -> Sequence[Descriptor] | Fault | None:
        """What a trigger asks for: none of its own, None; its own, one descriptor for each claim, and an empty sequence
        where it intentionally starts nothing; its own and wrong, a `refusal.fault` whose `where` is the field.
        """
        ...


@dataclass(frozen=True, slots=True)
class EventProvider:
    """Starts a run for each event of a name; any number of publications may listen to it."""

    id: str = "event"
    cardinality: Cardinality = "fan-out"

    def describe(self, trigger: TriggerPart) -> Sequence[Descriptor] | None:
        """Claims the event's name."""
        if not isinstance(trigger, EventTrigger):
            return None
        return [Descriptor(type="Event", name=trigger.name, claim=f"event:{trigger.name}")]


@dataclass(frozen=True, slots=True)
class HttpProvider:
    """Starts a run for each request to an endpoint; an endpoint is one publication's."""

    id: str = "http"
    cardinality: Cardinality = "exclusive"

    def describe(self, trigger: TriggerPart) -> Sequence[Descriptor] | Fault | None:
        """Claims each method of what the path matches, whatever its parameters are called."""
        if not isinstance(trigger, HttpTrigger):
            return None
        found = shape(trigger.path)
        if isinstance(found, TemplateFault):
            return fault("template", "path", found.expected, found.found)
        for method in trigger.method:
            if method not in METHODS:
                return fault("method", "method", f"one of {', '.join(METHODS)}", repr(method[:40]))
        return [
            Descriptor(
                type="HttpEndpoint",
                name=f"{method} {found}",
                claim=f"http:{method} {found}",
                route=Route(method=method, template=trigger.path),
            )
            for method in trigger.method
        ]


@dataclass(frozen=True, slots=True)
class TimerProvider:
    """Starts a run every so often; any number of publications may have the same interval."""

    id: str = "timer"
    cardinality: Cardinality = "fan-out"

    def describe(self, trigger: TriggerPart) -> Sequence[Descriptor] | Fault | None:
        """Claims its interval."""
        if not isinstance(trigger, TimerTrigger):
            return None
        every = f"{trigger.every}ms"
        schedule = Schedule(kind="interval", every_ms=trigger.every)
        return [Descriptor(type="Timer", name=every, claim=f"timer:{every}", schedule=schedule)]


@dataclass(frozen=True, slots=True)
class CronProvider:
    """Starts a run at times of the wall clock; any number of publications may have the same ones."""

    id: str = "cron"
    cardinality: Cardinality = "fan-out"

    def describe(self, trigger: TriggerPart) -> Sequence[Descriptor] | Fault | None:
        """Claims its expression, with zone and rules."""
        if not isinstance(trigger, CronTrigger):
            return None
        try:
            expression = schedules.normal(trigger.expression)
        except ScheduleFault as error:
            return fault("schedule", error.field, error.expected, error.found)
        rules = "".join(
            f" {rule}"
            for rule, usual in ((f"gap={trigger.gap}", "gap=shift"), (f"overlap={trigger.overlap}", "overlap=first"))
            if rule != usual
        )
        name = f"{expression} {trigger.zone}{rules}"
        schedule = Schedule(
            kind="cron", expression=expression, zone=trigger.zone, gap=trigger.gap, overlap=trigger.overlap
        )
        return [Descriptor(type="Cron", name=name, claim=f"cron:{name}", schedule=schedule)]


PROVIDERS: Final[tuple[TriggerProvider, ...]] = (EventProvider(), HttpProvider(), TimerProvider(), CronProvider())
"""Those that every host has."""


def describe(part: TriggerPart, position: int, providers: Sequence[TriggerProvider]) -> tuple[Trigger, ...] | Refusal:
    """What the trigger at a position of a document asks for, as exactly one provider describes it; () for nothing."""
    place = f"triggers[{position}]"
    node = f'trigger {part.id!r} ("{place}")' if part.id else f'"{place}"'
    owned: list[tuple[TriggerProvider, object]] = []
    for provider in providers:
        try:
            said: object = provider.describe(part)
        except BaseException as error:  # noqa: BLE001 - see `raised`
            return _failed(provider, node, place, error)
        if said is not None:
            owned.append((provider, said))
    if len(owned) != 1:
        return _not_one([provider for provider, _ in owned], part, node, place, providers)
    ((provider, said),) = owned
    if bad := name_fault(provider.id):
        return _bad_name("provider-id", place, f"For the provider of {node}", bad)
    if isinstance(said, Fault):
        where = f"{place}.{said.where}" if said.where else place
        sentence = f"For {node}, as provider {provider.id!r} has it: expected {said.expected}, found {said.found}."
        return of_fault("invalid", sentence, said.code, where, said.expected, said.found)
    descriptors = _descriptors(said)
    if descriptors is None:
        found = f"{type(said).__name__}"
        sentence = f"Expected descriptors from provider {provider.id!r} for {node}, found {found}."
        return of_fault("invalid", sentence, "descriptor", place, "descriptors, or none", found)
    return _triggers(part, descriptors, provider, node, place)


def _triggers(
    part: TriggerPart, descriptors: Sequence[Descriptor], provider: TriggerProvider, node: str, place: str
) -> tuple[Trigger, ...] | Refusal:
    """The triggers of one node, whose descriptors have to be whole and to differ."""
    by = f"From provider {provider.id!r} for {node}"
    for descriptor in descriptors:
        if bad := _descriptor_fault(descriptor):
            return _bad_name("descriptor", place, by, bad)
        if descriptor.schedule is not None:
            try:
                schedules.check(descriptor.schedule)
            except ScheduleFault as error:
                where, what = f"{place}.{error.field}", f"expected {error.expected}, found {error.found}"
                return of_fault("invalid", f"{by}: {what}.", "schedule", where, error.expected, error.found)
    claims = [descriptor.claim for descriptor in descriptors]
    if twice := next((claim for claim in claims if claims.count(claim) > 1), None):
        found = f"{twice!r} {claims.count(twice)} times"
        sentence = f"{by}: expected each claim once, or two bindings would have one id, found {found}."
        return of_fault("invalid", sentence, "binding-twice", place, "each claim once", found)
    if len(claims) > TRIGGERS_MAX:
        sentence = f"{by}: expected at most {TRIGGERS_MAX} claims, found {len(claims)}."
        return of_fault("too-large", sentence, "count", place, f"at most {TRIGGERS_MAX} claims", str(len(claims)))
    return tuple(
        Trigger(
            node_id=part.id or claims[0],
            type=descriptor.type,
            name=descriptor.name,
            identity=stimulus_identity(descriptor.type, descriptor.name),
            cardinality=provider.cardinality,
            claim=descriptor.claim,
            route=descriptor.route,
            schedule=descriptor.schedule,
        )
        for descriptor in descriptors
    )


def _not_one(
    owners: Sequence[TriggerProvider], part: TriggerPart, node: str, place: str, providers: Sequence[TriggerProvider]
) -> Refusal:
    known = ", ".join(sorted(provider.id for provider in (owners or providers)))
    found = f"{len(owners)}: {known}" if owners else f"none for type {part.type!r} among: {known}"
    expected = "exactly one provider that describes"
    sentence = f"Expected {expected} {node}, found {found}."
    return of_fault("invalid", sentence, "provider", place, f"{expected} it", found)


def _failed(provider: TriggerProvider, node: str, place: str, error: BaseException) -> Refusal:
    found = raised(error)
    sentence = f"Expected provider {provider.id!r} to describe {node}, or to pass it by, found that it raised {found}."
    return of_fault("invalid", sentence, "provider-raised", place, "a description", found)


def named(extension: object) -> str:
    """What an extension is called where it fails: its id, or its class if that can't be read."""
    try:
        identity: object = getattr(extension, "id", None)
    except BaseException:  # noqa: BLE001 - see `raised`
        identity = None
    return identity if isinstance(identity, str) and name_fault(identity) is None else type(extension).__name__


def raised(error: BaseException) -> str:
    """What an extension raised, in a few words of one line.

    Whatever it raises is its own, KeyboardInterrupt too: that would end the process, and each one that takes the same
    command up again. A real Ctrl-C never comes so, for a process takes its signals otherwise (`interlock.cli.ending`).
    """
    try:
        said = " ".join(str(error).split())
    except BaseException as second:  # noqa: BLE001 - `__str__` is a third party's code too
        said = f"(its message can't be read: {type(second).__name__})"
    whole = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return bounded(whole, ERROR_CHARACTERS_MAX)


def _descriptors(said: object) -> Sequence[Descriptor] | None:
    """What a provider gave, if it is a sequence of descriptors."""
    if not isinstance(said, list | tuple):
        return None
    items = cast("Sequence[object]", said)
    return cast("Sequence[Descriptor]", items) if all(isinstance(item, Descriptor) for item in items) else None


def _descriptor_fault(descriptor: Descriptor) -> str | None:
    """What is wrong with a descriptor; None if nothing is."""
    texts = cast("Sequence[object]", (descriptor.type, descriptor.name, descriptor.claim))
    for text in texts:
        if not isinstance(text, str):
            return f"expected type, name and claim as text, found {type(text).__name__}"
    return name_fault(descriptor.type) or name_fault(descriptor.name) or name_fault(descriptor.claim, CLAIM_LENGTH_MAX)


def _bad_name(code: str, place: str, of_what: str, fault: str) -> Refusal:
    """A name of a provider's that can't be one; `fault` as `name_fault` gives it."""
    expected, _, found = fault.removeprefix("expected ").partition(", found ")
    return of_fault("invalid", f"{of_what}: {fault}.", code, place, expected, found)
