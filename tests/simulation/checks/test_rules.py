"""No rule without a test that breaks it, and a true history breaks none."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation.checks.story import Story, judged
from tests.simulation.checks.swallowed import KINDS

pytestmark = pytest.mark.simulation
HERE = Path(__file__).parent


def rules() -> Iterator[str]:
    """Every rule that a checker names where it raises or expects."""
    yield from (f"swallowed-{kind}" for kind in KINDS.values())
    for path in HERE.glob("*.py"):
        if path.name.startswith("test_"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                at = {"Violation": 0, "expect": 1}.get(node.func.id)
                if at is not None and len(node.args) > at and isinstance(node.args[at], ast.Constant):
                    yield str(ast.literal_eval(node.args[at]))


def test_a_true_history_breaks_no_rule(story: Story) -> None:
    assert judged(story.copy()) == ""


def test_each_rule_is_broken_by_some_test() -> None:
    tests = "".join(path.read_text("utf-8") for path in HERE.glob("test_*.py"))
    found = set(rules())
    assert len(found) > 80
    assert {rule for rule in found if f'"{rule}"' not in tests} == set()


def test_each_checker_names_its_rules() -> None:
    for path in HERE.glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        told = ast.get_docstring(tree) or ""
        if path.name.startswith("test_") or "Rules" not in told:
            continue
        named = {each.strip(" .") for each in told.split("Rules", 1)[1].split(":", 1)[1].replace("\n", " ").split(",")}
        raised = {
            str(ast.literal_eval(node.args[at]))
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if (at := {"Violation": 0, "expect": 1}.get(node.func.id)) is not None
            and len(node.args) > at
            and isinstance(node.args[at], ast.Constant)
        }
        if path.name == "swallowed.py":
            raised |= {f"swallowed-{kind}" for kind in KINDS.values()}
        assert named == raised, path.name
