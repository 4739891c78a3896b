"""The tree is what the architecture says: four folders at the top, linked into the package, small modules within."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINKED = ("domain", "projections", "processors", "schemas")
FUNCTION_LINES_MAX = 70
"""A screen. What is longer is read in pieces, and each piece guessed to be independent of the others."""
MODULE_LINES_MAX = 500
"""Most are below 200; what grows past this holds a second subject."""


def tracked_files() -> list[Path]:
    """The files of the repository: what git tracks or would track, so that a new one is checked before its commit."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


@cache
def modules() -> tuple[tuple[Path, str, ast.Module], ...]:
    """Each Python module with its text and its tree."""
    sources = ((path, path.read_text("utf-8")) for path in tracked_files() if path.suffix == ".py")
    return tuple((path, text, ast.parse(text, str(path))) for path, text in sources)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a module, nested ones and methods included."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function from its `def` to its end, without its docstring."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        assert first.end_lineno is not None
        lines -= first.end_lineno - first.lineno + 1
    return lines


@pytest.mark.parametrize("name", LINKED)
def test_the_folders_at_the_top_are_linked_into_the_package(name: str) -> None:
    link, folder = ROOT / "src" / "interlock" / name, ROOT / name
    hint = "the checkout has no symbolic links: say `git config core.symlinks true`, then check out again"
    assert link.is_dir(), f"expected {link} to be a link to {folder}, found none; {hint}"
    assert link.samefile(folder), f"expected {link} to be {folder} itself, found another folder; {hint}"


def test_every_module_says_what_it_is() -> None:
    silent = [str(path.relative_to(ROOT)) for path, _, tree in modules() if not ast.get_docstring(tree)]
    assert silent == []


def test_modules_are_small() -> None:
    lengths = {str(path.relative_to(ROOT)): text.count("\n") for path, text, _ in modules()}
    assert {name: lines for name, lines in lengths.items() if lines > MODULE_LINES_MAX} == {}


def test_functions_fit_a_screen() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}: {lines} lines"
        for path, _, tree in modules()
        for function in functions(tree)
        if (lines := code_lines(function)) > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_no_file_names_the_place_where_it_was_made() -> None:
    # Put together from pieces, so that this file does not hold what it looks for.
    places = [
        "/" + "root/",
        "/" + "home/",
        "/" + "work/",
        "/" + "Users/",
        "pypi" + ".org",
        "files.python" + "hosted",
        "repo1" + ".maven",
        "repo.maven" + ".apache",
        "registry.npm" + "js",
        "find" + "-links",
    ]
    found = [
        f"{path.relative_to(ROOT)}: {place}"
        for path in tracked_files()
        for place in places
        if place.encode() in path.read_bytes()
    ]
    assert found == []
