"""Workflows as Python: what triggers them and what they do step by step, as a document that can be published.

    orders = (
        Workflow("orders", input=Order)
        .on(event("order.placed"), http.post("/orders"))
        .then(reserve)
        .wait_for(event("payment.received"), correlate="order_id", timeout="2d")
        .then(ship)
    )

A workflow never changes: each call gives a new one. What stands in the code is wiring only; `document()` is what is
published, versioned and run, and an engine needs the code of activities, never of workflows.

How an activity's parameters are bound to sources: by what `inputs` says; else to the one source of their annotated
type, if that is a type of the author's own; else to the step of their name, or to "input". A parameter that finds none
is left to its default, or is an error that lists what there is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, get_args

from interlock.activities import (
    Activities,
    Activity,
    ActivityContext,
    AnyActivity,
    AuthoringError,
    InvalidInput,
    JsonSchema,
    Parameter,
    activity,
    adapter_of,
)
from interlock.domain.definitions.names import INPUT, definition_fault, node_id_fault, slot_fault, source_fault
from interlock.domain.durations import duration_ms
from interlock.domain.refusal import Refusal
from interlock.triggers import Event, Trigger, cron, event, http, timer, trigger

__all__ = [
    "Activities",
    "Activity",
    "ActivityContext",
    "AuthoringError",
    "Event",
    "InvalidInput",
    "Workflow",
    "activity",
    "cron",
    "event",
    "http",
    "timer",
    "trigger",
]

_JSON_TYPES = (Any, object, str, int, float, bool, None, type(None), list, dict)
"""Types that say nothing of what a value means, so that they bind nothing."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step that is wired: its part of the document, and what others need to know to draw on it."""

    id: str
    part: dict[str, object]
    gives: object
    """The type of its output; `typing.Any` where it is unknown."""
    calls: AnyActivity | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Workflow:
    """A definition in the making. Raises `AuthoringError` for a name that can't be one."""

    name: str
    """The id of the definition."""
    input: object = None
    """The type of the starting payload; None where it may be any JSON."""
    checkpoints: Literal["immediate", "coalesced"] | None = None
    """Its own cadence of checkpoints; None takes the host's."""
    slot: str | None = field(default=None, kw_only=True)
    """Where a publish goes that names no slot; None leaves it to the host."""
    explicit_slot: bool = field(default=False, kw_only=True)
    """A publish that names no slot is refused."""
    triggers: tuple[Trigger, ...] = field(default=(), kw_only=True)
    """What starts it; see `on`."""
    steps: tuple[Step, ...] = field(default=(), kw_only=True)
    """What it does; see `then`, `wait_for` and `sleep`."""

    def __post_init__(self) -> None:
        if fault := definition_fault(self.name):
            raise AuthoringError(f"For a workflow: {fault}.")
        if self.slot is not None and self.explicit_slot:
            raise AuthoringError(f"Expected slot or explicit_slot for workflow {self.name!r}, found both.")
        if self.slot is not None and (fault := slot_fault(self.slot)):
            raise AuthoringError(f"For the slot of workflow {self.name!r}: {fault}.")

    def on(self, *triggers: Trigger) -> "Workflow":
        """Starts a run for each of these; see `interlock.triggers`."""
        return replace(self, triggers=(*self.triggers, *triggers))

    def then(
        self, called: AnyActivity, *, id: str | None = None, inputs: Mapping[str, str] | None = None
    ) -> "Workflow":
        """Calls an activity; the step has the function's name unless `id` gives it another.

        `inputs` binds parameters by hand, to "input" or the id of an earlier step and a dotted path. Raises
        `AuthoringError` where a parameter can't be bound.
        """
        step_id = self._new_id(id or called.function_name)
        bound = self._bound(called, dict(inputs or {}))
        part: dict[str, object] = {"id": step_id, "activity": called.name, "inputs": bound}
        if (schema := called.result_schema()) is not None:
            part["output"] = schema
        return self._added(Step(step_id, part, called.result, called))

    def wait_for(
        self, awaited: Event, *, correlate: str | None = None, timeout: str | None = None, id: str | None = None
    ) -> "Workflow":
        """Waits for an event; its payload is the step's output, and the step has the event's name, with _ for dots.

        `correlate` is a field of the input, or a path from an earlier step such as "reserve.reservation_id"; the event
        has to carry its value as correlation. After `timeout`, such as "2d", the run faults. Raises `AuthoringError`.
        """
        step_id = self._new_id(id or re.sub(r"[^A-Za-z0-9_-]", "_", awaited.name))
        wait: dict[str, object] = {"event": awaited.name}
        if correlate is not None:
            wait["correlate"] = self._correlation(correlate)
        if timeout is not None:
            wait["timeout"] = _checked(timeout)
        return self._added(Step(step_id, {"id": step_id, "wait": wait}, Any))

    def sleep(self, duration: str, *, id: str | None = None) -> "Workflow":
        """Waits for a time such as "1h"; the step's id is "sleep" unless `id` gives it another."""
        step_id = self._new_id(id or "sleep")
        return self._added(Step(step_id, {"id": step_id, "sleep": _checked(duration)}, Any))

    def document(self) -> dict[str, object]:
        """What is published: the definition as JSON values."""
        document: dict[str, object] = {
            "name": self.name,
            "input": self._input_schema(),
            "triggers": [trigger.part() for trigger in self.triggers],
            "steps": [step.part for step in self.steps],
        }
        if self.checkpoints is not None:
            document["checkpoints"] = self.checkpoints
        if self.slot is not None:
            document["publish"] = {"slot": self.slot}
        if self.explicit_slot:
            document["publish"] = {"explicit": True}
        return document

    def activities(self) -> tuple[AnyActivity, ...]:
        """Those that its steps call, in order."""
        return tuple(step.calls for step in self.steps if step.calls is not None)

    # ---- wiring

    def _added(self, step: Step) -> "Workflow":
        return replace(self, steps=(*self.steps, step))

    def _new_id(self, step_id: str) -> str:
        if fault := node_id_fault(step_id):
            raise AuthoringError(f'In workflow {self.name!r}: {fault}; give the step another with id="…".')
        if any(step.id == step_id for step in self.steps):
            raise AuthoringError(
                f"Expected each step of workflow {self.name!r} with an id of its own, found {step_id!r} twice; "
                'give one of them another with id="…".'
            )
        return step_id

    def _bound(self, called: AnyActivity, given: dict[str, str]) -> dict[str, str]:
        """The source of each parameter that has one."""
        known = {parameter.name for parameter in called.parameters}
        if unknown := sorted(given.keys() - known):
            raise AuthoringError(
                f"Expected inputs for the parameters of activity {called.name!r} ({', '.join(sorted(known))}), "
                f"found {unknown[0]!r}."
            )
        bound: dict[str, str] = {}
        for parameter in called.parameters:
            source = given.get(parameter.name) or self._source_of(called, parameter)
            if source is not None:
                bound[parameter.name] = self._existing(source, f"parameter {parameter.name!r} of {called.name!r}")
        return bound

    def _source_of(self, called: AnyActivity, parameter: Parameter) -> str | None:
        """The source that a parameter's type or name says; None leaves it to its default."""
        sources = self._sources()
        wanted = parameter.annotation
        typed = [source for source, gives in sources.items() if gives == wanted] if _is_own(wanted) else []
        if len(typed) == 1:
            return typed[0]
        if parameter.name in (typed or sources):
            return parameter.name
        if not typed and not parameter.required:
            return None
        shown = ", ".join(f"{source} ({_shown(gives)})" for source, gives in sources.items())
        several = f", of which {' and '.join(typed)} have its type" if typed else ""
        raise AuthoringError(
            f"Expected a source for parameter {parameter.name!r} ({_shown(wanted)}) of activity {called.name!r} in "
            f"workflow {self.name!r}, found these: {shown}{several}; name the parameter after one, or say "
            f'inputs={{"{parameter.name}": "…"}}.'
        )

    def _sources(self) -> dict[str, object]:
        """What a further step may draw on, with its type."""
        return {INPUT: Any if self.input is None else self.input} | {step.id: step.gives for step in self.steps}

    def _existing(self, source: str, what: str) -> str:
        if fault := source_fault(source):
            raise AuthoringError(f"For {what}: {fault}.")
        if source.partition(".")[0] not in self._sources():
            raise AuthoringError(
                f"Expected {what} in workflow {self.name!r} to come from one of {', '.join(self._sources())}, "
                f"found {source!r}."
            )
        return source

    def _correlation(self, correlate: str) -> str:
        """A path from a step or from "input" as it is, everything else as a field of the input."""
        if correlate.partition(".")[0] in self._sources():
            return self._existing(correlate, "the correlation")
        fields = cast("dict[str, object] | None", (self._input_schema() or {}).get("properties"))
        if fields is not None and correlate.partition(".")[0] not in fields:
            there = ", ".join([*fields, *(step.id for step in self.steps)])
            raise AuthoringError(
                f"Expected the correlation in workflow {self.name!r} to begin with one of {there}, found {correlate!r}."
            )
        return self._existing(f"{INPUT}.{correlate}", "the correlation")

    def _input_schema(self) -> JsonSchema | None:
        return None if self.input is None else adapter_of(self.input).json_schema(mode="validation")


def _checked(duration: str) -> str:
    parsed = duration_ms(duration)
    if isinstance(parsed, Refusal):
        raise AuthoringError(parsed.sentence)
    return duration


def _is_own(annotation: object) -> bool:
    """Whether a type is the author's, so that it says which value is meant."""
    parts = get_args(annotation) or (annotation,)
    return any(part not in _JSON_TYPES for part in parts)


def _shown(annotation: object) -> str:
    if annotation is Any:
        return "any JSON"
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
