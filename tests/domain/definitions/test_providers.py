"""Triggers are described by exactly one provider, or the publish fails before anything changes."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from interlock.domain.definitions.compiler import compile_document
from interlock.domain.definitions.document import TriggerPart
from interlock.domain.definitions.executable import Cardinality, Executable
from interlock.domain.definitions.providers import PROVIDERS, Descriptor, TriggerProvider
from interlock.domain.refusal import Refusal
from tests.support.publishing import WITH_GATES, document


@dataclass(frozen=True)
class Provider:
    """A provider that knows every trigger of type "gate" and says of it what it was made with."""

    descriptor: Descriptor | None
    id: str = "second"
    cardinality: Cardinality = "fan-out"

    def recognises(self, trigger: TriggerPart) -> bool:
        return trigger.type == "gate"

    def describe(self, trigger: TriggerPart) -> Descriptor | None:
        return self.descriptor


GATE = document(on=("event:order.placed", "gate:north"))


def refusal(text: str, *providers: TriggerProvider) -> str:
    refused = compile_document(text, providers)
    assert isinstance(refused, Refusal)
    return refused.sentence


def test_a_trigger_that_no_provider_describes_is_refused_naming_both() -> None:
    """Proves: TRG-02"""
    sentence = refusal(GATE, *PROVIDERS)
    assert '"triggers[1]"' in sentence
    assert "none for type 'gate' among: event" in sentence


def test_a_trigger_that_several_providers_describe_is_refused_naming_them() -> None:
    """Proves: TRG-02"""
    sentence = refusal(GATE, *WITH_GATES, Provider(Descriptor(type="Gate", name="n", claim="c")))
    assert '"triggers[1]"' in sentence
    assert "found 2: gate, second" in sentence


@pytest.mark.parametrize("blank", ["", "  ", "a\x00"])
def test_a_provider_without_a_proper_id_is_refused(blank: str) -> None:
    """Proves: TRG-02"""
    sentence = refusal(GATE, *PROVIDERS, Provider(Descriptor(type="Gate", name="n", claim="c"), id=blank))
    assert '"triggers[1]"' in sentence


@pytest.mark.parametrize("field", ["type", "name", "claim"])
def test_a_descriptor_that_leaves_something_blank_is_refused(field: str) -> None:
    """Proves: TRG-02"""
    words: dict[str, Any] = {"type": "Gate", "name": "north", "claim": "gate:north"} | {field: " "}
    sentence = refusal(GATE, *PROVIDERS, Provider(Descriptor(**words)))
    assert "'second'" in sentence
    assert '"triggers[1]"' in sentence


def test_two_triggers_that_would_share_a_binding_id_are_refused() -> None:
    """Proves: TRG-02"""
    assert "'event:a' 2 times" in refusal(document(on=("event:a", "event:a")), *PROVIDERS)


def test_two_triggers_may_ask_for_the_same_fan_out_claim_under_ids_of_their_own() -> None:
    text = document()
    twice: dict[str, Any] = json.loads(text)
    twice["triggers"] = [{"type": "event", "name": "a", "id": node} for node in ("first", "second")]
    executable = compile_document(json.dumps(twice))
    assert isinstance(executable, Executable)
    assert [(trigger.node_id, trigger.claim) for trigger in executable.triggers] == [
        ("first", "event:a"),
        ("second", "event:a"),
    ]


def test_a_provider_that_gives_no_descriptor_lets_its_trigger_start_nothing() -> None:
    """Proves: TRG-03"""
    executable = compile_document(GATE, (*PROVIDERS, Provider(None)))
    assert isinstance(executable, Executable)
    assert [trigger.claim for trigger in executable.triggers] == ["event:order.placed"]


def test_two_nodes_with_the_same_exclusive_claim_are_refused_naming_both() -> None:
    """Proves: TRG-07"""
    twice: dict[str, Any] = json.loads(GATE)
    twice["triggers"] = [{"type": "gate", "name": "north", "id": node} for node in ("early", "late")]
    refused = compile_document(json.dumps(twice), WITH_GATES)
    assert isinstance(refused, Refusal)
    assert refused.kind == "conflict"
    assert all(word in refused.sentence for word in ("'early'", "'late'", "'gate:north'"))


def test_events_fan_out_and_have_an_id_that_stays() -> None:
    """Proves: TRG-01"""
    assert [(provider.id, provider.cardinality) for provider in PROVIDERS] == [("event", "fan-out")]
