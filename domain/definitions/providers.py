"""Trigger providers: what a trigger of a document asks for (TRG-01).

A provider is a strategy with a stable id and a cardinality. Each trigger has to be described by exactly one of them
(TRG-02); one that recognises a trigger and gives no descriptor says that it starts nothing, which is no error (TRG-03).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from interlock.domain.definitions.document import TriggerPart
from interlock.domain.definitions.executable import Cardinality, Trigger
from interlock.domain.definitions.names import CLAIM_LENGTH_MAX, name_fault
from interlock.domain.refusal import Refusal, of_fault
from interlock.domain.sharding import stimulus_identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """What a trigger asks for, in the words of its provider."""

    type: str
    """The type of the stimuli that start it, such as "Event"."""
    name: str
    """Their name."""
    claim: str
    """What it claims; two triggers share it exactly if they claim the same."""


class TriggerProvider(Protocol):
    """Describes the triggers that it knows."""

    @property
    def id(self) -> str:
        """Stable and not blank; names it in errors and configuration."""
        ...

    @property
    def cardinality(self) -> Cardinality:
        """Whether several publications of a shell may have authority over one claim of its triggers."""
        ...

    def recognises(self, trigger: TriggerPart) -> bool:
        """Whether the trigger is one of its own."""
        ...

    def describe(self, trigger: TriggerPart) -> Descriptor | None:
        """What a trigger of its own asks for; None if it intentionally starts nothing."""
        ...


@dataclass(frozen=True, slots=True)
class EventProvider:
    """Starts a run for each event of a name; any number of publications may listen to it."""

    id: str = "event"
    cardinality: Cardinality = "fan-out"

    def recognises(self, trigger: TriggerPart) -> bool:
        """Every trigger of type "event"."""
        return trigger.type == "event"

    def describe(self, trigger: TriggerPart) -> Descriptor:
        """Claims the event's name."""
        return Descriptor(type="Event", name=trigger.name, claim=f"event:{trigger.name}")


PROVIDERS: Final[tuple[TriggerProvider, ...]] = (EventProvider(),)
"""Those that this host has."""


def describe(part: TriggerPart, position: int, providers: Sequence[TriggerProvider]) -> Trigger | Refusal | None:
    """The trigger at a position of a document, described by exactly one provider; None if it starts nothing."""
    place = f"triggers[{position}]"
    node = f'trigger {part.id!r} ("{place}")' if part.id else f'"{place}"'
    knowing = [provider for provider in providers if provider.recognises(part)]
    if len(knowing) != 1:
        known = ", ".join(sorted(provider.id for provider in (knowing or providers)))
        found = f"{len(knowing)}: {known}" if knowing else f"none for type {part.type!r} among: {known}"
        expected = "exactly one provider that describes"
        sentence = f"Expected {expected} {node}, found {found}."
        return of_fault("invalid", sentence, "provider", place, f"{expected} it", found)
    (provider,) = knowing
    if fault := name_fault(provider.id):
        return _bad_name("provider-id", place, f"For the provider of {node}", fault)
    descriptor = provider.describe(part)
    if descriptor is None:
        return None
    if fault := _descriptor_fault(descriptor):
        return _bad_name("descriptor", place, f"From provider {provider.id!r} for {node}", fault)
    return Trigger(
        node_id=part.id or descriptor.claim,
        type=descriptor.type,
        name=descriptor.name,
        identity=stimulus_identity(descriptor.type, descriptor.name),
        cardinality=provider.cardinality,
        claim=descriptor.claim,
    )


def _descriptor_fault(descriptor: Descriptor) -> str | None:
    """What is wrong with a descriptor; None if nothing is."""
    return name_fault(descriptor.type) or name_fault(descriptor.name) or name_fault(descriptor.claim, CLAIM_LENGTH_MAX)


def _bad_name(code: str, place: str, of_what: str, fault: str) -> Refusal:
    """A name of a provider's that can't be one; `fault` as `name_fault` gives it."""
    expected, _, found = fault.removeprefix("expected ").partition(", found ")
    return of_fault("invalid", f"{of_what}: {fault}.", code, place, expected, found)
