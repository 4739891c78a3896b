"""An event loop on a thread of its own, behind the threads of a library that knows no loop.

Always true: after `close` the thread is gone and the loop is closed; what was under way ends as cancelled. What would
surprise: a program that never closes ends all the same, because the thread is a daemon.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

from interlock.log.recorder.errors import closed

T = TypeVar("T")
P = ParamSpec("P")


class LoopThread:
    """One loop and its thread; used from any other thread."""

    def __init__(self, name: str) -> None:
        """Starts the thread and returns when its loop runs."""
        self._name = name
        self._lock = threading.Lock()
        self._closed = False
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=_main, args=(started,), name=name, daemon=True)
        self._thread.start()
        self._loop, self._ended = started.result()

    def run(self, coroutine: Coroutine[None, None, T]) -> T:
        """Runs a coroutine on the loop and returns what it returns.

        Raises what it raises, `ProgrammingError` if closed, and `CancelledError` where the loop was closed meanwhile.
        """
        with self._lock:
            if self._closed:
                coroutine.close()
                raise closed(self._name)
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result()

    def post(self, call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Calls on the loop, soon and in the order of the posts. Raises `ProgrammingError` if closed."""
        with self._lock:
            if self._closed:
                raise closed(self._name)
            self._loop.call_soon_threadsafe(lambda: call(*args, **kwargs))

    def close(self, last: Coroutine[None, None, None]) -> None:
        """Runs `last` behind all that was posted, and ends the thread; only the first call does anything.

        Raises what `last` raises. Called on the loop's own thread (by the garbage collector) it can't wait for the end,
        which comes soon.
        """
        with self._lock:
            if self._closed:
                last.close()
                return
            self._closed = True
            ending = asyncio.run_coroutine_threadsafe(self._end(last), self._loop)
        if threading.current_thread() is not self._thread:
            self._thread.join()
            ending.result()

    async def _end(self, last: Coroutine[None, None, None]) -> None:
        try:
            await last
        finally:
            self._ended.set()


def _main(started: "Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]") -> None:
    async def live() -> None:
        ended = asyncio.Event()
        started.set_result((asyncio.get_running_loop(), ended))
        await ended.wait()

    asyncio.run(live())
