"""Tasks that wait until something has changed.

Always true: everything here happens on one event loop, so no lock is needed, and on a loop with virtual time
it takes no real time. A waiter looks again after it was woken; a wake-up promises nothing.
"""

import asyncio


class Waiters:
    """The tasks that wait for one thing, such as for a shard to grow."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        # A dictionary, because sets iterate in the order of addresses and a simulation must repeat itself.
        self._waiting: dict[asyncio.Future[None], None] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def wake(self) -> None:
        """Lets all that wait look again; in the order in which they came."""
        waiting, self._waiting = self._waiting, {}
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self, wait_s: float | None = None) -> None:
        """Returns when woken, or after `wait_s` seconds (None: waits as long as it takes)."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting[future] = None
        timer = None if wait_s is None else loop.call_later(wait_s, _expire, future)
        try:
            await future
        finally:
            self._waiting.pop(future, None)
            if timer is not None:
                timer.cancel()


def _expire(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
