"""Dataclasses that are frozen for type checkers and quick to make: those of what passes by thousands a second.

`dataclass(frozen=True)` keeps a field from being assigned by making each construction go round `__setattr__`, which
takes five times as long as plain assignment; that was an eighth of all that a run costs. Here the checkers alone, which
run before every commit, keep anybody from assigning. Equality, hashes, slots and `dataclasses.replace` are as ever.

What would surprise: whoever asks the class is told that it is frozen, because snapshots share what is and copy what is
not (`interlock.schemas.states`); and nothing stops a program that assigns all the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
    """Makes a slotted dataclass of a class whose objects nobody changes."""

    def make(cls: type[T]) -> type[T]:
        made = dataclass(slots=True, unsafe_hash=True, kw_only=kw_only)(cls)
        parameters = getattr(made, "__dataclass_params__")  # noqa: B009 - the checkers don't know that it has them
        parameters.frozen = True
        return made

    return make
