"""Calls activities and reports how they ended. What an activity does is at least once: a crash calls it again, with the
same idempotency key; what the engine records of it is exactly once."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

from interlock.domain.executions.execution.commands import ActivityFinished, ActivityRaised
from interlock.domain.executions.execution.decide import Invocation

log = logging.getLogger(__name__)

ERROR_CHARS_MAX = 2_000
"""How much of an error's message is kept."""
CLOSE_S = 2.0
"""How long activities may take to end when they are called off: until then nobody else gets the shard."""


class Invoker(Protocol):
    """The code of activities that this process presents."""

    def serves(self, activity: str, /) -> bool:
        """Whether the code of an activity is here."""
        ...

    async def invoke(self, invocation: Invocation, /) -> str:
        """Calls it and returns its output as JSON text; raises what the activity raises."""
        ...


Report = Callable[[str, ActivityFinished], None]
"""Takes the execution's id and how its activity ended."""


class Activities:
    """The activities of one shard that are under way; at most one an execution."""

    def __init__(self, invoker: Invoker, report: Report, *, output_bytes_max: int) -> None:
        self._invoker = invoker
        self._report = report
        self._output_bytes_max = output_bytes_max
        self._tasks: dict[str, asyncio.Task[str | ActivityRaised]] = {}
        self._cancelled: set[str] = set()

    def under_way(self, execution_id: str) -> bool:
        """Whether one is being called for the execution."""
        return execution_id in self._tasks

    def start(self, invocation: Invocation) -> None:
        """Calls it in a task of its own."""
        task = self._tasks[invocation.execution_id] = asyncio.create_task(self._call(invocation))
        # A task that is cancelled before its first step never comes into its code, so that can't be what reports.
        task.add_done_callback(partial(self._ended, invocation))

    def cancel(self, execution_id: str) -> None:
        """Asks the activity of an execution to end; how it ends is reported as ever."""
        task = self._tasks.get(execution_id)
        if task is not None:
            self._cancelled.add(execution_id)
            task.cancel()

    async def close(self) -> None:
        """Ends all, and reports nothing. One that won't end is left to itself: what it gives belongs to nobody."""
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        if not tasks:
            return
        _, left = await asyncio.wait(tasks, timeout=CLOSE_S)
        if left:
            log.warning("%d activities go on although they were called off; what they give is dropped", len(left))

    async def _call(self, invocation: Invocation) -> str | ActivityRaised:
        try:
            return self._checked(await self._invoker.invoke(invocation))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - see below
            # Whatever an author's code raises is the run's fault. KeyboardInterrupt would end the process, and any
            # other that escaped from here would leave the run without an end that anybody hears of.
            return ActivityRaised(error_type=type(error).__name__, error_message=_message_of(error))

    def _ended(self, invocation: Invocation, task: "asyncio.Task[str | ActivityRaised]") -> None:
        if self._tasks.get(invocation.execution_id) is not task:
            return  # the ownership is over: what it would report belongs to nobody
        del self._tasks[invocation.execution_id]
        asked = invocation.execution_id in self._cancelled
        self._cancelled.discard(invocation.execution_id)
        result = _called_off(asked=asked) if task.cancelled() else task.result()
        finished = ActivityFinished(node_id=invocation.node_id, attempt=invocation.attempt, result=result)
        self._report(invocation.execution_id, finished)

    def _checked(self, output: str) -> str | ActivityRaised:
        try:
            size = len(output.encode())
        except UnicodeEncodeError as error:
            return ActivityRaised(error_type="OutputNotText", error_message=f"expected Unicode text, found {error}")
        if size > self._output_bytes_max:
            message = f"expected an output of at most {self._output_bytes_max} bytes, found {size}; return a reference"
            return ActivityRaised(error_type="OutputTooLarge", error_message=message)
        return output


def _called_off(*, asked: bool) -> ActivityRaised:
    if asked:
        return ActivityRaised(error_type="Cancelled", error_message="the run was asked to end")
    return ActivityRaised(error_type="CancelledError", error_message="the activity raised CancelledError by itself")


def _message_of(error: BaseException) -> str:
    """What an error says; its `__str__` is an author's code too, and may raise."""
    try:
        text = str(error)
    except BaseException as second:  # noqa: BLE001 - as above
        return f"(its message can't be read: {type(second).__name__})"
    return text[:ERROR_CHARS_MAX].encode("utf-8", "backslashreplace").decode()
