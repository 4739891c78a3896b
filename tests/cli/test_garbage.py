"""How a process of the engine looks for garbage."""

import subprocess
import sys

from interlock.runtime.garbage import YOUNG_MAX

PROGRAM = """
import gc
import weakref

from interlock.runtime import compose, garbage

class Node:
    pass

garbage.look_seldom()
assert gc.isenabled()
assert gc.get_freeze_count() > 10_000, gc.get_freeze_count()
node = Node()
node.itself = node
seen = weakref.ref(node)
del node
kept = []
while seen() is not None and len(kept) < 10 * garbage.YOUNG_MAX:
    kept.append([])
assert seen() is None
print(len(kept))
"""


def test_what_refers_to_itself_is_found_but_not_looked_for_all_the_time() -> None:
    """In a process of its own, as this is for the life of a process."""
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    # Some objects more or less are the interpreter's own.
    assert 0.8 * YOUNG_MAX < int(found.stdout) < 1.2 * YOUNG_MAX
