"""From a document to an executable, and from an executable to its canonical content and back.

Compiling is a function of the text and of the providers: the same document gives the same `artifact_id` on every host
with the same providers. What is refused is refused before anything changes, with a sentence that names the node.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict, cast

from interlock.domain.definitions.contract import contract_version
from interlock.domain.definitions.document import (
    TRIGGERS_MAX,
    ActivityStep,
    Document,
    SleepStep,
    Step,
    WaitStep,
    parse,
)
from interlock.domain.definitions.executable import (
    ActivityNode,
    Cadence,
    Cardinality,
    Executable,
    Node,
    Route,
    Schedule,
    TimerNode,
    Trigger,
    WaitNode,
)
from interlock.domain.definitions.names import INPUT
from interlock.domain.definitions.providers import PROVIDERS, TriggerProvider, describe
from interlock.domain.refusal import FAULTS_MAX, Refusal, joined, of_fault
from interlock.domain.sharding import digest, stimulus_identity


def compile_document(text: str, providers: Sequence[TriggerProvider] = PROVIDERS) -> Executable | Refusal:
    """The executable of a document, or why there is none."""
    document = parse(text)
    if isinstance(document, Refusal):
        return document
    triggers = _triggers(document, providers)
    if isinstance(triggers, Refusal):
        return triggers
    if refusal := joined(_wiring_faults(document.steps)):
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
        triggers=tuple(_load_trigger(trigger) for trigger in stored["triggers"]),
        nodes=tuple(_load_node(node) for node in stored["nodes"]),
        checkpoints=stored.get("checkpoints"),
    )


# ---- checks -------------------------------------------------------------------------------------------------------


def _triggers(document: Document, providers: Sequence[TriggerProvider]) -> tuple[Trigger, ...] | Refusal:
    """The triggers of a document, each described by exactly one provider (TRG-02)."""
    described = [describe(part, position, providers) for position, part in enumerate(document.triggers)]
    refusals = [each for each in described if isinstance(each, Refusal)]
    nodes = [each if isinstance(each, tuple) else () for each in described]
    triggers = [trigger for node in nodes for trigger in node]
    # What isn't described can't be compared, so one kind of fault is told after the other.
    refused = joined(refusals) or joined(_shared_claims(nodes)) or joined(_doubled_ids(nodes, document.steps))
    return refused or _too_many(triggers) or tuple(triggers)


def _too_many(triggers: Sequence[Trigger]) -> Refusal | None:
    """A node may claim several things, and each is a row and a claim in the one append of an activation."""
    if len(triggers) <= TRIGGERS_MAX:
        return None
    found = str(len(triggers))
    sentence = f"Expected at most {TRIGGERS_MAX} claims of all triggers of a definition, found {found}."
    return of_fault("too-large", sentence, "count", "triggers", f"at most {TRIGGERS_MAX} claims", found)


def _shared_claims(nodes: Sequence[Sequence[Trigger]]) -> list[Refusal]:
    """Triggers of one definition that ask for the same Exclusive claim (TRG-07)."""
    owners: dict[str, str] = {}
    found: list[Refusal] = []
    for number, trigger in ((number, trigger) for number, node in enumerate(nodes) for trigger in node):
        called = _called(trigger, number)
        if trigger.cardinality == "exclusive" and trigger.claim in owners:
            sentence = (
                f"Expected each exclusive claim once in a definition, found {trigger.claim!r} claimed by "
                f"{owners[trigger.claim]} and by {called}; remove one of them."
            )
            expected = f"{trigger.claim!r} claimed once"
            both = f"claimed by {owners[trigger.claim]} and by {called}"
            found.append(of_fault("conflict", sentence, "claim-twice", trigger.node_id, expected, both))
        owners[trigger.claim] = called
    return found


def _called(trigger: Trigger, number: int) -> str:
    """A trigger in a sentence: its id and its place in the document."""
    return f"trigger {trigger.node_id!r} (number {number + 1})"


def _doubled_ids(nodes: Sequence[Sequence[Trigger]], steps: Sequence[Step]) -> list[Refusal]:
    """Node ids that stand twice; bindings are told apart by them, sources name them."""
    counts = Counter([*(node[0].node_id for node in nodes if node), *(step.id for step in steps)])
    return [
        of_fault(
            "invalid",
            f"Expected each node id once, found {node_id!r} {count} times; give each its own id.",
            "id-twice",
            node_id,
            "this id once",
            f"{count} times",
        )
        for node_id, count in counts.items()
        if count > 1
    ]


def _wiring_faults(steps: Sequence[Step]) -> list[Refusal]:
    """Sources that name nothing that exists when their step runs."""
    known = [INPUT]
    found: list[Refusal] = []
    for step in steps:
        for place, source in _sources(step):
            if source.partition(".")[0] not in known:
                sentence = (
                    f"Expected {place} of step {step.id!r} to come from one of {', '.join(known)}, found {source!r}; "
                    "a step draws on the starting payload and on earlier steps only."
                )
                expected = f"{place} from one of {', '.join(known)}"
                found.append(of_fault("invalid", sentence, "source", step.id, expected, source))
                if len(found) == FAULTS_MAX:
                    # Each sentence names every step: of many faults there would be no end.
                    return found
        known.append(step.id)
    return found


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


class _StoredRoute(TypedDict):
    method: str
    template: str


class _StoredSchedule(TypedDict):
    kind: Literal["interval", "cron"]
    every_ms: int
    expression: str
    zone: str
    gap: Literal["shift", "skip"]
    overlap: Literal["first", "last", "both"]


class _StoredTrigger(TypedDict):
    node_id: str
    type: str
    name: str
    identity: str
    cardinality: Cardinality
    claim: str
    route: NotRequired[_StoredRoute]
    schedule: NotRequired[_StoredSchedule]


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
    stored = _StoredTrigger(
        node_id=trigger.node_id,
        type=trigger.type,
        name=trigger.name,
        identity=trigger.identity,
        cardinality=trigger.cardinality,
        claim=trigger.claim,
    )
    if route := trigger.route:
        stored["route"] = _StoredRoute(method=route.method, template=route.template)
    if schedule := trigger.schedule:
        stored["schedule"] = _StoredSchedule(
            kind=schedule.kind,
            every_ms=schedule.every_ms,
            expression=schedule.expression,
            zone=schedule.zone,
            gap=schedule.gap,
            overlap=schedule.overlap,
        )
    return stored


def _load_trigger(stored: _StoredTrigger) -> Trigger:
    route, schedule = stored.get("route"), stored.get("schedule")
    return Trigger(
        node_id=stored["node_id"],
        type=stored["type"],
        name=stored["name"],
        identity=stored["identity"],
        cardinality=stored["cardinality"],
        claim=stored["claim"],
        route=Route(**route) if route else None,
        schedule=Schedule(**schedule) if schedule else None,
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
