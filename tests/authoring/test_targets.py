"""What a command line names: documents and apps."""

import json
import os
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interlock import Workflow, activity, event
from interlock.activities import AuthoringError
from interlock.targets import TargetError, collect, load_target

DOCUMENT = {"name": "d", "triggers": [{"type": "event", "name": "e"}], "steps": [{"id": "a", "sleep": "1h"}]}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_a_json_file_is_taken_as_it_is_written(here: Path) -> None:
    text = json.dumps(DOCUMENT, indent=3)
    (here / "d.json").write_text(text, "utf-8")
    assert load_target("d.json") == text


@pytest.mark.parametrize("suffix", ["yaml", "yml"])
def test_a_yaml_file_says_the_same(here: Path, suffix: str) -> None:
    yaml = 'name: d\ntriggers:\n- {type: event, name: e}\nsteps:\n- id: a\n  sleep: "1h"\n'
    (here / f"d.{suffix}").write_text(yaml, "utf-8")
    assert json.loads(load_target(f"d.{suffix}")) == DOCUMENT


@pytest.mark.parametrize("text", ["a: [", "when: 2026-01-01", "x: .nan", "\x07"])
def test_yaml_that_holds_no_json_is_refused(here: Path, text: str) -> None:
    (here / "d.yaml").write_text(text, "utf-8")
    with pytest.raises(TargetError, match=r"d\.yaml"):
        load_target("d.yaml")


def test_a_document_that_is_too_large_is_told_so_with_its_own_bound(here: Path) -> None:
    (here / "d.json").write_text(json.dumps({**DOCUMENT, "description": "x" * 9_000_000}), "utf-8")
    with pytest.raises(TargetError, match=r"at most 262144 bytes, found 9000\d\d\d in d\.json"):
        load_target("d.json")


def bomb(merged: str) -> str:
    """A short YAML text of a billion values: nine levels, each of ten aliases of the one before."""
    levels = [f"a{level}: &a{level} {{{merged}[{', '.join([f'*a{level - 1}'] * 10)}]}}" for level in range(1, 10)]
    return "\n".join(["a0: &a0 {x: 1}", *levels])


@pytest.mark.parametrize("merged", ["y: ", "<<: "])
def test_yaml_whose_aliases_stand_for_far_more_is_refused_without_making_it(here: Path, merged: str) -> None:
    (here / "d.yaml").write_text(bomb(merged), "utf-8")
    with pytest.raises(TargetError, match=r"with its aliases .* written out"):
        load_target("d.yaml")


def test_yaml_may_say_by_an_alias_what_stands_before(here: Path) -> None:
    (here / "d.yaml").write_text("a: &a {x: [1, 2]}\nb: *a\nc: {<<: *a, z: 3}\n", "utf-8")
    assert json.loads(load_target("d.yaml")) == {"a": {"x": [1, 2]}, "b": {"x": [1, 2]}, "c": {"x": [1, 2], "z": 3}}


def test_an_alias_within_what_it_names_is_refused(here: Path) -> None:
    (here / "d.yaml").write_text("a: &a [*a]\n", "utf-8")
    with pytest.raises(TargetError, match="an alias within what it names"):
        load_target("d.yaml")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_is_refused_without_waiting_for_it(here: Path, make: Callable[[Path], None]) -> None:
    make(here / "d.json")
    with pytest.raises(TargetError, match=r"a regular file at d\.json"):
        load_target("d.json")


def test_a_workflow_of_a_module_in_the_working_directory_is_its_document(here: Path) -> None:
    (here / "shop_of_test.py").write_text(
        "from interlock import Workflow, event\nflow = Workflow('d').on(event('e')).sleep('1h', id='a')\n", "utf-8"
    )
    assert json.loads(load_target("shop_of_test:flow")) == {"input": None, **DOCUMENT}


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("absent.json", "readable UTF-8 file"),
        ("orders", "module:attribute"),
        (":orders", "module:attribute"),
        ("no_such_module_at_all:orders", "no 'no_such_module_at_all'"),
        ("examples.orders:nothing", "there are: orders, orders_v2"),
        ("examples.orders:reserve", "there are: orders, orders_v2"),
    ],
)
def test_a_target_that_can_not_be_had_says_why(target: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        load_target(target)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import nothing_of_the_kind\n", r"ModuleNotFoundError: .*nothing_of_the_kind.*broken_of_test\.py:1"),
        ("\n1 / 0\n", r"ZeroDivisionError: division by zero at .*broken_of_test\.py:2"),
        ("import sys\nsys.exit(3)\n", r"SystemExit: 3 at .*broken_of_test\.py:2"),
        ("def (:\n", r"SyntaxError: .* at .*broken_of_test\.py:1"),
        ("from interlock import Workflow\nWorkflow('')\n", r"Error: .* at .*broken_of_test\.py:2"),
    ],
)
def test_what_a_module_raises_itself_is_told_with_its_place(here: Path, text: str, says: str) -> None:
    (here / "broken_of_test.py").write_text(text, "utf-8")
    with pytest.raises(TargetError, match=says):
        load_target("broken_of_test:flow")


def test_what_a_module_prints_while_it_is_imported_is_no_output(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "loud_of_test.py").write_text("print('loud')\nfrom examples.orders import orders\n", "utf-8")
    load_target("loud_of_test:orders")
    assert capsys.readouterr() == ("", "loud\n")


def test_a_date_in_yaml_is_told_with_its_key(here: Path) -> None:
    (here / "d.yaml").write_text("name: d\nsteps:\n- input: {on: 2026-01-01}\n", "utf-8")
    with pytest.raises(TargetError, match=r"steps\.0\.input\.\w+ in d\.yaml.*put it into quotes"):
        load_target("d.yaml")


@activity
async def first() -> None: ...


@activity
async def second() -> None: ...


def module(**values: object) -> types.ModuleType:
    made = types.ModuleType("made")
    vars(made).update(values)
    return made


def test_an_app_presents_the_activities_of_its_workflows_and_its_own() -> None:
    flow = Workflow("d").on(event("e")).then(first)
    assert collect(module(flow=flow)).names == ("first",)
    assert collect(module(flow=flow, changed=flow.then(second), first=first)).names == ("first", "second")
    assert collect(module(second=second)).names == ("second",)


def test_an_app_with_two_activities_of_one_name_is_an_error() -> None:
    @activity(name="first")
    async def other() -> None: ...

    with pytest.raises(AuthoringError, match="one activity of the name 'first'"):
        collect(module(flow=Workflow("d").on(event("e")).then(first), other=other))


def test_an_app_that_presents_nothing_is_an_error() -> None:
    with pytest.raises(TargetError, match="found none"):
        collect(module(x=1))
