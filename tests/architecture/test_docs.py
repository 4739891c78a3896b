"""The docs say what is so: code is the tested code, tables are the program's, and what they name exists."""

import importlib.util
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import cast

import pytest
import typer.main
from typer.core import TyperGroup, TyperOption

from examples import plain_client
from interlock.cli.main import app
from interlock.domain.definitions.compiler import compile_document
from interlock.domain.definitions.executable import Executable
from interlock.domain.messages import Origin, RouteStimulus
from interlock.domain.routing import intake
from interlock.log import frame
from interlock.runtime.roles import ROLES
from interlock.runtime.settings import Settings
from interlock.runtime.topics import topic_specs
from interlock.targets import load_target
from ops import settings_table

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("domain", "projections", "processors", "schemas", "src", "ops", "examples", "tests", "docs", ".ci")


@cache
def pages() -> dict[str, str]:
    """Every page by its path."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    names = [name for name in listed.stdout.split("\0") if name]
    return {name: (ROOT / name).read_text("utf-8") for name in names}


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page in one language; "" for those that name none."""
    found: list[tuple[str, str]] = re.findall(r"^```([a-z]*)\n(.*?)^```$", pages()[page], re.DOTALL | re.MULTILINE)
    return [text for named, text in found if named == language]


def code() -> Iterator[tuple[str, str]]:
    """Everything that is set as code, with its page."""
    for page, text in pages().items():
        for block in re.findall(r"^```[a-z]*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            yield page, block
        for span in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)):
            yield page, span


