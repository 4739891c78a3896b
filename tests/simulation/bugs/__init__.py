"""Bugs that are put into the engine on purpose, to prove that the simulator sees them.

    Catalogue.bug (a function that says what it replaces) ─► hunt.py (runs seeds with it, until one finds it)
                                                          ─► test_bugs.py (found within its seeds; green without it)

Each stands for a mistake that somebody could really make; its docstring says what it breaks and which mistake that is.
The plans come from the general generator: a bug is hunted with the same seeds as every other one.

Always true: a bug is in the engine only while its `planted` is entered, in the process that hunts for it.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final
from unittest.mock import patch

from tests.simulation.plan import USUAL, Lean

STEPS: Final = 20
"""Of the runs that hunt: short ones, since most bugs show as soon as their constellation comes once."""
TRIES: Final = 16
"""Seeds within which a bug has to be found, unless it says otherwise. Nearly all need one or two; but every change of
how plans are drawn makes other runs of the same seeds, and must not make a test fail that was lucky before."""

Swap = tuple[object, str, object]
"""A class or module, the name of something in it, and what is there instead."""
Swaps = Sequence[Swap]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One mistake."""

    name: str
    sentence: str
    """What it breaks, and which real mistake it stands for."""
    swaps: Callable[[], Swaps]
    """What it replaces; asked anew for each run, so that nothing of one run is left in the next."""
    tries: int
    """Seeds within which it has to be found, from 1 on."""
    steps: int
    lean: Lean
    """What its plans have more of than usual."""

    @contextmanager
    def planted(self) -> Generator[None, None, None]:
        """The engine has it until this is left."""
        with ExitStack() as stack:
            for owner, attribute, instead in self.swaps():
                stack.enter_context(patch.object(owner, attribute, instead))
            yield


class Catalogue:
    """The bugs of a module, in the order in which they stand there."""

    def __init__(self) -> None:
        self.bugs: list[Bug] = []

    def bug(
        self, *, tries: int = TRIES, steps: int = STEPS, lean: Lean = USUAL
    ) -> Callable[[Callable[[], Swaps]], Callable[[], Swaps]]:
        """Takes up a function that says what is replaced; its name is the bug's, its docstring the sentence."""

        def take(swaps: Callable[[], Swaps]) -> Callable[[], Swaps]:
            name = swaps.__name__.replace("_", " ")
            sentence = " ".join((swaps.__doc__ or "").split())
            self.bugs.append(Bug(name=name, sentence=sentence, swaps=swaps, tries=tries, steps=steps, lean=lean))
            return swaps

        return take
