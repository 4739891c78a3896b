"""What an extension has to hold, for its author's tests (EXT-01).

    def test_mqtt() -> None:
        check_trigger_provider(Mqtt(), own=[trigger("acme.mqtt", config={"topic": "orders"})])

Each raises `AssertionError`, with what was expected and found. What passes here is taken by an engine.
"""

import json
from collections.abc import Sequence

from interlock.domain.definitions.compiler import compile_document
from interlock.domain.definitions.document import TriggerPart, parse_trigger
from interlock.domain.definitions.executable import Executable
from interlock.domain.definitions.names import name_fault
from interlock.domain.definitions.providers import PROVIDERS, TriggerProvider, describe
from interlock.domain.publishing.checks import CandidateSet, PublicationValidator, objection
from interlock.domain.refusal import Refusal
from interlock.processors.publishing.observers import PreparedPublication, PublicationObserver, observed
from interlock.triggers import Trigger, cron, event, http, timer, trigger
from interlock.workflow import Workflow

OTHERS: Sequence[Trigger] = (
    event("order.placed"),
    http.post("/orders/:id"),
    timer("15m"),
    cron("0 6 * * *"),
    trigger("nobody.knows-this"),
    trigger("nobody.knows-this", name="that", config={"list": [1, None, {"a": True}]}),
)
"""Triggers that no provider of a third party may take for its own."""


def check_trigger_provider(
    provider: TriggerProvider, *, own: Sequence[Trigger], wrong: Sequence[Trigger] = (), idle: Sequence[Trigger] = ()
) -> None:
    """A provider describes its own triggers, says what is wrong with those that are wrong, gives nothing for those that
    intentionally start nothing, and passes all others by; twice the same each time."""
    _check_id(provider)
    assert own, "expected one of its own triggers at least, found none"
    for found in (*own, *wrong, *idle):
        _check_pure(provider, found)
    for found in own:
        said = _described(provider, found)
        assert not isinstance(said, Refusal), f"expected {found} to be described, found: {said.sentence}"
        assert said, f"expected {found} to start something, found that it starts nothing"
    for found in wrong:
        said = _described(provider, found)
        assert isinstance(said, Refusal), f"expected a fault for {found}, found {said}"
        assert said.faults[0].code not in ("provider", "provider-raised", "descriptor"), said.sentence
    for found in idle:
        assert _described(provider, found) == (), f"expected that {found} starts nothing"
    for found in OTHERS:
        said = provider.describe(_part(found))
        assert said is None, f"expected None for {found}, which is not its own, found {said}"


def check_publication_validator(
    validator: PublicationValidator,
    *,
    passes: Sequence[Workflow],
    refuses: Sequence[Workflow],
    providers: Sequence[TriggerProvider] = PROVIDERS,
) -> None:
    """A validator lets some workflows pass and objects to others, by faults; twice the same each time."""
    _check_id(validator)
    for workflow in (*passes, *refuses):
        candidate = candidate_of(workflow, providers)
        refusal, again = (objection(candidate, [validator], now_ms=0) for _ in range(2))
        assert refusal == again, f"expected the same answer twice, found {refusal} and {again}"
        if workflow in passes:
            said = "" if refusal is None else refusal.sentence
            assert not said, f"expected {workflow.name!r} to pass, found: {said}"
        else:
            assert refusal is not None, f"expected an objection to {workflow.name!r}, found none"
            assert refusal.faults[0].code != "validator-failed", refusal.sentence


async def check_publication_observer(
    observer: PublicationObserver, workflows: Sequence[Workflow], *, providers: Sequence[TriggerProvider] = PROVIDERS
) -> None:
    """An observer takes what it is told, and takes it again, as after a crash."""
    _check_id(observer)
    for workflow in workflows:
        candidate = candidate_of(workflow, providers)
        publication = PreparedPublication(
            publication_id=f"p-{workflow.name}",
            shell=candidate.shell,
            definition_id=candidate.definition_id,
            slot_id=f"s-{workflow.name}",
            artifact_id=candidate.artifact_id,
            triggers=candidate.triggers,
        )
        for time in ("first", "second"):
            why = await observed([observer], publication)
            assert not why, f"expected {workflow.name!r} to be taken the {time} time, found: {why}"


def candidate_of(workflow: Workflow, providers: Sequence[TriggerProvider] = PROVIDERS) -> CandidateSet:
    """What validators are shown where a workflow is published into an empty slot. Raises `AssertionError` where it
    doesn't compile."""
    executable = compile_document(json.dumps(workflow.document()), providers)
    assert isinstance(executable, Executable), f"expected {workflow.name!r} to compile, found {executable.sentence}"
    return CandidateSet(
        shell="default",
        definition_id=executable.definition_id,
        slot_name="default",
        version=executable.version,
        artifact_id=executable.artifact_id,
        triggers=executable.triggers,
        replaces="",
    )


def _check_id(extension: TriggerProvider | PublicationValidator | PublicationObserver) -> None:
    wrong = name_fault(extension.id)
    assert not wrong, f"for the id of {type(extension).__name__}: {wrong}"


def _check_pure(provider: TriggerProvider, found: Trigger) -> None:
    first, second = (provider.describe(_part(found)) for _ in range(2))
    assert first == second, f"expected the same description twice of {found}, found {first} and {second}"


def _described(provider: TriggerProvider, found: Trigger) -> object:
    return describe(_part(found), 0, (*PROVIDERS, provider))


def _part(found: Trigger) -> TriggerPart:
    part = parse_trigger(found.part())
    assert not isinstance(part, Refusal), part.sentence
    return part
