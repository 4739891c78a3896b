"""What a document compiles to, and what is refused."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.domain.definitions.compiler import canonical, compile_document, load
from interlock.domain.definitions.document import DOCUMENT_BYTES_MAX, DOCUMENT_DEPTH_MAX
from interlock.domain.definitions.executable import ActivityNode, Executable, TimerNode, Trigger, WaitNode
from interlock.domain.refusal import Refusal
from interlock.domain.sharding import digest, stimulus_identity

Json = dict[str, Any]

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def orders(**changes: object) -> Json:
    """A document with one of each step."""
    return {
        "name": "orders",
        "input": {"type": "object", "properties": {"order_id": {"type": "string"}}},
        "triggers": [{"type": "event", "name": "order.placed"}],
        "steps": [
            {"id": "reserve", "activity": "reserve", "inputs": {"order": "input", "country": "input.ship_to.country"}},
            {"id": "payment", "wait": {"event": "payment.received", "correlate": "input.order_id", "timeout": "2d"}},
            {"id": "pause", "sleep": "1h"},
            {"id": "ship", "activity": "dispatch", "inputs": {"reservation": "reserve", "payment": "payment"}},
        ],
    } | changes


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every part of a document, as what holds it and the key there."""
    keys = keys_of(value)
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


def keys_of(value: object) -> list[Any]:
    """The keys of an object or an array; none of anything else."""
    if isinstance(value, dict):
        return list(cast("Json", value))
    if isinstance(value, list):
        return list(range(len(cast("list[object]", value))))
    return []


def compiled(document: object) -> Executable:
    executable = compile_document(json.dumps(document))
    assert isinstance(executable, Executable), executable
    return executable


def refused(document: object) -> Refusal:
    refusal = compile_document(json.dumps(document))
    assert isinstance(refusal, Refusal), refusal
    return refusal


def test_a_document_compiles_to_its_triggers_and_nodes_in_order() -> None:
    executable = compiled(orders(checkpoints="coalesced", version="2026-07"))
    assert executable == Executable(
        artifact_id=digest("executable", canonical(executable)),
        definition_id="orders",
        version="2026-07",
        triggers=(
            Trigger(
                node_id="event:order.placed",
                type="Event",
                name="order.placed",
                identity=stimulus_identity("Event", "order.placed"),
                cardinality="fan-out",
                claim="event:order.placed",
            ),
        ),
        nodes=(
            ActivityNode(
                id="reserve",
                activity="reserve",
                inputs=(("country", "input.ship_to.country"), ("order", "input")),
            ),
            WaitNode(
                id="payment",
                type="Event",
                name="payment.received",
                identity=stimulus_identity("Event", "payment.received"),
                correlate="input.order_id",
                timeout_ms=172_800_000,
            ),
            TimerNode(id="pause", delay_ms=3_600_000),
            ActivityNode(id="ship", activity="dispatch", inputs=(("payment", "payment"), ("reservation", "reserve"))),
        ),
        checkpoints="coalesced",
    )


def test_canonical_content_and_executable_are_each_other() -> None:
    executable = compiled(orders(checkpoints="immediate"))
    content = canonical(executable)
    assert load(content) == executable
    assert canonical(load(content)) == content


def test_canonical_content_is_storage() -> None:
    # A log holds contents like this one; `load` reads them for as long as it exists.
    content = (
        '{"definition":"d","nodes":[{"delay_ms":1,"id":"a","kind":"timer"}],'
        '"triggers":[{"cardinality":"fan-out","claim":"event:e","identity":"i","name":"e","node_id":"event:e","type":"Event"}],'
        '"version":"v"}'
    )
    executable = load(content)
    assert executable.nodes == (TimerNode(id="a", delay_ms=1),)
    assert executable.checkpoints is None
    assert executable.artifact_id == "b7fb8cfe2c31ce8ae83eb3a41a7da862"
    assert canonical(executable) == content


