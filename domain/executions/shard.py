"""The executions of one shard as its owner holds them in memory: rebuilt from the journal, changed by events only.

`apply` costs no more than the logarithm of what is due, whatever the shard holds, and nothing here is found by a scan.
An execution that has ended leaves only its summary. The sets are in the order in which their members joined, so that a
seeded run of the whole engine does the same each time.

Surprising: the due index forgets lazily. An entry that no longer says when its execution is due is passed over when it
comes up; where these outnumber the others, the index is made anew, which costs a constant per event over time. Without
this, runs whose waits are met at once would leave entries behind for as long as their timeouts are.
"""

import heapq
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from interlock.domain.executions.execution.decide import due_at_ms
from interlock.domain.executions.execution.drain import STREAM_PREFIX
from interlock.domain.executions.execution.events import ExecutionEvent
from interlock.domain.executions.execution.state import PLAIN_ENDS, Ended, ExecutionState, evolve, summary

STALE_ENTRIES_MIN: Final = 1_024
"""Below this many forgotten entries the due index is not made anew: it would save nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptExecutions:
    """What is kept of a shard, so that its journal needs not be folded from its beginning. When each is due follows."""

    live: dict[str, ExecutionState]
    terminal: dict[str, Ended]
    owed: tuple[str, ...]
    """In their order, as the two below."""
    unserved: tuple[str, ...]
    cancelling: tuple[str, ...]


class ExecutionsShard:
    """Executions by id, and the indexes over what they owe."""

    def __init__(self) -> None:
        self._live: dict[str, ExecutionState] = {}
        self._terminal: dict[str, Ended] = {}
        self._owed: dict[str, None] = {}
        self._unserved: dict[str, None] = {}
        self._cancelling: dict[str, None] = {}
        self._due: list[tuple[int, str]] = []
        self._due_at: dict[str, int] = {}

    def find(self, execution_id: str) -> ExecutionState | Ended | None:
        """The execution whole while it goes on, its summary when it has ended, None if it isn't known."""
        state = self._live.get(execution_id)
        return self._terminal.get(execution_id) if state is None else state

    @property
    def live(self) -> AbstractSet[str]:
        """The executions that have not ended."""
        return self._live.keys()

    @property
    def terminal(self) -> dict[str, Ended]:
        """The executions that have ended, by id; to be read only."""
        return self._terminal

    @property
    def owed(self) -> AbstractSet[str]:
        """The executions that owe an invocation; those that nobody here serves are in `unserved` instead."""
        return self._owed.keys()

    @property
    def unserved(self) -> AbstractSet[str]:
        """The executions for whose next activity no code was here."""
        return self._unserved.keys()

    @property
    def cancelling(self) -> AbstractSet[str]:
        """The executions that end when the activity that is under way has: after a crash none is (`decide.abandon`)."""
        return self._cancelling.keys()

    @property
    def due_entries(self) -> int:
        """The length of the due index, forgotten entries included; at most twice what is due and a constant."""
        return len(self._due)

    def apply(self, stream: str, event: ExecutionEvent) -> None:
        """Takes an event of the shard's journal. Raises `UnfoldableEvent` as `evolve` does."""
        execution_id = stream[len(STREAM_PREFIX) :]
        before = self._live.get(execution_id)
        after = evolve(before, event)
        ended = summary(after)
        if ended is None:
            self._live[execution_id] = after
        else:
            self._live.pop(execution_id, None)
            self._terminal[execution_id] = ended
        if before is None or before.status != after.status or before.unserved is not after.unserved:
            self._index_owed(execution_id, after)
        if before is None or before.wait is not after.wait or before.timer is not after.timer:
            self._index_due(execution_id, after)

    def keep(self) -> KeptExecutions:
        """All that it is, as of now. What `take_due` has given is due in it still: only events change what is."""
        return KeptExecutions(
            live=self._live.copy(),
            terminal=self._terminal.copy(),
            owed=tuple(self._owed),
            unserved=tuple(self._unserved),
            cancelling=tuple(self._cancelling),
        )

    def restore(self, kept: KeptExecutions) -> None:
        """Becomes what was kept; whatever it was before is gone."""
        self._live = kept.live.copy()
        # The common summaries are one object each, however many runs have ended so.
        self._terminal = {
            one: ended if ended.taken or ended.cancels else PLAIN_ENDS[ended.status]
            for one, ended in kept.terminal.items()
        }
        self._owed = dict.fromkeys(kept.owed)
        self._unserved = dict.fromkeys(kept.unserved)
        self._cancelling = dict.fromkeys(kept.cancelling)
        dues = ((one, due_at_ms(state)) for one, state in self._live.items())
        self._due_at = {one: due_ms for one, due_ms in dues if due_ms is not None}
        self._due = [(due_ms, one) for one, due_ms in self._due_at.items()]
        heapq.heapify(self._due)

    def next_due_ms(self) -> int | None:
        """When the next execution is due, in milliseconds since 1970; None if none is."""
        self._drop_stale()
        return self._due[0][0] if self._due else None

    def take_due(self, now_ms: int, count_max: int) -> tuple[str, ...]:
        """Executions that are due by now, in (due, id) order; each is given once, to be decided by `decide.due`."""
        taken: list[str] = []
        self._drop_stale()
        while self._due and self._due[0][0] <= now_ms and len(taken) < count_max:
            execution_id = heapq.heappop(self._due)[1]
            del self._due_at[execution_id]
            taken.append(execution_id)
            self._drop_stale()
        return tuple(taken)

    def _index_owed(self, execution_id: str, state: ExecutionState) -> None:
        running, is_unserved = state.status == "running", state.unserved is not None
        _keep(self._owed, execution_id, running and not is_unserved)
        _keep(self._unserved, execution_id, running and is_unserved)
        _keep(self._cancelling, execution_id, state.status == "cancelling")

    def _index_due(self, execution_id: str, state: ExecutionState) -> None:
        due_ms = due_at_ms(state)
        if due_ms is None:
            self._due_at.pop(execution_id, None)
        elif self._due_at.get(execution_id) != due_ms:
            self._due_at[execution_id] = due_ms
            heapq.heappush(self._due, (due_ms, execution_id))
        if len(self._due) > 2 * len(self._due_at) + STALE_ENTRIES_MIN:
            self._due = [(at_ms, one) for one, at_ms in self._due_at.items()]
            heapq.heapify(self._due)

    def _drop_stale(self) -> None:
        while self._due and self._due_at.get(self._due[0][1]) != self._due[0][0]:
            heapq.heappop(self._due)


def _keep(members: dict[str, None], execution_id: str, belongs: bool) -> None:
    if belongs:
        members[execution_id] = None
    elif execution_id in members:
        del members[execution_id]
