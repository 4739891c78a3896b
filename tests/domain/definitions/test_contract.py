"""Which changes of a definition make a new version."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from interlock.domain.definitions.compiler import compile_document
from interlock.domain.definitions.executable import Executable

Json = dict[str, Any]


def definition() -> Json:
    return {
        "name": "orders",
        "description": "How orders go.",
        "input": {
            "title": "Order",
            "type": "object",
            "properties": {"lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}}, "title": {"type": "string"}},
            "required": ["lines", "title"],
            "$defs": {"Line": {"title": "Line", "type": "object", "properties": {"sku": {"type": "string"}}}},
        },
        "triggers": [{"type": "event", "name": "order.placed"}],
        "steps": [
            {"id": "reserve", "activity": "reserve", "inputs": {"order": "input"}, "output": {"type": "object"}},
            {"id": "payment", "wait": {"event": "payment.received", "correlate": "input.id"}},
            {"id": "ship", "activity": "ship", "inputs": {"order": "input"}},
        ],
    }


def version(document: Json) -> str:
    executable = compile_document(json.dumps(document))
    assert isinstance(executable, Executable), executable
    return executable.version


def changed(change: Callable[[Json], object]) -> str:
    document = definition()
    change(document)
    return version(document)


def rename_line(document: Json) -> None:
    schema = document["input"]
    schema["$defs"] = {"OrderLine": schema["$defs"]["Line"], "Unused": {"type": "null"}}
    schema["properties"]["lines"]["items"]["$ref"] = "#/$defs/OrderLine"


SAME: dict[str, Callable[[Json], object]] = {
    "the name of the definition": lambda d: d.update(name="orders-eu"),
    "a description": lambda d: d.update(description="Otherwise."),
    "the body of a step": lambda d: d["steps"][0].update(activity="reserve_fast"),
    "the name of a parameter": lambda d: d["steps"][0].update(inputs={"placed": "input"}),
    "a trigger": lambda d: d["triggers"].append({"type": "event", "name": "order.imported"}),
    "a title in a schema": lambda d: d["input"].update(title="PlacedOrder"),
    "the order of what is required": lambda d: d["input"].update(required=["title", "lines"]),
    "the name of a local schema": rename_line,
    "the order of keys": lambda d: d.update(input=dict(reversed(d["input"].items()))),
}

OTHER: dict[str, Callable[[Json], object]] = {
    "the id of a step": lambda d: d["steps"][2].update(id="dispatch"),
    "the order of steps": lambda d: d["steps"].reverse(),
    "the kind of a step": lambda d: d["steps"].__setitem__(2, {"id": "ship", "sleep": "1h"}),
    "what a step draws on": lambda d: d["steps"][2].update(inputs={"order": "input", "reservation": "reserve"}),
    "a step more": lambda d: d["steps"].append({"id": "pause", "sleep": "1h"}),
    "the input's schema": lambda d: d["input"].update(required=["lines"]),
    "a property that is called as a remark is": lambda d: d["input"]["properties"].pop("title"),
    "a local schema": lambda d: d["input"]["$defs"]["Line"].update(required=["sku"]),
    "an output's schema": lambda d: d["steps"][0].update(output={"type": "array"}),
    "no input schema": lambda d: d.update(input=None),
}


@pytest.mark.parametrize("name", SAME)
def test_names_descriptions_and_bodies_keep_the_version(name: str) -> None:
    """Proves: VER-01"""
    assert changed(SAME[name]) == version(definition())


@pytest.mark.parametrize("name", OTHER)
def test_what_the_structure_promises_makes_a_version(name: str) -> None:
    """Proves: VER-01"""
    assert changed(OTHER[name]) != version(definition())


def test_versions_are_storage() -> None:
    # The figure may only change together with a decision to give every stored definition a new version.
    assert version(definition()) == "7a447c85552fd2d240227e0f9b9ff63a"


def test_a_declared_version_is_kept() -> None:
    assert changed(lambda d: d.update(version="2026.07")) == "2026.07"


def test_a_schema_that_refers_to_itself_has_a_version() -> None:
    tree: Json = {"$ref": "#/$defs/T", "$defs": {"T": {"properties": {"kids": {"items": {"$ref": "#/$defs/T"}}}}}}
    renamed: Json = json.loads(json.dumps(tree).replace("/T", "/Tree").replace('"T"', '"Tree"'))
    assert changed(lambda d: d.update(input=tree)) == changed(lambda d: d.update(input=renamed))
    assert changed(lambda d: d.update(input={"$ref": "#"})) != changed(lambda d: d.update(input={"$ref": "#/x"}))
