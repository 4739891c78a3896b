"""How often a process of the engine looks for garbage that refers to itself.

Python looks whenever there are 700 more objects than at the last look. An engine makes thousands for every batch, keeps
the state of every run, and leaves next to nothing behind that refers to itself; so such looks find nothing and took a
tenth of its time.

A look keeps the loop for about a microsecond an object, for objects that were made long apart lie far apart in memory.
So what is looked at together is bounded: by turns it is 4,000 objects that are new, and 8,000 of which half have been
looked at once. Only what is older is looked at as a whole, seldom.

What would surprise: the bound is one of what is there more than at the last look. Where about as many old objects go as
new ones come, a look comes late and is at more of them. That is why it isn't larger, although nearly all looks find
nothing.
"""

import gc
from typing import Final

YOUNG_MAX: Final = 4_000
"""How many more objects there have to be than at the last look."""
LOOKS_AT_MIDDLE: Final = 0
"""Behind one look and so many more, which are at what is new alone, the next is at what has lived through them too."""
LOOKS_AT_ALL: Final = 5_000
"""With so many of those comes one at everything, if it has grown by a quarter. It keeps the loop for a second where
there are a million objects, for what the other looks have left behind: next to nothing in hours."""


def look_seldom() -> None:
    """For the life of this process, whose modules are loaded: they are never looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, LOOKS_AT_MIDDLE, LOOKS_AT_ALL)