def test_there_are_pages() -> None:
    assert {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= pages().keys()
    assert len(pages()) > 10


def test_links_lead_somewhere() -> None:
    broken = [
        f"{page}: {link}"
        for page, text in pages().items()
        for link in re.findall(r"\]\(([^)\s]+)\)", text)
        if not link.startswith("https://") and not (ROOT / page).parent.joinpath(link.partition("#")[0]).exists()
    ]
    assert broken == []


def test_files_that_are_named_exist() -> None:
    """Of a path with a star at least one file has to be there."""
    gone = [
        f"{page}: {path}"
        for page, text in code()
        for path in re.findall(r"(?<![\w/.{<])((?:[\w.-]+/)+[\w.*-]*)", text)
        if path.split("/")[0] in FOLDERS and not list(ROOT.glob(path.rstrip("/")))
    ]
    assert gone == []


def test_tasks_that_are_named_are_in_the_makefile() -> None:
    tasks = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {task for _, text in code() for task in re.findall(r"\bmake ([a-z-]+)", text)}
    assert named - tasks == set()
    assert {"demo", "test", "setup", "kafka"} <= named


def test_modules_that_are_named_can_be_run() -> None:
    named = {module for _, text in code() for module in re.findall(r"python -m ([\w.]+)", text)}
    assert {name for name in named if importlib.util.find_spec(name) is None} == set()


def test_verbs_that_are_named_exist_with_their_options() -> None:
    wrong: list[str] = []
    for page, line in _commands():
        try:
            parse_command(line.split())
        except LookupError as error:
            wrong.append(f"{page}: {line}: {error}")
    assert wrong == []


def test_the_guide_shows_the_rule_that_is_tested() -> None:
    shown = blocks("docs/guides/reading-journals.md", "python")
    registered, decoded = inspect.getsource(plain_client.registered), inspect.getsource(plain_client.decoded)
    assert shown == [inspect.getsource(plain_client.counted), f"{registered}\n\n{decoded}"]


def test_the_rule_has_ten_lines() -> None:
    body = inspect.getsource(plain_client.counted).splitlines()[2:]
    types = [line for line in body if re.match(r"    \w+: ", line)]
    assert len(body) - len(types) == 10


def test_the_guide_names_every_header_of_the_journal() -> None:
    names = {cast("str", value) for name, value in vars(frame).items() if name.startswith("H_")}
    table = pages()["docs/guides/reading-journals.md"]
    assert {name for name in names if f"| `{name}` |" not in table} == set()


def test_the_readme_shows_the_example_as_it_is() -> None:
    source = (ROOT / "examples" / "orders" / "__init__.py").read_text("utf-8")
    shown = [block for block in blocks("README.md", "python") if block.startswith("orders = ")]
    assert len(shown) == 1
    assert shown[0] in source


def test_the_workflow_of_the_guide_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, triggers, testing = blocks("docs/guides/workflows.md", "python")
    (tmp_path / "workflow_of_the_guide.py").write_text(f"{source}\n{triggers}\n{testing}", "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert isinstance(compile_document(load_target("workflow_of_the_guide:orders")), Executable)


def test_the_document_of_the_guide_compiles() -> None:
    (document,) = blocks("docs/guides/workflows.md", "json")
    assert isinstance(compile_document(document), Executable)


def test_the_stimuli_of_the_docs_are_taken() -> None:
    found = [*blocks("docs/guides/writing-stimuli.md", "json")]
    for page in ("README.md", "docs/guides/writing-stimuli.md"):
        found += [text for block in blocks(page, "") for text in re.findall(r"echo '(\{.*?\})' \|", block, re.DOTALL)]
    assert len(found) == 3
    for text in found:
        read = intake.read_stimulus(
            text.replace("\n", "").encode(),
            origin=Origin(channel="test"),
            arrived_at_ms=0,
            shell="default",
            bytes_max=10_000,
            request_id="1",
        )
        assert isinstance(read, RouteStimulus), read


def test_the_guide_names_every_field_of_a_stimulus() -> None:
    table = pages()["docs/guides/writing-stimuli.md"]
    assert [field for field in intake.FIELDS if f"| `{field}` |" not in table] == []


def test_the_guide_lists_the_settings_as_they_are() -> None:
    page = settings_table.PAGE.read_text("utf-8")
    assert page == settings_table.rendered(page), "say `python -m ops.settings_table`"
    assert all(f"| `{name}` |" in page for name in Settings.model_fields)


def test_settings_that_are_named_exist() -> None:
    named = {name for _, text in code() for name in re.findall(r"\bINTERLOCK_([A-Z][A-Z_]*[A-Z])\b", text)}
    assert {name for name in named if name.lower() not in Settings.model_fields} == set()
    toml = "".join(blocks("docs/guides/operating.md", "toml"))
    assert set(re.findall(r"^(\w+) = ", toml, re.MULTILINE)) <= Settings.model_fields.keys()


def test_the_guide_lists_every_topic_and_role() -> None:
    page = pages()["docs/guides/operating.md"]
    assert [spec.name for spec in topic_specs(Settings()) if f"`{spec.name}`" not in page] == []
    assert [role for role in ROLES if f"| `{role}` |" not in page] == []


def _commands() -> Iterator[tuple[str, str]]:
    """Each command line of the program, without what stands in quotes, before a comment or behind a pipe."""
    for page, text in code():
        flat = re.sub(r"'[^']*'", "QUOTED", text)
        for line in re.findall(r"(?:^|\s)interlock (?!import )([a-z][^\n`#&|·]*)", flat):
            yield page, line


def parse_command(words: list[str]) -> None:
    """Raises `LookupError` where a verb or an option isn't there."""
    words = list(words)
    command: object = typer.main.get_command(app)
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        if words[0].isupper() or words[0] not in command.commands:
            raise LookupError(f"no verb {words[0]} (there are {', '.join(command.commands)})")
        command = command.commands[words.pop(0)]
    parameters: list[object] = getattr(command, "params", [])
    known = {option for each in parameters if isinstance(each, TyperOption) for option in each.opts}
    for word in words:
        if word.startswith("--") and word not in known:
            raise LookupError(f"no option {word} (there are {', '.join(sorted(known))})")
