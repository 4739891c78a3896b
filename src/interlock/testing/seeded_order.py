"""Who goes next on a `SeededLoop`: what is ready at one moment, and the draw among it.

    steps      one for each task that can go on (and each call meant for a thread)     drawn by the seed
    timers     those that are due at once                                              drawn, among the steps
    the rest   callbacks: of futures, of `call_soon`                                   first, in the order they came

Why so. Code may rely on the order of callbacks: of one future's they are promised to run as they were registered, and
whoever calls `call_soon` twice means first and second; much of asyncio does (`gather`, `wait`, transports), and the
memory log lets a batch land before its answer in that way. Callbacks never wait, so running them before the next step
takes no interleaving of tasks away; it only tells them apart from tasks. Between tasks nothing is promised: two that
can both go on were woken by a network that keeps no order. One task has at most one step ready, so its own order can't
be broken, and with it everything that one task does after another.

A draw is over everything that is ready, also what became ready a moment ago. So a task may make many steps while
another makes none, as one does that the system has no time for; a real loop would take turns. What a real loop seems to
promise and this one does not: that a task which was made, or woken, runs before its maker's next step.

What would surprise: two tasks that wait for the same future go on in an order that is drawn too.
"""

import asyncio
import random
import sys
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Final, cast

Hook = Callable[[int, "asyncio.Task[object] | None"], None]
"""Is told how many steps there have been, and the task that made the last one."""

Stands = Callable[[Context], bool]
"""Says by a task's context whether it has to stand still."""

_STEP_NAMES: Final = frozenset({"", "task_wakeup", "__step", "__wakeup"})
"""How the callbacks are named by which a task goes on, in C (the first two) and in Python; others of a task's methods
may be callbacks as well, as `cancel` is where there is a time limit."""


class SeededOrder:
    """Takes the place of the queue in which a loop of asyncio keeps what is ready to run."""

    __slots__ = (
        "_callbacks",
        "_draw",
        "_due",
        "_every",
        "_hook",
        "_last",
        "_nothing",
        "_once",
        "_pool",
        "_standing",
        "_stands",
        "_stepped",
        "steps",
    )

    def __init__(self, seed: int | str) -> None:
        self._draw = random.Random(f"order {seed}").random
        self._callbacks: deque[asyncio.Handle] = deque()
        self._pool: list[asyncio.Handle] = []
        self._stands: Stands | None = None
        self._standing: list[asyncio.Handle] = []
        """Steps that are ready and have to wait until `stand` lets them go."""
        self._nothing = _NothingToRun()
        self.steps = 0
        """How many steps have begun."""
        self._last: asyncio.Task[object] | None = None
        self._stepped = False
        self._hook: Hook | None = None
        self._every = 1
        self._once: list[tuple[int, Hook]] = []
        self._due = sys.maxsize
        """At which count of steps a hook has to be called next."""

    # ---- what a loop asks of its queue ------------------------------------------------------------------------

    def append(self, handle: asyncio.Handle) -> None:
        """Takes what has become ready."""
        if _task_of(handle) is not None:
            stands = self._stands is not None and self._stands(_context_of(handle))
            (self._standing if stands else self._pool).append(handle)
        elif isinstance(handle, asyncio.TimerHandle):
            self._pool.append(handle)
        else:
            self._callbacks.append(handle)

    def popleft(self) -> asyncio.Handle:
        """What runs next."""
        if self._stepped:
            self.after_step()
        if self._callbacks:
            return self._callbacks.popleft()
        pool = self._pool
        if not pool:
            # What was ready when the loop counted stands still since.
            return self._nothing
        at = int(self._draw() * len(pool))
        handle = pool[at]
        # The last one takes its place: cheaper than to close the gap, and the draw doesn't care.
        pool[at] = pool[-1]
        pool.pop()
        if not isinstance(handle, asyncio.TimerHandle) and not handle.cancelled():
            self.steps += 1
            self._stepped = True
            self._last = _task_of(handle)
        return handle

    def clear(self) -> None:
        """Forgets everything, as the loop is closed."""
        self._callbacks.clear()
        self._pool.clear()
        self._standing.clear()

    def __len__(self) -> int:
        return len(self._callbacks) + len(self._pool)

    # ---- steps ------------------------------------------------------------------------------------------------

    def add_step(self, handle: asyncio.Handle) -> None:
        """Takes something that counts as a step although no task makes it."""
        self._pool.append(handle)

    def after_step(self) -> None:
        """To be called between one step and the next: calls the hooks that are due."""
        self._stepped = False
        if self.steps < self._due:
            return
        due = [hook for step, hook in self._once if step <= self.steps]
        self._once = [each for each in self._once if each[0] > self.steps]
        if self._hook is not None and self.steps % self._every == 0:
            due.append(self._hook)
        self._plan()
        for hook in due:
            hook(self.steps, self._last)

    def stand(self, stands: "Stands | None") -> None:
        """As `SeededLoop.stand`."""
        self._stands = stands
        waiting, self._standing, ready, self._pool = self._standing, [], self._pool, []
        for handle in (*ready, *waiting):
            self.append(handle)

    def hook_to(self, hook: Hook | None, every: int) -> None:
        """As `SeededLoop.after_each`."""
        if every < 1:
            raise ValueError(f"expected a hook after every 1 or more steps, found {every}")
        self._hook, self._every = hook, every
        self._plan()

    def hook_once(self, step: int, hook: Hook) -> None:
        """As `SeededLoop.at_step`."""
        self._once.append((max(step, self.steps + 1), hook))
        self._plan()

    def _plan(self) -> None:
        nexts = [step for step, _ in self._once]
        if self._hook is not None:
            nexts.append((self.steps // self._every + 1) * self._every)
        self._due = min(nexts, default=sys.maxsize)


def _context_of(handle: asyncio.Handle) -> Context:
    """What the code that goes on by this was started with."""
    return cast("Context", getattr(handle, "_context", None))


class _NothingToRun(asyncio.Handle):
    """A handle that a loop passes over."""

    def __init__(self) -> None:
        self._cancelled = True


def _task_of(handle: asyncio.Handle) -> "asyncio.Task[object] | None":
    """The task that goes on by this, if any does."""
    callback: object = getattr(handle, "_callback", None)
    owner: object = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task) and getattr(callback, "__name__", "") in _STEP_NAMES:
        return cast("asyncio.Task[object]", owner)
    return None
