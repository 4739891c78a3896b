"""An event loop on which time passes only when everybody waits: days take milliseconds, and runs repeat themselves.

What would surprise: real sockets and threads have no place on it; whoever waits for one of them waits for ever, and
`Deadlock` says so at once.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Final, TypeVar

from interlock.testing.seeded_order import Hook, SeededOrder, Stands
from interlock.testing.waiting import waiting_tasks

T = TypeVar("T")

RESOLUTION_S: Final = 1e-6
"""Timers closer than this count as due together. Less than a float's precision, which after a year is some nanoseconds,
would let a timer be due and not due for ever."""


class Deadlock(RuntimeError):
    """Every task waits for something that no timer will bring; the message says which task waits where."""


class Jump(selectors.SelectSelector):
    """A selector that, asked to wait, moves the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self.waiting: Callable[[], list[str]] = list
        """Says which task waits where, for the message of a `Deadlock`."""
        self.next_timer_s: Callable[[], float | None] = _no_timer
        """When the next timer is due."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now; else nothing, and the clock is `timeout` seconds further. Raises `Deadlock`."""
        ready = super().select(0)
        if not ready:
            self.wait(timeout)
        self.catch_up()
        return ready

    def catch_up(self) -> None:
        """Moves the clock to a timer that counts as due although its time is a little later. Or else two that ask how
        much is left of their time would wake each other with a rest that never passes."""
        next_s = self.next_timer_s()
        if next_s is not None and self.now_s < next_s < self.now_s + RESOLUTION_S:
            self.now_s = next_s

    def wait(self, timeout: float | None) -> None:
        """Moves the clock. Raises `Deadlock` where nothing will ever come."""
        if timeout is None:
            lines = ["expected something to wait for, found that every task waits for another:", *self.waiting()]
            raise Deadlock("\n  ".join(lines))
        self.now_s += max(timeout, 0.0)


def _no_timer() -> float | None:
    return None


class _SeededJump(Jump):
    """Looks at no file descriptor: there is nothing but the tasks, and asking the system would cost time."""

    def __init__(self, order: SeededOrder) -> None:
        super().__init__()
        self._order = order

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._order.after_step()
        # The hook may have made something ready after the loop had found nothing and asked for a wait.
        if not self._order:
            self.wait(timeout)
        self.catch_up()
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose `time()` jumps to the next timer. Whatever is given to threads runs on the loop's own."""

    _scheduled: list[asyncio.TimerHandle]
    """The loop's own heap of timers, the next one first."""

    def __init__(self, jump: Jump | None = None) -> None:
        self._jump = jump or Jump()
        self._jump.waiting = lambda: waiting_tasks(self)
        super().__init__(self._jump)
        self._jump.next_timer_s = self._next_timer_s
        self._clock_resolution = RESOLUTION_S

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._jump.now_s

    def run_in_executor(self, executor: object, func: Callable[..., T], *args: object) -> asyncio.Future[T]:
        """Runs `func` here, a little later: time would not wait for a thread."""
        answer: asyncio.Future[T] = self.create_future()

        def job() -> None:
            if answer.cancelled():
                return
            try:
                answer.set_result(func(*args))
            except StopIteration as error:
                answer.set_exception(RuntimeError(f"expected a result, found {error!r}, which no future can hold"))
            except Exception as error:  # noqa: BLE001 - a thread hands whatever it is to who waits for it
                answer.set_exception(error)

        self._do_later(job)
        return answer

    def _do_later(self, job: Callable[[], None]) -> None:
        self.call_soon(job)

    def _next_timer_s(self) -> float | None:
        return self._scheduled[0].when() if self._scheduled else None


class SeededLoop(VirtualLoop):
    """A loop on which chance decides who goes next, and one seed always decides alike (see `seeded_order`).

    Whatever is given to threads runs on the loop's own, as a step of its own, so time never passes while it works; code
    that blocks a thread blocks everybody. Sockets and pipes never become ready.
    """

    def __init__(self, seed: int | str) -> None:
        order = SeededOrder(seed)
        super().__init__(_SeededJump(order))
        self._order = order
        # The loop's own queue of what is ready: it appends, and takes from the left what it runs next.
        self._ready = order

    @property
    def steps(self) -> int:
        """How many steps have begun: each is a task's code from one wait to the next, or a call meant for a thread."""
        return self._order.steps

    def after_each(self, hook: Hook | None, *, every: int = 1) -> None:
        """Calls `hook(steps, task)` after each step, or each `every`-th, before anything else runs; None ends that.

        `task` is the one that has made the step, or None for a call that was meant for a thread. What the hook raises
        ends the run.
        """
        self._order.hook_to(hook, every)

    def at_step(self, step: int, hook: Hook) -> None:
        """Calls `hook` once, after the step of that number (or the next one, where it has passed)."""
        self._order.hook_once(step, hook)

    def stand(self, stands: Stands | None) -> None:
        """Lets the tasks stand still of whose context `stands` is true, as a process does that gets no time: they make
        no step until this is called anew, whatever they were waiting for. Timers and callbacks go on, so they find that
        their time is long over. None lets everybody go on."""
        self._order.stand(stands)

    def _do_later(self, job: Callable[[], None]) -> None:
        """A step of its own, as if a thread had taken a while."""
        self._order.add_step(asyncio.Handle(job, (), self))

    def _write_to_self(self) -> None:
        """Nobody sleeps, so nobody has to be woken."""


class LoopClock:
    """The loop's time as milliseconds since 1970, from a fixed beginning; an offset makes it differ from others."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, start_ms: int = 1_700_000_000_000, offset_ms: int = 0
    ) -> None:
        self._loop = loop
        self._start_ms = start_ms
        self.offset_ms = offset_ms

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return self._start_ms + self.offset_ms + int(self._loop.time() * 1000)


def run_virtual(main: Coroutine[object, object, T], *, seed: int | str | None = None) -> T:
    """Runs a coroutine to its end on a `VirtualLoop` of its own, or with a seed on a `SeededLoop`."""

    def loop() -> VirtualLoop:
        return VirtualLoop() if seed is None else SeededLoop(seed)

    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(main)
