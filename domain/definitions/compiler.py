"""From a document to an executable, and from an executable to its canonical content and back.

Compiling is a function of the text and of the providers: the same document gives the same `artifact_id` on every host
with the same providers. What is refused is refused before anything changes, with a sentence that names the node.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict, cast

from interlock.domain.definitions.contract import contract_version
from interlock.domain.definitions.document import ActivityStep, Document, SleepStep, Step, WaitStep, parse
from interlock.domain.definitions.executable import (
    ActivityNode,
    Cadence,
    Cardinality,
    Executable,
    Node,
    TimerNode,
    Trigger,
    WaitNode,
)
from interlock.domain.definitions.names import INPUT
from interlock.domain.definitions.providers import PROVIDERS, TriggerProvider, describe
from interlock.domain.refusal import Refusal
from interlock.domain.sharding import digest, stimulus_identity


def compile_document(text: str, providers: Sequence[TriggerProvider] = PROVIDERS) -> Executable | Refusal:
    """The executable of a document, or why there is none."""
    document = parse(text)
    if isinstance(document, Refusal):
        return document
    triggers = _triggers(document, providers)
    if isinstance(triggers, Refusal):
        return triggers
    if refusal := _wiring_fault(document.steps):
        return refusal
    content = _content(
        document.name,
        document.version or contract_version(document),
        document.checkpoints,
        triggers,
        tuple(_node(step) for step in document.steps),
    )
    return load(content)


def canonical(executable: Executable) -> str:
    """The content that names it: JSON with sorted keys, without spaces and without its own `artifact_id`."""
    return _content(
        executable.definition_id,
        executable.version,
        executable.checkpoints,
        executable.triggers,
        executable.nodes,
    )


def load(content: str) -> Executable:
    """The executable of a canonical content, which this program wrote; whoever loads it often keeps it by its id."""
    stored = cast("_Content", json.loads(content))
    return Executable(
        artifact_id=digest("executable", content),
        definition_id=stored["definition"],
        version=stored["version"],
        triggers=tuple(Trigger(**trigger) for trigger in stored["triggers"]),
        nodes=tuple(_load_node(node) for node in stored["nodes"]),
        checkpoints=stored.get("checkpoints"),
    )


# ---- checks -------------------------------------------------------------------------------------------------------


def _triggers(document: Document, providers: Sequence[TriggerProvider]) -> tuple[Trigger, ...] | Refusal:
    """The triggers of a document, each described by exactly one provider (TRG-02)."""
    triggers: list[Trigger] = []
    for position, part in enumerate(document.triggers):
        described = describe(part, position, providers)
        if isinstance(described, Refusal):
            return described
        if described is not None:
            triggers.append(described)
    return _shared_claim(triggers) or _doubled_id(triggers, document.steps) or tuple(triggers)


def _shared_claim(triggers: Sequence[Trigger]) -> Refusal | None:
    """Two triggers of one definition that ask for the same Exclusive claim (TRG-07)."""
    owners: dict[str, str] = {}
    for number, trigger in enumerate(triggers):
        if trigger.cardinality == "exclusive" and trigger.claim in owners:
            return Refusal(
                "conflict",
                f"Expected each exclusive claim once in a definition, found {trigger.claim!r} claimed by "
                f"{owners[trigger.claim]} and by {_called(trigger, number)}; remove one of them.",
            )
        owners[trigger.claim] = _called(trigger, number)
    return None


def _called(trigger: Trigger, number: int) -> str:
    """A trigger in a sentence: its id and its place among those that start something."""
    return f"trigger {trigger.node_id!r} (number {number + 1})"


def _doubled_id(triggers: Sequence[Trigger], steps: Sequence[Step]) -> Refusal | None:
    """A node id that stands twice; bindings are told apart by it, sources name it."""
    counts = Counter([*(trigger.node_id for trigger in triggers), *(step.id for step in steps)])
    twice = next((node_id for node_id, count in counts.items() if count > 1), None)
    if twice is None:
        return None
    return Refusal(
        "invalid", f"Expected each node id once, found {twice!r} {counts[twice]} times; give each its own id."
    )


def _wiring_fault(steps: Sequence[Step]) -> Refusal | None:
    """A source that names nothing that exists when its step runs."""
    known = [INPUT]
    for step in steps:
        for place, source in _sources(step):
            if source.partition(".")[0] not in known:
                return Refusal(
                    "invalid",
                    f"Expected {place} of step {step.id!r} to come from one of {', '.join(known)}, found {source!r}; "
                    "a step draws on the starting payload and on earlier steps only.",
                )
        known.append(step.id)
    return None


def _sources(step: Step) -> list[tuple[str, str]]:
    """The sources of a step, each with what it is for."""
    match step:
        case ActivityStep():
            return [(f"input {parameter!r}", source) for parameter, source in step.inputs.items()]
        case WaitStep():
            return [("the correlation", step.wait.correlate)] if step.wait.correlate else []
        case SleepStep():
            return []


# ---- nodes and content --------------------------------------------------------------------------------------------


def _node(step: Step) -> Node:
    match step:
        case ActivityStep():
            return ActivityNode(id=step.id, activity=step.activity, inputs=tuple(sorted(step.inputs.items())))
        case WaitStep(wait=wait):
            return WaitNode(
                id=step.id,
                type="Event",
                name=wait.event,
                identity=stimulus_identity("Event", wait.event),
                correlate=wait.correlate,
                timeout_ms=wait.timeout,
            )
        case SleepStep():
            return TimerNode(id=step.id, delay_ms=step.sleep)


class _StoredTrigger(TypedDict):
    node_id: str
    type: str
    name: str
    identity: str
    cardinality: Cardinality
    claim: str


class _StoredActivity(TypedDict):
    kind: Literal["activity"]
    id: str
    activity: str
    inputs: dict[str, str]


class _StoredWait(TypedDict):
    kind: Literal["wait"]
    id: str
    type: str
    name: str
    identity: str
    correlate: str | None
    timeout_ms: int | None


class _StoredTimer(TypedDict):
    kind: Literal["timer"]
    id: str
    delay_ms: int


_StoredNode = _StoredActivity | _StoredWait | _StoredTimer


class _Content(TypedDict):
    """The canonical content. It is storage: old ones are in logs, so a change adds a key that may be absent."""

    definition: str
    version: str
    triggers: list[_StoredTrigger]
    nodes: list[_StoredNode]
    checkpoints: NotRequired[Cadence]


def _content(
    definition_id: str,
    version: str,
    checkpoints: Cadence | None,
    triggers: Sequence[Trigger],
    nodes: Sequence[Node],
) -> str:
    content = _Content(
        definition=definition_id,
        version=version,
        triggers=[_stored_trigger(trigger) for trigger in triggers],
        nodes=[_stored_node(node) for node in nodes],
    )
    if checkpoints is not None:
        content["checkpoints"] = checkpoints
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _stored_trigger(trigger: Trigger) -> _StoredTrigger:
    return _StoredTrigger(
        node_id=trigger.node_id,
        type=trigger.type,
        name=trigger.name,
        identity=trigger.identity,
        cardinality=trigger.cardinality,
        claim=trigger.claim,
    )


def _stored_node(node: Node) -> _StoredNode:
    match node:
        case ActivityNode():
            return _StoredActivity(kind="activity", id=node.id, activity=node.activity, inputs=dict(node.inputs))
        case WaitNode():
            return _StoredWait(
                kind="wait",
                id=node.id,
                type=node.type,
                name=node.name,
                identity=node.identity,
                correlate=node.correlate,
                timeout_ms=node.timeout_ms,
            )
        case TimerNode():
            return _StoredTimer(kind="timer", id=node.id, delay_ms=node.delay_ms)


def _load_node(node: _StoredNode) -> Node:
    if node["kind"] == "activity":
        inputs = tuple(sorted(node["inputs"].items()))
        return ActivityNode(id=node["id"], activity=node["activity"], inputs=inputs)
    if node["kind"] == "timer":
        return TimerNode(id=node["id"], delay_ms=node["delay_ms"])
    return WaitNode(
        id=node["id"],
        type=node["type"],
        name=node["name"],
        identity=node["identity"],
        correlate=node["correlate"],
        timeout_ms=node["timeout_ms"],
    )
