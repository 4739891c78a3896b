"""What tests of workflows and of the engine stand on. Authors of workflows need `Rehearsal`, and what is named here.

The names are loaded when they are first asked for: whoever wants the virtual clock alone needs no engine for it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.log.faults import FaultRates
    from interlock.testing.cast import Call, Part
    from interlock.testing.extensions import (
        check_publication_observer,
        check_publication_validator,
        check_trigger_provider,
    )
    from interlock.testing.rehearsal import Rehearsal, Unfinished

__all__ = [
    "Call",
    "FaultRates",
    "Part",
    "Rehearsal",
    "Unfinished",
    "check_publication_observer",
    "check_publication_validator",
    "check_trigger_provider",
]

_HOMES = {
    "Call": "interlock.testing.cast",
    "FaultRates": "interlock.log.faults",
    "Part": "interlock.testing.cast",
    "Rehearsal": "interlock.testing.rehearsal",
    "Unfinished": "interlock.testing.rehearsal",
    "check_publication_observer": "interlock.testing.extensions",
    "check_publication_validator": "interlock.testing.extensions",
    "check_trigger_provider": "interlock.testing.extensions",
}


def __getattr__(name: str) -> object:
    """A public name, from the module that has it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'interlock.testing' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
