"""The version of a definition: the hash of its structural contract (VER-01).

The contract is what a run and the code behind it rely on: the ids of the steps in order, their kinds, which earlier
steps they draw on, and the JSON Schemas. Names, descriptions, bodies, and how a schema is written don't count: titles,
the order of keys and the names of `$defs` are dropped. Hashes are storage: another way of computing them gives every
definition a new version.
"""

import json
from typing import Final, cast

from interlock.domain.definitions.document import ActivityStep, Document, JsonSchema, Step, WaitStep
from interlock.domain.definitions.names import INPUT
from interlock.domain.sharding import digest

_REMARKS: Final = frozenset({"title", "description", "$comment", "examples", "$schema", "$id", "$defs", "definitions"})
_NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "dependentRequired"})
"""Keywords whose keys are names of the author, not keywords."""
_LITERAL: Final = frozenset({"const", "default", "enum"})
"""Keywords whose values are data, in which nothing is a remark."""
_SETS: Final = frozenset({"required", "type"})
"""Keywords whose lists have no order."""


def contract_version(document: Document) -> str:
    """The version that a document has if its author declares none."""
    contract = {
        "input": _normal(document.input),
        "steps": [_step(step) for step in document.steps],
    }
    return digest("contract", _text(contract))


def _step(step: Step) -> dict[str, object]:
    match step:
        case ActivityStep():
            drawn = {source.partition(".")[0] for source in step.inputs.values()} - {INPUT}
            return {"id": step.id, "kind": "activity", "needs": sorted(drawn), "output": _normal(step.output)}
        case WaitStep():
            drawn = {(step.wait.correlate or INPUT).partition(".")[0]} - {INPUT}
            return {"id": step.id, "kind": "wait", "needs": sorted(drawn)}
        case _:
            return {"id": step.id, "kind": "timer"}


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _normal(schema: JsonSchema | None) -> object:
    """A schema without remarks, its local definitions named by the order in which they are met."""
    if schema is None:
        return None
    numbers: dict[str, int] = {}
    whole = _keyword_values(schema, numbers)
    definitions: list[object] = []
    while len(definitions) < len(numbers):
        reference = list(numbers)[len(definitions)]
        definitions.append(_keyword_values(_resolve(schema, reference), numbers))
    return [whole, definitions]


def _keyword_values(schema: object, numbers: dict[str, int]) -> object:
    """A schema (or a list of them) in which references are numbers and remarks are gone."""
    if isinstance(schema, list):
        return [_keyword_values(inner, numbers) for inner in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    normal: dict[str, object] = {}
    for keyword, value in sorted(cast("dict[str, object]", schema).items()):
        if keyword == "$ref" and isinstance(value, str):
            normal[keyword] = numbers.setdefault(value, len(numbers))
        elif keyword in _NAMED and isinstance(value, dict):
            named = sorted(cast("dict[str, object]", value).items())
            normal[keyword] = {name: _keyword_values(inner, numbers) for name, inner in named}
        elif keyword in _LITERAL:
            normal[keyword] = value
        elif keyword in _SETS and isinstance(value, list):
            normal[keyword] = sorted(cast("list[object]", value), key=_text)
        elif keyword not in _REMARKS:
            normal[keyword] = _keyword_values(value, numbers)
    return normal


def _resolve(schema: JsonSchema, reference: str) -> object:
    """What a reference names within its schema; the reference itself where it names something elsewhere."""
    if not reference.startswith("#/"):
        return reference
    found = _at(schema, reference.removeprefix("#/").split("/"))
    return reference if found is None else found


def _at(schema: object, path: list[str]) -> object:
    """What stands at a path of keys; None if nothing does."""
    if not path:
        return schema
    return _at(cast("dict[str, object]", schema).get(path[0]), path[1:]) if isinstance(schema, dict) else None
