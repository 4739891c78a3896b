"""What Avro's rules can read as the next version, and what they can't; what they can, fastavro does."""

from typing import Any

import pytest

from interlock.schemas.avro import read_record, write_record
from interlock.schemas.evolution import obstacles
from tests.schemas.shop import record

INNER_1 = record("Inner", ("a", "long"))
INNER_2 = record("Inner", ("a", "long"), ("b", "string", ""))
INNER_NO_DEFAULT = record("Inner", ("a", "long"), ("b", "string"))
OTHER = record("Other", ("a", "long"))
RENAMED = record("Outer", ("y", "long"))
RENAMED["fields"][0]["aliases"] = ["x"]


def outer(kind: Any, *more: tuple[Any, ...]) -> dict[str, Any]:
    return record("Outer", ("x", kind), *more)


READABLE: dict[str, tuple[dict[str, Any], dict[str, Any], object]] = {
    "the same": (outer("long"), outer("long"), 7),
    "a field more, with a default": (outer("long"), outer("long", ("y", ["null", "string"], None)), 7),
    "a field less": (outer("long", ("y", "long", 0)), outer("long"), 7),
    "a renamed field": (outer("long"), RENAMED, 7),
    "a wider number": (outer("long"), outer("double"), 7),
    "text as bytes": (outer("string"), outer("bytes"), "seven"),
    "one type more": (outer("string"), outer(["null", "string"]), "seven"),
    "a field more within a list": (
        outer({"type": "array", "items": INNER_1}),
        outer({"type": "array", "items": INNER_2}),
        [{"a": 7}],
    ),
    "a field more within a map": (
        outer({"type": "map", "values": INNER_1}),
        outer({"type": "map", "values": INNER_2}),
        {"k": {"a": 7}},
    ),
    "a record more in a union": (outer([INNER_1]), outer([OTHER, INNER_2]), {"a": 7}),
}


@pytest.mark.parametrize("case", READABLE)
def test_what_the_rules_can_read_is_no_obstacle_and_is_read(case: str) -> None:
    """Proves: LOG-04"""
    writer, reader, value = READABLE[case]
    assert obstacles(writer, reader) == []
    found = read_record(write_record({"x": value}, writer), writer, reader)
    assert found.keys() == {field["name"] for field in reader["fields"]}


UNREADABLE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a field more, without a default": (outer("long"), outer("long", ("y", "long")), "Outer.y: expected a default"),
    "another type": (outer("long"), outer("string"), "Outer.x: expected string, found long"),
    "a narrower number": (outer("double"), outer("long"), "Outer.x: expected long, found double"),
    "a type less": (outer(["null", "string"]), outer("string"), "Outer.x: expected string, found null"),
    "another record": (outer(INNER_1), outer(OTHER), "Outer.x: expected interlock.shop.Other, found interlock.shop.In"),
    "a record less in a union": (
        outer([INNER_1, OTHER]),
        outer([OTHER]),
        "Outer.x: expected one of ['interlock.shop.O",
    ),
    "a list as a map": (
        outer({"type": "array", "items": "long"}),
        outer({"type": "map", "values": "long"}),
        "Outer.x: expected {'type': 'map'",
    ),
    "a list of another type": (
        outer({"type": "array", "items": "string"}),
        outer({"type": "array", "items": "long"}),
        "Outer.x[]: expected long, found string",
    ),
    "a nested field more, without a default": (
        outer({"type": "array", "items": INNER_1}),
        outer({"type": "array", "items": INNER_NO_DEFAULT}),
        "Inner.b: expected a default, since older records don't have it",
    ),
    "a nested field more, in a union": (outer([INNER_1]), outer(["null", INNER_NO_DEFAULT]), "Inner.b: expected a def"),
    "a list as a number": (outer({"type": "array", "items": "long"}), outer("long"), "Outer.x: expected long, found {"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_the_rules_cannot_read_is_named_with_its_place(case: str) -> None:
    """Proves: LOG-04"""
    writer, reader, expected = UNREADABLE[case]
    [found] = obstacles(writer, reader)
    assert found.startswith(f"interlock.shop.{expected}")


def test_another_name_of_the_whole_record_is_an_obstacle() -> None:
    assert obstacles(INNER_1, OTHER) == [
        "interlock.shop.Inner: expected interlock.shop.Other, found interlock.shop.Inner"
    ]


def test_a_record_that_holds_itself_is_looked_at_once() -> None:
    tree = record("Tree", ("left", ["null", "Tree"], None))
    taller = record("Tree", ("left", ["null", "Tree"], None), ("height", "long"))
    assert obstacles(tree, tree) == []
    assert obstacles(tree, taller) == [
        "interlock.shop.Tree.height: expected a default, since older records don't have it"
    ]
