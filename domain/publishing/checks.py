"""What a candidate has to stand beside compiling and claiming: schedules that come again, and others' validators.

They are asked in the decision that would stage the candidate, and by a preflight; before anything is written, and over
all that it would have at once. What one of them objects to is a failure of the candidate like any other: the present
authority stays as it is (TRG-06, PUB-13). Nothing is asked again while events are replayed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from interlock.domain.definitions.executable import Trigger
from interlock.domain.definitions.providers import named, raised
from interlock.domain.definitions.schedules import ScheduleFault, next_ms
from interlock.domain.refusal import FAULTS_MAX, Fault, Refusal, joined, of_fault


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSet:
    """All that a publication would have, before anything of it is written."""

    shell: str
    definition_id: str
    slot_name: str
    version: str
    artifact_id: str
    triggers: tuple[Trigger, ...]
    """With routes and schedules; one node may have several, one for each claim."""
    replaces: str
    """The publication that would be retired; "" if the slot is empty."""


class PublicationValidator(Protocol):
    """Has a word in what may be published.

    It decides with the publish, so it is pure and quick: no I/O, no clock, no chance. Whoever has to ask another system
    writes an observer. It may be asked about one candidate several times, and by preflights, which publish nothing.
    """

    @property
    def id(self) -> str:
        """Stable and not blank; names it in refusals."""
        ...

    def validate(self, candidate: CandidateSet) -> Sequence[Fault]:
        """What it objects to, each a `refusal.fault` with a code, a place (such as a node's id), and what was expected
        and found; an empty sequence lets it pass."""
        ...


def objection(candidate: CandidateSet, validators: Sequence[PublicationValidator], now_ms: int) -> Refusal | None:
    """Why a candidate may not be staged; None if nothing stands against it."""
    over = [each for trigger in candidate.triggers if (each := _never(trigger, now_ms))]
    return joined(over) or next((refusal for each in validators if (refusal := _asked(each, candidate))), None)


def _never(trigger: Trigger, now_ms: int) -> Refusal | None:
    """A schedule that never comes again would be an authority for nothing (SCH-01)."""
    if trigger.schedule is None:
        return None
    expected = "an occurrence that is still to come"
    try:
        if next_ms(trigger.schedule, now_ms, since_ms=now_ms) is not None:
            return None
        found = f"none of {trigger.claim!r} from now on"
    except ScheduleFault as error:
        # A publication that is restored may be of a zone that is gone.
        expected, found = error.expected, error.found
    sentence = f"For trigger {trigger.node_id!r}: expected {expected}, found {found}."
    return of_fault("invalid", sentence, "schedule-over", trigger.node_id, expected, found)


def _asked(validator: PublicationValidator, candidate: CandidateSet) -> Refusal | None:
    """What one validator objects to. What it raises, or gives that is no fault, is an objection too."""
    name = named(validator)
    try:
        said = cast("object", validator.validate(candidate))
    except BaseException as error:  # noqa: BLE001 - see `raised`
        return _broken(name, f"that it raised {raised(error)}")
    if not isinstance(said, list | tuple):
        return _broken(name, type(said).__name__)
    faults = cast("Sequence[object]", said)
    if not faults:
        return None
    known = [each for each in faults if isinstance(each, Fault)]
    if len(known) < len(faults):
        return _broken(name, "other things than faults")
    first, more = known[0], f"; {len(known) - 1} more" if len(known) > 1 else ""
    where = f" at {first.where!r}" if first.where else ""
    sentence = f"Publication validator {name!r} objects{where}: expected {first.expected}, found {first.found}{more}."
    return Refusal("invalid", sentence, (("validator", name),), faults=tuple(known[:FAULTS_MAX]))


def _broken(name: str, found: str) -> Refusal:
    sentence = f"Expected publication validator {name!r} to say what it objects to, found {found}."
    return of_fault("state", sentence, "validator-failed", "", f"faults, or none, of validator {name!r}", found)
