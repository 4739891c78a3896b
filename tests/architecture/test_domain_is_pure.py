"""The domain decides and nothing else: whatever could tell the time, draw lots, wait or reach out is not at hand there.

What it may import is listed, rather than what it may not, so that a new way to reach out is a fault until somebody has
thought about it. import-linter says the same of whole packages; this also sees what needs no import.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.domain.decider import Decision
from tests.support.publishing import Desk, answered, publish

DOMAIN = Path(__file__).resolve().parents[2] / "domain"
MODULES = sorted(DOMAIN.rglob("*.py"))
IMPORTED = {
    *("bisect", "collections", "collections.abc", "dataclasses", "difflib", "enum", "functools", "hashlib", "heapq"),
    *("itertools", "json", "math", "operator", "re", "typing", "unicodedata", "zlib"),
}
"""Of the standard library: values and functions of their arguments alone."""
OUTSIDE = {
    "definitions/document.py": {"pydantic", "pydantic_core"},
    "definitions/schedules.py": {"croniter", "datetime", "zoneinfo"},
}
"""Documents enter as text, and pydantic reads them. Calendars are arithmetic on instants that are handed in, and the
rules of zones are tables; `datetime.now` is not among what is used, which the test of schedules shows."""
REACHES_OUT = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint", "globals", "id", "hash"}
"""Built-in functions that act, or that answer differently in each process."""


def test_there_are_modules_to_look_at() -> None:
    assert len(MODULES) > 50


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(DOMAIN)))
def test_a_module_of_the_domain_has_no_engine_no_io_and_no_clock(path: Path) -> None:
    """Proves: EXT-02"""
    tree = ast.parse(path.read_text("utf-8"))
    allowed = IMPORTED | OUTSIDE.get(str(path.relative_to(DOMAIN)), set())
    strange = [name for name in imports(tree) if name not in allowed and not name.startswith("interlock.domain")]
    assert strange == []
    assert list(acts(tree)) == []


def test_what_reaches_out_is_seen() -> None:
    """Otherwise the test above would show nothing."""
    source = "import os\nfrom interlock.log import port\nasync def f():\n    global x\n    x = open('f')\n    await x\n"
    tree = ast.parse(source)
    assert list(imports(tree)) == ["os", "interlock.log"]
    assert sorted(acts(tree)) == ["3 AsyncFunctionDef", "4 Global", "5 open", "6 Await"]


def test_a_decision_is_a_function_of_what_it_is_given() -> None:
    """Proves: EXT-02 (the same state, message and time give the same events and intents, ids included)."""
    first, second = Desk(), Desk()
    for desk in (first, second):
        assert isinstance(desk.ask(publish("c1")), Decision)
        assert isinstance(desk.ask(answered("c1")), Decision)
    assert (first.changes, first.intents) == (second.changes, second.intents)


def imports(tree: ast.Module) -> Iterator[str]:
    """The modules that are imported, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield f"{'.' * node.level}{node.module or ''}"


def acts(tree: ast.Module) -> Iterator[str]:
    """What does something besides computing, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith() | ast.Global():
                yield f"{node.lineno} {type(node).__name__}"
            case ast.Call(func=ast.Name(id=name)) if name in REACHES_OUT:
                yield f"{node.lineno} {name}"
            case _:
                pass
