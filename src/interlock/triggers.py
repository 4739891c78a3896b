"""What starts a workflow, as Python: `event`, `http`, `timer`, `cron`, and `trigger` for what an extension describes.

    orders.on(event("order.placed"), http.post("/orders"), timer("15m"), cron("0 6 * * *", zone="Europe/Paris"))

Each is checked by the rules that a publish checks it by, so that a mistake is an error where it is written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from interlock.activities import AuthoringError
from interlock.domain.definitions.document import CustomTrigger, parse_trigger
from interlock.domain.definitions.names import name_fault
from interlock.domain.definitions.providers import PROVIDERS, describe
from interlock.domain.refusal import Refusal


class Trigger(Protocol):
    """Something that starts a workflow."""

    def part(self) -> dict[str, object]:
        """Its part of the document."""
        ...


@dataclass(frozen=True, slots=True)
class Event:
    """The events of a name, as a trigger or as what a step waits for."""

    name: str
    id: str | None = None
    """Its node id as a trigger."""

    def part(self) -> dict[str, object]:
        """Its part of the document."""
        return _part({"type": "event", "name": self.name}, self.id)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Requests to a path; an endpoint is one publication's of a shell."""

    path: str
    methods: tuple[str, ...]
    id: str | None = None

    def part(self) -> dict[str, object]:
        """Its part of the document."""
        method = self.methods[0] if len(self.methods) == 1 else list(self.methods)
        return _part({"type": "http", "method": method, "path": self.path}, self.id)


@dataclass(frozen=True, slots=True)
class Timer:
    """A fixed interval."""

    every: str
    id: str | None = None

    def part(self) -> dict[str, object]:
        """Its part of the document."""
        return _part({"type": "timer", "every": self.every}, self.id)


@dataclass(frozen=True, slots=True)
class Cron:
    """Times of a wall clock."""

    expression: str
    zone: str = "UTC"
    gap: Literal["shift", "skip"] = "shift"
    overlap: Literal["first", "last", "both"] = "first"
    id: str | None = None

    def part(self) -> dict[str, object]:
        """Its part of the document."""
        rules: dict[str, object] = {"gap": self.gap} if self.gap != "shift" else {}
        rules |= {"overlap": self.overlap} if self.overlap != "first" else {}
        return _part({"type": "cron", "expression": self.expression, "zone": self.zone, **rules}, self.id)


@dataclass(frozen=True, slots=True, eq=False)
class Custom:
    """A trigger that an extension describes; only the engine that has it can say what is wrong with it."""

    type: str
    name: str | None = None
    config: Mapping[str, object] | None = None
    id: str | None = None

    def part(self) -> dict[str, object]:
        """Its part of the document."""
        part: dict[str, object] = {"type": self.type}
        if self.name is not None:
            part["name"] = self.name
        if self.config:
            part["config"] = dict(self.config)
        return _part(part, self.id)


def event(name: str, *, id: str | None = None) -> Event:
    """Events of a name. Raises `AuthoringError` where it can't be one."""
    if fault := name_fault(name):
        raise AuthoringError(f"For an event: {fault}.")
    return Event(name, id)


def timer(every: str, *, id: str | None = None) -> Timer:
    """Every so often, such as "15m" or "PT15M". Raises `AuthoringError` where that is no interval."""
    found = Timer(every, id)
    _check(found, f"timer({every!r})")
    return found


def cron(
    expression: str,
    *,
    zone: str = "UTC",
    gap: Literal["shift", "skip"] = "shift",
    overlap: Literal["first", "last", "both"] = "first",
    id: str | None = None,
) -> Cron:
    """Whenever the wall clock of a zone shows certain times: minute, hour, day of the month, month, day of the week.

    `gap` says what becomes of a time that the clock jumps over: as much later, or not at all; `overlap` which one
    counts of a time that comes twice. Raises `AuthoringError` where the expression or the zone can't be one.
    """
    found = Cron(expression, zone, gap, overlap, id)
    _check(found, f"cron({expression!r})")
    return found


def trigger(
    type: str, *, name: str | None = None, config: Mapping[str, object] | None = None, id: str | None = None
) -> Custom:
    """What an extension describes, such as `trigger("acme.mqtt", config={"topic": "orders"})`. Raises `AuthoringError`
    where it can't be a trigger of an extension."""
    found = Custom(type, name, config, id)
    _check(found, f"trigger({type!r})")
    return found


class Http:
    """Makes endpoints: `http.post("/orders/:id")`, or `http("/orders", methods=["GET", "POST"])`.

    A path has literal segments, parameters such as `:id`, and maybe `*` at its end, for the rest. Each raises
    `AuthoringError` where path or methods can't be some.
    """

    def __call__(self, path: str, *, methods: Sequence[str], id: str | None = None) -> Endpoint:
        """Requests of any of these methods."""
        found = Endpoint(path, tuple(methods), id)
        _check(found, f"http({path!r})")
        return found

    def get(self, path: str, *, id: str | None = None) -> Endpoint:
        """GET requests."""
        return self(path, methods=["GET"], id=id)

    def post(self, path: str, *, id: str | None = None) -> Endpoint:
        """POST requests."""
        return self(path, methods=["POST"], id=id)

    def put(self, path: str, *, id: str | None = None) -> Endpoint:
        """PUT requests."""
        return self(path, methods=["PUT"], id=id)

    def patch(self, path: str, *, id: str | None = None) -> Endpoint:
        """PATCH requests."""
        return self(path, methods=["PATCH"], id=id)

    def delete(self, path: str, *, id: str | None = None) -> Endpoint:
        """DELETE requests."""
        return self(path, methods=["DELETE"], id=id)


http: Final = Http()
"""Endpoints; see `Http`."""


def _part(part: dict[str, object], id: str | None) -> dict[str, object]:
    return part if id is None else {**part, "id": id}


def _check(found: Trigger, called: str) -> None:
    """Raises `AuthoringError` where a publish would refuse it."""
    read = parse_trigger(found.part())
    if not isinstance(read, Refusal) and isinstance(read, CustomTrigger):
        return
    said = read if isinstance(read, Refusal) else describe(read, 0, PROVIDERS)
    if isinstance(said, Refusal):
        first = said.faults[0]
        raise AuthoringError(f"For {called}: expected {first.expected}, found {first.found}.")
