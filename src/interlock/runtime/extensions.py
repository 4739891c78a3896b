"""What third parties add to a process: packages that are installed beside this one name it in their entry points.

    interlock.trigger_providers        describe triggers of documents              domain/definitions/providers.py
    interlock.publication_validators   have a word in what may be published        domain/publishing/checks.py
    interlock.publication_observers    are told before a publication is active     processors/publishing/observers.py

An entry point names something that is called without arguments and gives the extension, such as its class. One that
can't be loaded never ends the process: it is said at the start and by `interlock doctor`. A validator or an observer
that is missing so fails every publish, for what it would have objected to is not known.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeVar, cast

from interlock.domain.definitions.executable import Cardinality
from interlock.domain.definitions.names import name_fault
from interlock.domain.definitions.providers import PROVIDERS, TriggerProvider, raised
from interlock.domain.publishing.checks import CandidateSet, PublicationValidator
from interlock.domain.refusal import Fault, fault
from interlock.processors.publishing.observers import PreparedPublication, PublicationObserver

log = logging.getLogger(__name__)

PROVIDER_GROUP: Final = "interlock.trigger_providers"
VALIDATOR_GROUP: Final = "interlock.publication_validators"
OBSERVER_GROUP: Final = "interlock.publication_observers"
GROUPS: Final = (PROVIDER_GROUP, VALIDATOR_GROUP, OBSERVER_GROUP)
CARDINALITIES: Final[tuple[Cardinality, ...]] = ("exclusive", "fan-out")

E = TypeVar("E")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenExtension:
    """An entry point that gives no extension."""

    group: str
    name: str
    package: str
    """Whose it is, such as "acme-mqtt 1.2"."""
    why: str

    def __str__(self) -> str:
        return f"{self.group}: {self.name} of {self.package}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """All that was found."""

    providers: tuple[TriggerProvider, ...] = PROVIDERS
    """The engine's own first."""
    validators: tuple[PublicationValidator, ...] = ()
    """In the order of their entry points' names, as observers are."""
    observers: tuple[PublicationObserver, ...] = ()
    broken: tuple[BrokenExtension, ...] = ()
    names: tuple[str, ...] = field(default=())
    """What was loaded, as "group: name of package"."""


def load_extensions(found: Iterable[EntryPoint] | None = None) -> Extensions:
    """The extensions of the packages that are installed, or of these entry points."""
    points = [point for group in GROUPS for point in entry_points(group=group)] if found is None else list(found)
    broken: list[BrokenExtension] = []
    names: list[str] = []
    providers = _loaded(points, PROVIDER_GROUP, _provider, broken, names)
    validators = _loaded(points, VALIDATOR_GROUP, _validator, broken, names)
    observers = _loaded(points, OBSERVER_GROUP, _observer, broken, names)
    for each in broken:
        log.error("an extension could not be loaded: %s", each)
    return Extensions(
        providers=(*PROVIDERS, *providers),
        validators=(*validators, *(MissingValidator(each) for each in broken if each.group == VALIDATOR_GROUP)),
        observers=(*observers, *(MissingObserver(each) for each in broken if each.group == OBSERVER_GROUP)),
        broken=tuple(broken),
        names=tuple(names),
    )


@dataclass(frozen=True, slots=True)
class MissingValidator:
    """Stands where a validator could not be loaded, and objects to everything."""

    broken: BrokenExtension

    @property
    def id(self) -> str:
        """That of its entry point."""
        return self.broken.name

    def validate(self, candidate: CandidateSet) -> list[Fault]:
        """Nobody knows what it would have objected to."""
        return [fault("validator-missing", "", "this validator to be loaded", str(self.broken))]


@dataclass(frozen=True, slots=True)
class MissingObserver:
    """Stands where an observer could not be loaded, and takes nothing."""

    broken: BrokenExtension

    @property
    def id(self) -> str:
        """That of its entry point."""
        return self.broken.name

    async def prepared(self, publication: PreparedPublication) -> None:
        """Whoever counts on being told would not be. Raises `LookupError`."""
        raise LookupError(f"it could not be loaded: {self.broken.why}")


def _loaded(
    points: Iterable[EntryPoint],
    group: str,
    as_kind: Callable[[object], E],
    broken: list[BrokenExtension],
    names: list[str],
) -> list[E]:
    """The extensions of one group, by the names of their entry points."""
    extensions: list[E] = []
    for point in sorted((each for each in points if each.group == group), key=lambda each: (each.name, each.value)):
        package = f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value
        try:
            made = cast("Callable[[], object]", point.load())()
            extensions.append(as_kind(made))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a third party raises, it is its own
            broken.append(BrokenExtension(group=group, name=point.name, package=package, why=raised(error)))
        else:
            names.append(f"{group}: {point.name} of {package}")
    return extensions


def _provider(made: object) -> TriggerProvider:
    _named(made, "describe")
    if (found := getattr(made, "cardinality", None)) not in CARDINALITIES:
        raise TypeError(f"expected a cardinality of {' or '.join(CARDINALITIES)}, found {found!r}")
    return cast("TriggerProvider", made)


def _validator(made: object) -> PublicationValidator:
    _named(made, "validate")
    return cast("PublicationValidator", made)


def _observer(made: object) -> PublicationObserver:
    _named(made, "prepared")
    return cast("PublicationObserver", made)


def _named(made: object, method: str) -> None:
    """Whether it has an id and a method. Raises `TypeError`."""
    identity: object = getattr(made, "id", None)
    wrong = name_fault(identity) if isinstance(identity, str) else f"expected a text, found {identity!r}"
    if wrong:
        raise TypeError(f"for its id: {wrong}")
    if not callable(getattr(made, method, None)):
        raise TypeError(f"expected a method {method}, found none on {type(made).__name__}")
