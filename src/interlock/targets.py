"""What a user names on a command line: a document to publish, or a module whose activities a process presents.

A target is `module:attribute`, or the path of a `.json`, `.yaml` or `.yml` file; an app is a module. The working
directory is importable, as it is for `python -m`.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import cast

import yaml

from interlock.activities import Activities, Activity, AnyActivity
from interlock.workflow import Workflow


class TargetError(ValueError):
    """A target or an app can't be had; the message says why and what to do."""


def load_target(target: str) -> str:
    """The text of the document that a target names, as JSON. Raises `TargetError`.

    Whether it compiles is the engine's question.
    """
    if target.endswith((".json", ".yaml", ".yml")):
        return _read(Path(target))
    module_name, colon, attribute = target.partition(":")
    if not colon or not module_name or not attribute:
        raise TargetError(f"Expected a target as module:attribute, or a .json, .yaml or .yml file, found {target!r}.")
    module = import_app(module_name)
    found: object = getattr(module, attribute, None)
    if not isinstance(found, Workflow):
        there = ", ".join(_workflows(module)) or "none"
        raise TargetError(f"Expected a Workflow of {module_name} (there are: {there}), found {target!r}.")
    return json.dumps(found.document())


def collect(*apps: ModuleType | str) -> Activities:
    """The activities of apps: those of their workflows, and those that stand in the modules themselves.

    Raises `TargetError` where an app has none or can't be imported, `AuthoringError` where two have one name.
    """
    return Activities(presented for app in apps for presented in _presented(app))


def import_app(name: str) -> ModuleType:
    """The module of a name, from the working directory too. Raises `TargetError` where there is none.

    Whatever the module itself raises while it is imported goes through, with its traceback.
    """
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise
        raise TargetError(f"Expected a module that can be imported from {here}, found no {error.name!r}.") from error


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
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TargetError(f"Expected a readable UTF-8 file at {path}, found: {error}.") from error
    if path.suffix == ".json":
        return text
    try:
        return json.dumps(yaml.safe_load(text), allow_nan=False)
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        # TypeError: a value that JSON doesn't have, such as a date without quotes.
        raise TargetError(f"Expected a YAML document of JSON values in {path}, found: {error}.") from error


def _workflows(module: ModuleType) -> list[str]:
    values = cast("dict[str, object]", vars(module))
    return sorted(name for name, value in values.items() if isinstance(value, Workflow))
