"""The activities of a rehearsal: the author's own, each of which may be told to raise, to hang, to take its time, or
to let another function stand in; and a record of every call."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from interlock.activities import Activities, Activity, ActivityContext
from interlock.domain.executions.execution.decide import Invocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One time that an activity was called."""

    execution_id: str
    node_id: str
    attempt: int
    """From 1."""
    idempotency_key: str
    """The same again where a crash has the engine call again."""
    inputs: Mapping[str, str]
    """Parameter → its value as JSON text."""


class Part:
    """One activity in a rehearsal. What it is told holds for calls that begin afterwards."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: list[Call] = []
        """Every call, in the order in which they began."""
        self.under_way: dict[str, Call] = {}
        """Execution → the call that has not ended."""
        self._errors: deque[Exception] = deque()
        self._hanging: asyncio.Event | None = None
        self._takes_s = 0.0
        self._instead: Activity[..., object] | None = None

    def raises(self, error: Exception, *, times: int = 1) -> None:
        """The next calls, so many, raise this instead of calling the function."""
        self._errors.extend([error] * times)

    def hangs(self) -> None:
        """Calls don't end, until `plays` or a crash; a run that is cancelled ends them too."""
        if self._hanging is None:
            self._hanging = asyncio.Event()

    def takes(self, duration: timedelta) -> None:
        """Each call takes so long of the virtual time before the function is called."""
        self._takes_s = duration.total_seconds()

    def stands_in(self, function: Callable[..., object]) -> None:
        """Calls this function, plain or async, instead; it takes the same parameters, and types convert likewise."""
        self._instead = Activity(function, self.name)

    def plays(self) -> None:
        """Takes back everything that it was told; what hangs goes on."""
        self._errors.clear()
        self._takes_s = 0.0
        self._instead = None
        if self._hanging is not None:
            self._hanging.set()
            self._hanging = None

    async def perform(self, invocation: Invocation, activities: Activities) -> str:
        """For the engine: one call."""
        call = Call(
            execution_id=invocation.execution_id,
            node_id=invocation.node_id,
            attempt=invocation.attempt,
            idempotency_key=invocation.idempotency_key,
            inputs=dict(invocation.inputs),
        )
        self.calls.append(call)
        self.under_way[call.execution_id] = call
        try:
            if self._hanging is not None:
                await self._hanging.wait()
            await asyncio.sleep(self._takes_s)
            if self._errors:
                raise self._errors.popleft()
            if self._instead is None:
                return await activities.invoke(invocation)
            return await self._instead.call(invocation.inputs, _context(call))
        finally:
            if self.under_way.get(call.execution_id) is call:
                del self.under_way[call.execution_id]


class Cast:
    """All activities of a rehearsal; implements `Invoker`."""

    def __init__(self, activities: Activities) -> None:
        self._activities = activities
        self._parts = {name: Part(name) for name in activities.names}

    def part(self, name: str) -> Part:
        """One of them. Raises `LookupError`."""
        found = self._parts.get(name)
        if found is None:
            there = ", ".join(self._parts) or "none"
            raise LookupError(f"expected an activity of this rehearsal ({there}), found {name!r}")
        return found

    def serves(self, activity: str) -> bool:
        """Whether it is one of the author's."""
        return self._activities.serves(activity)

    async def invoke(self, invocation: Invocation) -> str:
        """Calls it."""
        return await self.part(invocation.activity).perform(invocation, self._activities)

    def under_way(self, execution_id: str) -> tuple[str, Call] | None:
        """The activity that a run waits for, with its call; None if there is none."""
        parts = self._parts.items()
        return next(
            ((name, part.under_way[execution_id]) for name, part in parts if execution_id in part.under_way), None
        )


def _context(call: Call) -> ActivityContext:
    return ActivityContext(
        execution_id=call.execution_id,
        node_id=call.node_id,
        attempt=call.attempt,
        idempotency_key=call.idempotency_key,
    )
