"""Which classes of the domain are records: found by walking it, so that none is forgotten.

Two rules of the domain are relied on. Facts stand in modules named `events`, and each such module ends with one union
of its facts, `<Aggregate>Event`; what a context's inbox takes stands in `messages`, with the union `Message`.
"""

import dataclasses
import pkgutil
from importlib import import_module
from types import ModuleType
from typing import cast, get_args

import interlock.domain
from interlock.domain import blob, messages, progress
from interlock.schemas.errors import InvalidSchema


def record_modules() -> list[ModuleType]:
    """The modules of the domain whose dataclasses are records."""
    names = (found.name for found in pkgutil.walk_packages(interlock.domain.__path__, "interlock.domain."))
    return [*(import_module(name) for name in names if name.endswith(".events")), messages, progress, blob]


def stored_types(module: ModuleType) -> tuple[list[type], list[type]]:
    """The classes of a module that are records by themselves, and its other dataclasses.

    Raises `InvalidSchema` for a module of events without a union of them.
    """
    values = vars(module)
    classes = [value for value in values.values() if isinstance(value, type) and value.__module__ == module.__name__]
    classes = [cls for cls in dict.fromkeys(classes) if dataclasses.is_dataclass(cls)]
    if module in (progress, blob):
        return classes, []
    unions = [values[name] for name in values if name == "Message" or name.endswith("Event")]
    if not unions:
        raise InvalidSchema(f"{module.__name__}: expected a union of its events, named <Aggregate>Event, found none")
    stored = dict.fromkeys(cls for union in unions for cls in values_of(union))
    return list(stored), [cls for cls in classes if cls not in stored]


def values_of(union: object) -> tuple[type, ...]:
    """The classes of a union, or the one class that it is."""
    return cast("tuple[type, ...]", get_args(union)) or (cast(type, union),)
