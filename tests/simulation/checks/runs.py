"""What runs do, by a model that is written down anew: each node once and in order, each wait and timer as it was set.

Rules: wrong-shard, started-twice, started-unasked, pinned-wrong, step-before-start, step-after-end, out-of-order,
completed-early, cancelled-unasked, two-waits, bookmark-twice, wait-unpromised, withdrawal-unpromised,
bookmark-consumed-twice, resumed-by-other, resumed-with-other, wait-expired-early, timer-unset, timer-early,
timer-wrong, decline-wrong, listens-elsewhere.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from interlock.domain.definitions.compiler import load
from interlock.domain.definitions.executable import ActivityNode, Executable, TimerNode, WaitNode
from interlock.domain.executions.execution.events import (
    ActivityCompleted,
    ActivityFaulted,
    BookmarkConsumed,
    BookmarkCreated,
    BookmarkExpired,
    CancelRequested,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFaulted,
    ExecutionStarted,
    ExecutionUnserved,
    TimerFired,
    TimerSet,
)
from interlock.domain.messages import RegisterWait, RejectStimulus, ResumeDeclined, StartExecution, WithdrawWait
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.sharding import digest
from interlock.processors.ports import Topics
from tests.simulation.checks import Violation
from tests.simulation.checks.tape import Commit, Fact, expect

PREFIX = "execution:"
_ENDS = {ExecutionCompleted: "completed", ExecutionFaulted: "faulted", ExecutionCancelled: "cancelled"}


@dataclass(slots=True)
class Run:
    """One execution."""

    started: ExecutionStarted
    home: tuple[str, int]
    end: str = ""
    """completed, faulted or cancelled; "" while it goes on."""
    done: list[str] = field(default_factory=list[str])
    """The nodes that it went through."""
    wait: BookmarkCreated | None = None
    timer: TimerSet | None = None
    unserved: bool = False
    failed: bool = False
    """An activity raised, or a wait timed out: it has to end."""
    bookmarks: set[str] = field(default_factory=set[str])
    taken: dict[str, str] = field(default_factory=dict[str, str])
    """Bookmark → the stimulus that resumed it."""
    cancels: set[str] = field(default_factory=set[str])


class RunsCheck:
    """All executions of all shards."""

    def __init__(self, topics: Topics) -> None:
        self.runs: dict[str, Run] = {}
        self.asked: dict[str, StartExecution] = {}
        """The starts that routing has promised, and publishing for test runs."""
        self.given: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        """Execution and bookmark → stimulus and payload of each taking that routing has committed."""
        self.declined: set[tuple[str, str, str]] = set()
        """Execution, bookmark and stimulus of each decline that an execution has promised."""
        self.dead_letters: set[str] = set()
        """Those that executions have promised, as for a start that can't be written."""
        self.executables: dict[str, Executable] = {}
        self._topics = topics
        self._bookmarks: set[str] = set()

    def publishing(self, commit: Commit) -> None:
        """Takes the executables of an append of publishing."""
        for fact in commit.facts:
            if isinstance(fact.event, ExecutableSaved):
                self.executables[fact.event.artifact_id] = load(fact.event.content)

    def take(self, commit: Commit) -> None:
        """Follows an append of executions."""
        for promise in commit.promises:
            if isinstance(promise.message, ResumeDeclined):
                one = promise.message
                self.declined.add((one.execution_id, one.bookmark_id, one.stimulus_id))
            elif isinstance(promise.message, RejectStimulus):
                self.dead_letters.add(promise.message.dead_letter_id)
        registered = [one.message for one in commit.promises if isinstance(one.message, RegisterWait)]
        withdrawn = [one.message for one in commit.promises if isinstance(one.message, WithdrawWait)]
        for fact in commit.facts:
            run_id = fact.stream.removeprefix(PREFIX)
            if self._topics.partition("executions", run_id) != fact.home[1]:
                raise Violation("wrong-shard", f"expected another shard to write {fact}")
            if isinstance(fact.event, ExecutionStarted):
                self._started(fact, fact.event)
                continue
            run = self.runs.get(run_id)
            if run is None:
                raise Violation("step-before-start", f"expected a start before {fact}: {type(fact.event).__name__}")
            if run.end:
                raise Violation("step-after-end", f"expected nothing after it had {run.end}, found {fact}")
            self._step(fact, run, registered, withdrawn)
        for asked in registered:
            known = asked.bookmark_id in self.runs[asked.execution_id].bookmarks
            expect(known, "wait-unpromised", f"expected a bookmark for {asked} in {commit}")
        self._declines(commit)

    def _declines(self, commit: Commit) -> None:
        for promise in commit.promises:
            one = promise.message
            if isinstance(one, ResumeDeclined):
                run = self.runs.get(one.execution_id)
                open_now = run is not None and run.wait is not None and run.wait.bookmark_id == one.bookmark_id
                took = run is not None and run.taken.get(one.bookmark_id) == one.stimulus_id
                if open_now or took:
                    state = "open" if open_now else "taken by it"
                    raise Violation("decline-wrong", f"expected no decline of a bookmark that is {state}: {promise}")

    def _started(self, fact: Fact, event: ExecutionStarted) -> None:
        if event.execution_id in self.runs:
            raise Violation("started-twice", f"expected {event.execution_id} to start once, found {fact}")
        asked = self.asked.get(event.execution_id)
        if asked is None:
            raise Violation("started-unasked", f"expected somebody to have promised it before {fact}")
        fields = ("shell", "definition_id", "slot_id", "publication_id", "artifact_id", "trigger_node", "stimulus_id")
        all_fields = (*fields, "stimulus_name", "data", "test_reference_id")
        wrong = [one for one in all_fields if getattr(asked, one) != getattr(event, one)]
        expect(not wrong, "pinned-wrong", f"expected {wrong} of {fact} as in {asked}")
        self.runs[event.execution_id] = Run(event, fact.home)

    def _step(self, fact: Fact, run: Run, registered: list[RegisterWait], withdrawn: list[WithdrawWait]) -> None:
        event = fact.event
        if isinstance(event, ActivityCompleted | ActivityFaulted | ExecutionUnserved):
            self._at(fact, run, event.node_id, ActivityNode)
            run.unserved = isinstance(event, ExecutionUnserved)
            if isinstance(event, ActivityCompleted):
                run.done.append(event.node_id)
            run.failed = isinstance(event, ActivityFaulted)
            return
        match event:
            case BookmarkCreated():
                self._waits(fact, run, event, registered)
            case BookmarkConsumed():
                self._resumed(fact, run, event)
            case BookmarkExpired():
                self._expired(fact, run, event, withdrawn)
            case TimerSet():
                node = self._at(fact, run, event.node_id, TimerNode)
                expect(run.timer is None and run.wait is None, "two-waits", f"expected none open at {fact}")
                if isinstance(node, TimerNode) and event.due_at_ms != event.at_ms + node.delay_ms:
                    raise Violation("timer-wrong", f"expected {node.delay_ms} ms after {event.at_ms} in {fact}")
                run.timer = event
            case TimerFired():
                if run.timer is None or run.timer.node_id != event.node_id:
                    raise Violation("timer-unset", f"expected its timer to be set, found {run.timer} at {fact}")
                if min(event.at_ms, fact.time_ms) < run.timer.due_at_ms:
                    raise Violation(
                        "timer-early", f"expected {run.timer.due_at_ms} or later, found {event.at_ms}: {fact}"
                    )
                run.timer = None
                run.done.append(event.node_id)
            case CancelRequested():
                run.cancels.add(event.command_id)
            case ExecutionCompleted():
                nodes = [node.id for node in self._executable(fact, run).nodes]
                expect(run.done == nodes, "completed-early", f"expected {nodes} to be done, found {run.done} at {fact}")
                run.end = "completed"
            case ExecutionCancelled():
                expect(bool(run.cancels), "cancelled-unasked", f"expected a request before {fact}")
                if run.wait is not None:
                    self._withdraws(fact, run.wait.bookmark_id, withdrawn)
                run.end = "cancelled"
                run.wait = run.timer = None
            case ExecutionFaulted():
                run.end = "faulted"
                run.wait = run.timer = None
            case _:
                raise Violation("out-of-order", f"expected a step of an execution, found {fact}")

    def _executable(self, fact: Fact, run: Run) -> Executable:
        found = self.executables.get(run.started.artifact_id)
        if found is None:
            raise Violation("pinned-wrong", f"expected {run.started.artifact_id} in publishing before {fact}")
        return found

    def _at(self, fact: Fact, run: Run, node_id: str, kind: type) -> object:
        nodes = self._executable(fact, run).nodes
        node = nodes[len(run.done)] if len(run.done) < len(nodes) else None
        if not isinstance(node, kind) or getattr(node, "id", "") != node_id:
            raise Violation("out-of-order", f"expected {node} next, found {type(fact.event).__name__} of {fact}")
        if run.wait is not None or run.timer is not None:
            raise Violation("two-waits", f"expected no wait or timer open, found {run.wait or run.timer} at {fact}")
        return node

    def _waits(self, fact: Fact, run: Run, event: BookmarkCreated, registered: list[RegisterWait]) -> None:
        node, plain = self._at(fact, run, event.node_id, WaitNode), not run.started.test_reference_id
        assert isinstance(node, WaitNode)
        listens_to = node.identity if plain else digest("test-stimulus", run.started.execution_id, node.identity)
        if event.identity != listens_to:
            raise Violation("listens-elsewhere", f"expected identity {listens_to} of {event} in {fact}")
        expect(event.bookmark_id not in self._bookmarks, "bookmark-twice", f"expected a new bookmark in {fact}")
        self._bookmarks.add(event.bookmark_id)
        run.bookmarks.add(event.bookmark_id)
        run.wait = event
        expected = RegisterWait(
            shell=run.started.shell,
            identity=event.identity,
            correlation=event.correlation,
            execution_id=run.started.execution_id,
            bookmark_id=event.bookmark_id,
            committed_at_ms=event.at_ms,
            started_by=run.started.stimulus_id,
        )
        expect(expected in registered, "wait-unpromised", f"expected {expected} beside {fact}")

    def _resumed(self, fact: Fact, run: Run, event: BookmarkConsumed) -> None:
        if run.wait is None or run.wait.bookmark_id != event.bookmark_id:
            raise Violation("bookmark-consumed-twice", f"expected its bookmark to be open, found {run.wait} at {fact}")
        given = self.given[run.started.execution_id, event.bookmark_id]
        if event.stimulus_id not in {stimulus for stimulus, _ in given}:
            raise Violation("resumed-by-other", f"expected one of {given} to resume it, found {fact}")
        if (event.stimulus_id, event.data) not in given:
            raise Violation("resumed-with-other", f"expected the payload of the stimulus in {fact}")
        run.taken[event.bookmark_id] = event.stimulus_id
        run.wait = None
        run.done.append(event.node_id)

    def _expired(self, fact: Fact, run: Run, event: BookmarkExpired, withdrawn: list[WithdrawWait]) -> None:
        wait = run.wait
        if wait is None or wait.bookmark_id != event.bookmark_id:
            raise Violation("bookmark-consumed-twice", f"expected its bookmark to be open, found {wait} at {fact}")
        if wait.expires_at_ms is None or min(event.at_ms, fact.time_ms) < wait.expires_at_ms:
            raise Violation(
                "wait-expired-early", f"expected {wait.expires_at_ms} or later, found {event.at_ms}: {fact}"
            )
        self._withdraws(fact, event.bookmark_id, withdrawn)
        run.wait, run.failed = None, True

    def _withdraws(self, fact: Fact, bookmark_id: str, withdrawn: list[WithdrawWait]) -> None:
        told = any(one.bookmark_id == bookmark_id for one in withdrawn)
        expect(told, "withdrawal-unpromised", f"expected the wait to be withdrawn beside {fact}")

    def is_dead(self, run_id: str) -> bool:
        """Whether its start has become a dead letter."""
        return digest("dead-letter", "start", run_id) in self.dead_letters

    def owing(self, now_ms: int) -> list[str]:
        """Runs that have to go on by themselves, and what is overdue."""
        found: list[str] = []
        for run_id, run in self.runs.items():
            if run.end:
                continue
            due_ms = run.wait.expires_at_ms if run.wait is not None else None
            due_ms = run.timer.due_at_ms if run.timer is not None else due_ms
            if due_ms is not None and due_ms <= now_ms:
                found.append(f"run {run_id} is due since {now_ms - due_ms} ms")
            elif run.wait is None and run.timer is None and not run.unserved:
                found.append(f"run {run_id} is under way")
            elif run.cancels:
                found.append(f"run {run_id} was asked to end")
        found += [
            f"run {run_id} was promised and has not started"
            for run_id in self.asked
            if run_id not in self.runs and not self.is_dead(run_id)
        ]
        for (run_id, bookmark_id), given in self.given.items():
            met = self.runs.get(run_id)
            for stimulus_id, _ in given:
                taken = met is not None and met.taken.get(bookmark_id) == stimulus_id
                if not taken and (run_id, bookmark_id, stimulus_id) not in self.declined:
                    found.append(f"stimulus {stimulus_id} is on its way to run {run_id}")
        return found
