"""How often a process of the engine looks for garbage that refers to itself.

Python looks whenever there are 700 more objects than at the last look. An engine makes thousands for every batch, keeps
the state of every run, and leaves next to nothing behind that refers to itself; so such looks find nothing and took a
tenth of its time.
"""

import gc

YOUNG_MAX = 50_000
"""How many more objects there have to be than at the last look: some ten megabytes. Every tenth look goes further back,
as by default."""


def look_seldom() -> None:
    """For the life of this process, whose modules are loaded: they are never looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, *gc.get_threshold()[1:])
