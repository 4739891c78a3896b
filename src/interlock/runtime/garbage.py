"""How often a process of the engine looks for garbage that refers to itself.

Python looks whenever there are 700 more objects than at the last look. An engine makes thousands for every batch, keeps
the state of every run, and leaves next to nothing behind that refers to itself; so such looks find nothing and took a
tenth of its time.

A look keeps the loop for about a microsecond an object, so what is looked at together is bounded: a new object is
looked at among 10,000, and once more among 50,000. Only what is older is looked at as a whole, seldom.
"""

import gc
from typing import Final

YOUNG_MAX: Final = 10_000
"""How many more objects there have to be than at the last look."""
LOOKS_AT_MIDDLE: Final = 5
"""With so many looks comes one at what has lived through the last ones."""
LOOKS_AT_ALL: Final = 100
"""With so many of those comes one at everything, if it has grown by a quarter: with five million objects more."""


def look_seldom() -> None:
    """For the life of this process, whose modules are loaded: they are never looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, LOOKS_AT_MIDDLE, LOOKS_AT_ALL)
