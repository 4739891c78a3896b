"""Triggers are described by exactly one provider, or the publish fails before anything changes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import pytest

from interlock.domain.definitions.compiler import canonical, compile_document, load
from interlock.domain.definitions.document import TriggerPart
from interlock.domain.definitions.executable import Cardinality, Executable, Schedule, Trigger
from interlock.domain.definitions.providers import PROVIDERS, Descriptor, TriggerProvider
from interlock.domain.refusal import Fault, Refusal, fault
from tests.support.publishing import WITH_GATES, document, triggered_by


@dataclass(frozen=True)
class Provider:
    """A provider that knows every trigger of type "gate" and says of it what it was made with."""

    said: object
    """What it says, which may be anything: third parties write providers."""
    id: str = "second"
    cardinality: Cardinality = "fan-out"

    def describe(self, trigger: TriggerPart) -> Sequence[Descriptor] | Fault | None:
        if isinstance(self.said, BaseException):
            raise self.said
        return cast("Any", self.said) if trigger.type == "gate" else None


NORTH = Descriptor(type="Gate", name="n", claim="c")
GATE = document(on=("event:order.placed", "gate:north"))


def refusal(text: str, *providers: TriggerProvider) -> str:
    refused = compile_document(text, providers)
    assert isinstance(refused, Refusal)
    return refused.sentence


def test_a_trigger_that_no_provider_describes_is_refused_naming_both() -> None:
    """Proves: TRG-02"""
    sentence = refusal(GATE, *PROVIDERS)
    assert '"triggers[1]"' in sentence
    assert "none for type 'gate' among: cron, event, http, timer" in sentence


def test_a_trigger_that_several_providers_describe_is_refused_naming_them() -> None:
    """Proves: TRG-02"""
    sentence = refusal(GATE, *WITH_GATES, Provider([NORTH]))
    assert '"triggers[1]"' in sentence
    assert "found 2: gate, second" in sentence


@pytest.mark.parametrize("error", [RuntimeError("down"), SystemExit(3), KeyboardInterrupt()])
def test_whatever_a_provider_raises_refuses_the_document_and_names_it(error: BaseException) -> None:
    """Proves: TRG-02"""
    sentence = refusal(GATE, *PROVIDERS, Provider(error))
    assert "Expected provider 'second' to describe" in sentence
    assert f"found that it raised {type(error).__name__}" in sentence


@pytest.mark.parametrize("blank", ["", "  ", "a\x00"])
def test_a_provider_without_a_proper_id_is_refused(blank: str) -> None:
    """Proves: TRG-02"""
    sentence = refusal(GATE, *PROVIDERS, Provider([NORTH], id=blank))
    assert '"triggers[1]"' in sentence


@pytest.mark.parametrize("field", ["type", "name", "claim"])
def test_a_descriptor_that_leaves_something_blank_is_refused(field: str) -> None:
    """Proves: TRG-02"""
    words: dict[str, Any] = {"type": "Gate", "name": "north", "claim": "gate:north"} | {field: " "}
    sentence = refusal(GATE, *PROVIDERS, Provider([Descriptor(**words)]))
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
    executable = compile_document(GATE, (*PROVIDERS, Provider(())))
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


def test_each_provider_has_an_id_and_a_cardinality_that_stay() -> None:
    """Proves: TRG-01"""
    assert [(provider.id, provider.cardinality) for provider in PROVIDERS] == [
        ("event", "fan-out"),
        ("http", "exclusive"),
        ("timer", "fan-out"),
        ("cron", "fan-out"),
    ]


@pytest.mark.parametrize("odd", [NORTH, "north", [NORTH, "south"], 7, True])
def test_what_is_no_sequence_of_descriptors_is_refused_naming_node_and_provider(odd: object) -> None:
    """Proves: TRG-02"""
    sentence = refusal(GATE, *PROVIDERS, Provider(odd))
    assert "descriptors from provider 'second'" in sentence
    assert '"triggers[1]"' in sentence


def test_a_provider_that_raises_fails_the_publish_with_its_name() -> None:
    """Proves: TRG-02"""
    sentence = refusal(GATE, *PROVIDERS, Provider(RuntimeError("no such\nbroker")))
    assert "provider 'second'" in sentence
    assert "RuntimeError: no such broker" in sentence


def test_a_provider_may_say_what_is_wrong_with_a_trigger_of_its_own() -> None:
    refused = compile_document(GATE, (*PROVIDERS, Provider(fault("gate", "name", "an open gate", "a shut one"))))
    assert isinstance(refused, Refusal)
    assert [(each.code, each.where) for each in refused.faults] == [("gate", "triggers[1].name")]
    assert "expected an open gate, found a shut one" in refused.sentence


def test_a_node_that_claims_one_thing_twice_is_refused_since_its_bindings_would_have_one_id() -> None:
    """Proves: TRG-02"""
    sentence = refusal(GATE, *PROVIDERS, Provider([NORTH, NORTH]))
    assert "'c' 2 times" in sentence
    assert "'second'" in sentence


def test_an_endpoint_claims_each_of_its_methods_whatever_its_parameters_are_called() -> None:
    """Proves: TRG-01, RTE-02"""
    first, second = (
        triggered({"type": "http", "method": ["GET", "POST"], "path": path}) for path in ("/a/:x/*rest", "/a/:y/*")
    )
    claims = [(trigger.claim, trigger.cardinality) for trigger in first]
    assert claims == [("http:GET /a/:/*", "exclusive"), ("http:POST /a/:/*", "exclusive")]
    assert [trigger.identity for trigger in first] == [trigger.identity for trigger in second]
    assert [trigger.route and trigger.route.template for trigger in first] == ["/a/:x/*rest"] * 2
    assert len({trigger.node_id for trigger in first}) == 1


def test_two_endpoints_of_one_definition_that_differ_in_names_only_are_refused_naming_both() -> None:
    """Proves: TRG-07"""
    nodes = [
        {"type": "http", "method": "GET", "path": f"/a/:{name}", "id": node}
        for name, node in (("x", "early"), ("y", "late"))
    ]
    refused = compile_document(triggered_by(*nodes))
    assert isinstance(refused, Refusal)
    assert (refused.kind, refused.faults[0].code) == ("conflict", "claim-twice")
    assert all(word in refused.sentence for word in ("'early'", "'late'", "'http:GET /a/:'"))


def test_timers_and_crons_give_one_binding_and_one_schedule_each() -> None:
    """Proves: SCH-01"""
    every, daily = triggered(
        {"type": "timer", "every": "PT15M"}, {"type": "cron", "expression": "0  6 * * MON-fri", "zone": "Europe/Paris"}
    )
    assert (every.claim, every.cardinality) == ("timer:900000ms", "fan-out")
    assert every.schedule == Schedule(kind="interval", every_ms=900_000)
    assert (daily.claim, daily.cardinality) == ("cron:0 6 * * mon-fri Europe/Paris", "fan-out")
    assert daily.schedule == Schedule(kind="cron", expression="0 6 * * mon-fri", zone="Europe/Paris")


def test_a_schedule_without_a_zone_is_of_utc_and_rules_that_differ_are_other_claims() -> None:
    """Proves: SCH-04"""
    plain, ruled = triggered(
        {"type": "cron", "expression": "0 6 * * *"},
        {"type": "cron", "expression": "0 6 * * *", "gap": "skip", "overlap": "both"},
    )
    assert plain.schedule is not None
    assert plain.schedule.zone == "UTC"
    assert ruled.claim == "cron:0 6 * * * UTC gap=skip overlap=both"


@pytest.mark.parametrize(
    ("trigger", "where", "expected", "found"),
    [
        ({"type": "http", "method": "GET", "path": "orders"}, "path", "begins with /", "'orders'"),
        ({"type": "http", "method": "GET", "path": "/orders/{id}"}, "path", "a parameter as :id", "'{id}'"),
        ({"type": "http", "method": "GET", "path": "/a//b"}, "path", "not empty", "'/a//b'"),
        ({"type": "http", "method": "post", "path": "/a"}, "method", "one of GET", "'post'"),
        ({"type": "http", "method": ["GET", "GET"], "path": "/a"}, "", "each claim once", "2 times"),
        ({"type": "timer", "every": "10ms"}, "every", "1000 ms or more", "10 ms"),
        ({"type": "timer", "every": "soon"}, "every", "a duration", "'soon'"),
        ({"type": "cron", "expression": "0 6 * *"}, "expression", "five fields", "4 in"),
        ({"type": "cron", "expression": "H 6 * * *"}, "expression", "for the minute", "'h'"),
        ({"type": "cron", "expression": "0 24 * * *"}, "expression", "0 to 23", "'24'"),
        ({"type": "cron", "expression": "0 6 * * *", "zone": "Paris"}, "zone", "IANA", "'Paris'"),
    ],
)
def test_a_trigger_that_can_not_be_one_is_refused_naming_node_field_expected_and_found(
    trigger: dict[str, Any], where: str, expected: str, found: str
) -> None:
    """Proves: SCH-01, RTE-02"""
    refused = compile_document(triggered_by({"type": "event", "name": "a"}, trigger))
    assert isinstance(refused, Refusal)
    (only,) = refused.faults
    assert only.where == ("triggers[1]." + where).rstrip(".")
    assert expected in only.expected
    assert found in only.found
    assert '"triggers[1]' in refused.sentence


def test_content_with_routes_and_schedules_and_its_executable_are_each_other() -> None:
    text = triggered_by(
        {"type": "http", "method": "GET", "path": "/a/:x"},
        {"type": "timer", "every": "1m"},
        {"type": "cron", "expression": "0 6 * * *", "gap": "skip"},
    )
    executable = compile_document(text)
    assert isinstance(executable, Executable)
    assert load(canonical(executable)) == executable


def triggered(*triggers: dict[str, Any]) -> tuple[Trigger, ...]:
    """What they compile to."""
    executable = compile_document(triggered_by(*triggers))
    assert isinstance(executable, Executable), executable
    return executable.triggers
