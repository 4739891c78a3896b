"""Interlock: an event-sourced workflow engine on a durable log.

`domain`, `projections`, `processors` and `schemas` are links to the folders of the same names at the top of the
repository: what a reader of the tree sees first is what a user imports as `interlock.domain` and so on (ADR 2).
Workflows are written with the names below. They are loaded when they are first asked for, so that a command line which
needs none of them starts at once.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.activities import ActivityContext, activity
    from interlock.triggers import cron, event, http, timer, trigger
    from interlock.workflow import Workflow

__all__ = ["ActivityContext", "Workflow", "activity", "cron", "event", "http", "timer", "trigger"]

_HOMES = {
    "ActivityContext": "interlock.activities",
    "Workflow": "interlock.workflow",
    "activity": "interlock.activities",
    "cron": "interlock.triggers",
    "event": "interlock.triggers",
    "http": "interlock.triggers",
    "timer": "interlock.triggers",
    "trigger": "interlock.triggers",
}


def __getattr__(name: str) -> object:
    """A public name, from the module that has it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'interlock' has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found