def test_how_a_document_is_written_makes_no_other_executable() -> None:
    document = orders(description="How orders go.")
    document["steps"][0]["description"] = "Puts the goods aside."
    document["steps"][0]["inputs"] = dict(reversed(document["steps"][0]["inputs"].items()))
    rewritten = json.dumps(dict(reversed(document.items())), indent=4)
    assert compile_document(rewritten) == compiled(orders())


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "orders-eu"},
        {"triggers": [{"type": "event", "name": "order.imported"}]},
        {"steps": [{"id": "pause", "sleep": "2h"}]},
        {"checkpoints": "immediate"},
        {"version": "2"},
    ],
)
def test_what_runs_differently_is_another_executable(changes: Json) -> None:
    assert compiled(orders(**changes)).artifact_id != compiled(orders()).artifact_id


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": " "}, ['"name"', "blank"]),
        ({"name": "a\x00b"}, ['"name"', "printable"]),
        ({"name": "\ud800"}, ['"name"', "printable"]),
        ({"name": "n" * 201}, ['"name"', "at most 200"]),
        ({"name": 7}, ['"name"', "expected text", "7"]),
        ({"name": ".."}, ['"name"', "not '.' or '..'"]),
        ({"publish": {"slot": "a/b"}}, ['"publish.slot"', "without '/'"]),
        ({"nmae": "x"}, ["only known fields", '"nmae"']),
        ({"triggers": {"a": 1}}, ['"triggers"', "expected a JSON array, found an object"]),
        ({"triggers": []}, ['"triggers"', "at least 1 item,"]),
        ({"triggers": [{"type": "event"}]}, ['"triggers[0].name"', "found none"]),
        ({"steps": []}, ['"steps"', "at least 1 item,"]),
        ({"triggers": [{"type": "timer", "every": "0s"}]}, ["1000 ms or more", "found 0 ms"]),
        ({"triggers": [{"type": "timer", "every": "1ms"}]}, ["1000 ms or more", "found 1 ms"]),
        ({"name": 7, "steps": []}, ["; 1 more fault in it (`faults` has them all; with --json)"]),
        ({"steps": [{"id": "a"}]}, ['"steps[0]"', "activity", "wait", "sleep"]),
        ({"steps": [{"id": "a", "sleep": "soon"}]}, ['"steps[0].sleep"', "'soon'"]),
        ({"steps": [{"id": "a", "sleep": 60}]}, ['"steps[0].sleep"', "duration as text"]),
        ({"steps": [{"id": "a", "sleep": "0s"}]}, ['"steps[0].sleep"', "1ms or more"]),
        ({"steps": [{"id": "a", "sleep": "1h", "activity": "b"}]}, ["only known fields", '"steps[0].sleep"']),
        ({"steps": [{"id": "a", "wait": {"event": "e", "timeout": "P1Y"}}]}, ['"steps[0].wait.timeout"', "P1Y"]),
        ({"steps": [{"id": "a.b", "sleep": "1h"}]}, ['"steps[0].id"', "'a.b'"]),
        ({"steps": [{"id": "input", "sleep": "1h"}]}, ['"steps[0].id"', "starting payload"]),
        ({"steps": [{"id": "a", "activity": "b", "inputs": {"p": "input..x"}}]}, ['"steps[0].inputs.p"', "input..x"]),
        ({"checkpoints": "sometimes"}, ['"checkpoints"', "immediate", "coalesced"]),
    ],
)
def test_what_does_not_fit_the_format_is_refused_in_one_sentence_with_its_path(changes: Json, words: list[str]) -> None:
    refusal = refused(orders(**changes))
    assert refusal.kind == "invalid"
    assert [word for word in words if word not in refusal.sentence] == [], refusal.sentence
    assert "\n" not in refusal.sentence
    refusal.sentence.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "can't be read"),
        ("{", "can't be read"),
        ("[]", "Expected a JSON object as document, found an empty array."),
        ('{"name": "a", "name": "b"}', "'name' stands twice"),
        ('{"name": NaN}', "NaN is not a JSON number"),
        ('{"name": ' + "9" * 5000 + "}", "can't be read"),
    ],
)
def test_what_is_no_json_document_is_refused(text: str, words: str) -> None:
    refusal = compile_document(text)
    assert isinstance(refusal, Refusal)
    assert refusal.kind == "invalid"
    assert words in refusal.sentence


def test_a_document_is_bounded_in_size_and_depth() -> None:
    large = compile_document(json.dumps(orders(description="ä" * DOCUMENT_BYTES_MAX), ensure_ascii=False))
    deep, deeper = ("[" * levels + "]" * levels for levels in (DOCUMENT_DEPTH_MAX, DOCUMENT_DEPTH_MAX + 1))
    refusals = (large, compile_document(deep), compile_document(deeper), compile_document("[" * 100_000))
    kinds = [refusal.kind for refusal in refusals if isinstance(refusal, Refusal)]
    assert kinds == ["too-large", "invalid", "too-large", "too-large"]


def test_a_step_draws_on_the_input_and_on_earlier_steps_only() -> None:
    later = [{"id": "a", "activity": "a", "inputs": {"x": "b.y"}}, {"id": "b", "activity": "b"}]
    itself = [{"id": "a", "wait": {"event": "e", "correlate": "a.id"}}]
    for steps, found in ((later, "'b.y'"), (itself, "'a.id'")):
        refusal = refused(orders(steps=steps))
        assert refusal.kind == "invalid"
        assert "'a'" in refusal.sentence
        assert found in refusal.sentence


def test_each_node_has_an_id_of_its_own() -> None:
    steps = [{"id": "a", "sleep": "1h"}, {"id": "a", "sleep": "2h"}]
    assert "'a' 2 times" in refused(orders(steps=steps)).sentence
    named = [{"type": "event", "name": "order.placed", "id": "a"}]
    assert "'a' 2 times" in refused(orders(triggers=named, steps=steps[:1])).sentence


@given(st.text())
def test_no_text_at_all_breaks_the_compiler(text: str) -> None:
    assert isinstance(compile_document(text), Refusal)


@given(st.data())
def test_no_json_in_place_of_a_part_breaks_the_compiler(data: st.DataObject) -> None:
    document = orders()
    holder, key = data.draw(st.sampled_from(places(document)))
    holder[key] = data.draw(JSON_VALUES)
    result = compile_document(json.dumps(document))
    if isinstance(result, Executable):
        canonical(result).encode("utf-8")
        assert load(canonical(result)) == result
    else:
        result.sentence.encode("utf-8")
