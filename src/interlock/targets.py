"""What a user names on a command line: a document to publish, or a module whose activities a process presents.

A target is `module:attribute`, or the path of a `.json`, `.yaml` or `.yml` file; an app is a module. The working
directory is importable, as it is for `python -m`.
"""

import contextlib
import importlib
import json
import os
import stat
import sys
import threading
import traceback
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import cast

import yaml

from interlock.activities import Activities, Activity, AnyActivity, AuthoringError
from interlock.domain.definitions.document import DOCUMENT_BYTES_MAX
from interlock.workflow import Workflow

_IMPORTING = threading.RLock()
"""Held while stdout leads elsewhere, which it does for all threads: the last of two at once would leave it so for good.
An app may load another one meanwhile."""


class TargetError(ValueError):
    """A target or an app can't be had; the message says why and what to do."""


def load_target(target: str) -> str:
    """The text of the document that a target names, as JSON. Raises `TargetError`.

    Whether it compiles is the engine's question.
    """
    text = _read(Path(target)) if target.endswith((".json", ".yaml", ".yml")) else _of_module(target)
    if (size := len(text.encode("utf-8", "surrogatepass"))) > DOCUMENT_BYTES_MAX:
        raise _oversize(target, f"{size} bytes as JSON")
    return text


def _of_module(target: str) -> str:
    """The document of a workflow that a module has, as JSON text."""
    module_name, colon, attribute = target.partition(":")
    if not colon or not module_name or not attribute:
        raise TargetError(f"Expected a target as module:attribute, or a .json, .yaml or .yml file, found {target!r}.")
    module = import_app(module_name)
    found: object = getattr(module, attribute, None)
    if not isinstance(found, Workflow):
        there = ", ".join(_workflows(module)) or "none"
        raise TargetError(f"Expected a Workflow of {module_name} (there are: {there}), found {target!r}.")
    try:
        return json.dumps(found.document())
    except (AuthoringError, TypeError, ValueError) as error:
        raise TargetError(f"Expected {target} to be a whole definition, found: {_sentence(error)}") from error


def collect(*apps: ModuleType | str) -> Activities:
    """The activities of apps: those of their workflows, and those that stand in the modules themselves.

    Raises `TargetError` where an app has none or can't be imported, `AuthoringError` where two have one name.
    """
    return Activities(presented for app in apps for presented in _presented(app))


def import_app(name: str) -> ModuleType:
    """The module of a name, from the working directory too; what it prints meanwhile goes to stderr, for stdout is the
    caller's. Raises `TargetError` where there is none, or where it raises something itself, `SystemExit` too."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with _IMPORTING, contextlib.redirect_stdout(sys.stderr):
            return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and (name == missing or name.startswith(f"{missing}.")):
            raise TargetError(f"Expected a module that can be imported from {here}, found no {missing!r}.") from error
        found = f"{type(error).__name__}: {_sentence(error)}".removesuffix(": ")
        raise TargetError(f"Expected module {name!r} to be imported, found {found}{_place(error)}.") from error


def _place(error: BaseException) -> str:
    """Where in the user's code it comes from, as " at file:line"; "" where none of it is in the traceback."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" at {error.filename}:{error.lineno}"
    own, python = str(Path(__file__).parent), str(Path(os.__file__).parent)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("<", own, python)) and "site-packages" not in frame.filename
    ]
    return f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _sentence(error: BaseException) -> str:
    """What an error says, in one line."""
    return " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())[:500].rstrip(".")


def _presented(app: ModuleType | str) -> list[AnyActivity]:
    """The activities of one app."""
    module = import_app(app) if isinstance(app, str) else app
    values = cast("dict[str, object]", vars(module)).values()
    found: list[AnyActivity] = []
    for value in values:
        if isinstance(value, Workflow):
            found.extend(value.activities())
        elif isinstance(value, Activity):
            found.append(cast("AnyActivity", value))
    if not found:
        raise TargetError(
            f"Expected a Workflow or an activity in module {module.__name__!r}, found none; "
            "import what it shall present into it."
        )
    return found


def _read(path: Path) -> str:
    """A document file as JSON text."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            # To open a pipe would wait for who writes to it, perhaps for ever.
            kind = "a directory" if stat.S_ISDIR(mode) else "a pipe, a device or the like"
            raise TargetError(f"Expected a regular file at {path}, found {kind}.")
        with path.open("rb") as file:
            content = file.read(DOCUMENT_BYTES_MAX + 1)
        if len(content) > DOCUMENT_BYTES_MAX:
            raise _oversize(str(path), f"{path.stat().st_size}")
        text = content.decode("utf-8")
    except TargetError:
        raise
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise TargetError(f"Expected a readable UTF-8 file at {path}, found: {error}.") from error
    if path.suffix == ".json":
        return text
    try:
        value = _yaml(text, path)
        if (dated := _dated(value, "")) is not None:
            raise TargetError(
                f"Expected text at {dated[0]} in {path}, found {dated[1]}, which YAML takes for a date; "
                "put it into quotes."
            )
        return json.dumps(value, allow_nan=False)
    except TargetError:
        raise
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise TargetError(f"Expected a YAML document of JSON values in {path}, found: {error}.") from error


def _oversize(target: str, found: str) -> TargetError:
    return TargetError(f"Expected a document of at most {DOCUMENT_BYTES_MAX} bytes, found {found} in {target}.")


def _yaml(text: str, path: Path) -> object:
    """The value of a YAML text. Its size with all aliases written out is known before any of it is made."""
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if _written_out(node, {}) > DOCUMENT_BYTES_MAX:
            raise _oversize(str(path), "more with its aliases (*name) written out")
        return cast("object", loader.construct_document(node))  # pyright: ignore[reportUnknownMemberType] # untyped there
    finally:
        loader.dispose()


def _written_out(node: yaml.Node, known: dict[int, int]) -> int:
    """How long a node is at least once its aliases are written out; each is looked at once. Raises `ValueError` where
    one stands within itself."""
    if (size := known.get(id(node))) is not None:
        if size < 0:
            raise ValueError("an alias within what it names")
        return size
    known[id(node)] = -1
    if isinstance(node, yaml.ScalarNode):
        size = 1 + len(cast("str", node.value))
    elif isinstance(node, yaml.MappingNode):
        size = 1 + sum(_written_out(part, known) for pair in node.value for part in pair)
    else:
        size = 1 + sum(_written_out(part, known) for part in cast("list[yaml.Node]", node.value))
    known[id(node)] = size
    return size


def _dated(value: object, key: str) -> tuple[str, str] | None:
    """The first date in a document, with the key that it stands at, such as `steps.0.input.on`."""
    if isinstance(value, date):
        return key or "the top", value.isoformat()
    items: list[tuple[object, object]] = []
    if isinstance(value, dict):
        mapping = cast("dict[object, object]", value)
        for name in mapping:
            if isinstance(name, date):
                return f"a key of {key}" if key else "a key", name.isoformat()
        items = list(mapping.items())
    elif isinstance(value, list):
        items = list(enumerate(cast("list[object]", value)))
    found = (_dated(each, f"{key}.{name}" if key else str(name)) for name, each in items)
    return next((each for each in found if each is not None), None)


def _workflows(module: ModuleType) -> list[str]:
    values = cast("dict[str, object]", vars(module))
    return sorted(name for name, value in values.items() if isinstance(value, Workflow))
