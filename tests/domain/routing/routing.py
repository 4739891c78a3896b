"""A routing shard under test: tell it messages, and look at what it decided.

Each step is also a check that replay equals live, also where it goes on from a snapshot, that deciding changes nothing,
and that a repetition is nothing.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from interlock.domain.decider import NOTHING, Decision
from interlock.domain.messages import (
    DecideAt,
    Message,
    Origin,
    RegisterWait,
    ResumeDeclined,
    ResumeExecution,
    RouteStimulus,
    StartExecution,
    WithdrawWait,
)
from interlock.domain.routing.decide import RoutingMessage, decide, due, next_due_ms
from interlock.domain.routing.intake import stimulus_id
from interlock.domain.routing.lookup import AuthoritativeBinding
from interlock.domain.routing.shard import KeptRouting, RoutingShard
from interlock.domain.sharding import digest, stimulus_identity
from interlock.schemas.states import StateFormat
from tests.support.snapshots import through_text

SHELL = "default"
NOW_MS = 1_800_000_000_000
SKEW_MS = 10
HORIZON_MS = 86_400_000
POSITION = 7
PARTITION = 3
FORM = StateFormat(KeptRouting)


def identity_of(name: str) -> str:
    return stimulus_identity("Event", name)


def binding(name: str, node_id: str = "trigger") -> AuthoritativeBinding:
    """An authoritative binding whose ids all begin with a name."""
    return AuthoritativeBinding(
        binding_id=f"{name}-binding",
        node_id=node_id,
        publication_id=f"{name}-publication",
        slot_id=f"{name}-slot",
        definition_id=f"{name}-definition",
        artifact_id=f"{name}-artifact",
    )


@dataclass
class Bindings:
    """A lookup that a test writes by name of the event."""

    by_identity: dict[tuple[str, str], list[AuthoritativeBinding]] = field(
        default_factory=dict[tuple[str, str], list[AuthoritativeBinding]]
    )

    def bind(self, name: str, *bindings: AuthoritativeBinding, shell: str = SHELL) -> None:
        self.by_identity[shell, identity_of(name)] = list(bindings)

    def bindings(self, shell: str, identity: str) -> Sequence[AuthoritativeBinding]:
        return self.by_identity.get((shell, identity), ())


@dataclass
class Routing:
    """A shard, the same one as a replay of its events makes it, and a clock that a test moves."""

    horizon_ms: int = HORIZON_MS
    now_ms: int = NOW_MS
    bindings: Bindings = field(default_factory=Bindings)
    shard: RoutingShard = field(init=False)
    replayed: RoutingShard = field(init=False)
    """It never decides, so what deciding does to a shard shows as a difference."""
    restored: RoutingShard = field(init=False)
    """It has been written and read again, now and then, and has to decide as the others do."""
    made: int = 0
    taken: int = 0

    def __post_init__(self) -> None:
        self.shard = RoutingShard(horizon_ms=self.horizon_ms)
        self.replayed = RoutingShard(horizon_ms=self.horizon_ms)
        self.restored = RoutingShard(horizon_ms=self.horizon_ms)

    def tell(self, message: RoutingMessage) -> Decision:
        """Decides and applies; an empty decision stands for NOTHING."""
        decision = self.ask(message)
        self.take(decision)
        if not isinstance(message, DecideAt):
            assert self.ask(message) == Decision(), "a repeated message was decided again"
        return decision

    def expire(self) -> list[object]:
        """The events of all that is due now."""
        events: list[object] = []
        while (due_ms := next_due_ms(self.shard)) is not None and due_ms <= self.now_ms:
            decided = due(self.shard, self.now_ms)
            assert isinstance(decided, Decision)
            assert decided.changes, "something is due, and nothing was decided"
            self.take(decided)
            events += [change.event for change in decided.changes]
        assert due(self.shard, self.now_ms) is NOTHING
        return events

    def ask(self, message: RoutingMessage) -> Decision:
        """Decides without applying."""
        decided, again = (
            decide(
                shard,
                message,
                self.now_ms,
                bindings=self.bindings,
                position=POSITION,
                partition=PARTITION,
                skew_ms=SKEW_MS,
            )
            for shard in (self.shard, self.restored)
        )
        assert again == decided, "a shard that was restored from a snapshot decides otherwise"
        if decided is NOTHING:
            return Decision()
        assert isinstance(decided, Decision)
        return decided

    def take(self, decision: Decision) -> None:
        """Applies a decision, here and to the shard that only ever folds."""
        for change in decision.changes:
            self.shard.apply(change.stream, change.event)
            self.replayed.apply(change.stream, change.event)
            self.restored.apply(change.stream, change.event)
        assert self.replayed == self.shard, "replay differs from live: something but an event changed the shard"
        self.taken += 1
        # Large shards are written seldom: it costs their size.
        if self.taken % (1 + len(self.shard.stimuli) // 8) == 0:
            self._write_and_read()

    def _write_and_read(self) -> None:
        kept = self.shard.keep()
        assert self.restored.keep() == kept, "a shard that was restored from a snapshot has become another one"
        (found,) = through_text(FORM, kept)
        assert found == kept
        assert isinstance(found, KeptRouting)
        self.restored = RoutingShard(horizon_ms=self.horizon_ms)
        self.restored.restore(found)
        assert self.restored.keep() == kept

    def stimulus(
        self,
        name: str = "payment.received",
        *,
        correlation: str = "",
        key: str = "",
        data: object = None,
        ttl_ms: int | None = None,
        deliver: Literal["all", "one"] = "all",
        arrived_at_ms: int | None = None,
        shell: str = SHELL,
    ) -> RouteStimulus:
        """A stimulus that arrives now; without a key each one is another."""
        self.made += 1
        identity = identity_of(name)
        return RouteStimulus(
            stimulus_id=stimulus_id(shell, identity, correlation, key) if key else digest("made", str(self.made)),
            shell=shell,
            type="Event",
            name=name,
            identity=identity,
            correlation=correlation,
            idempotency_key=key,
            data=json.dumps({} if data is None else data),
            ttl_ms=ttl_ms,
            deliver=deliver,
            arrived_at_ms=self.now_ms if arrived_at_ms is None else arrived_at_ms,
            origin=Origin(channel="kafka", topic="interlock.stimuli@t", partition=0, offset=self.made),
        )

    def wait(
        self,
        execution_id: str,
        name: str = "payment.received",
        *,
        bookmark_id: str = "bookmark",
        correlation: str = "",
        committed_at_ms: int | None = None,
        started_by: str = "",
        shell: str = SHELL,
    ) -> RegisterWait:
        """A wait whose bookmark is committed now."""
        return RegisterWait(
            shell=shell,
            identity=identity_of(name),
            correlation=correlation,
            execution_id=execution_id,
            bookmark_id=bookmark_id,
            committed_at_ms=self.now_ms if committed_at_ms is None else committed_at_ms,
            started_by=started_by,
        )


def withdrawn(wait: RegisterWait) -> WithdrawWait:
    return WithdrawWait(
        shell=wait.shell,
        identity=wait.identity,
        correlation=wait.correlation,
        execution_id=wait.execution_id,
        bookmark_id=wait.bookmark_id,
    )


def declined(wait: RegisterWait, stimulus: str) -> ResumeDeclined:
    return ResumeDeclined(
        shell=wait.shell,
        identity=wait.identity,
        correlation=wait.correlation,
        execution_id=wait.execution_id,
        bookmark_id=wait.bookmark_id,
        stimulus_id=stimulus,
    )


def messages(decision: Decision) -> list[Message]:
    """What a decision promises."""
    return [intent.message for intent in decision.intents]


def resumed(decision: Decision) -> list[str]:
    """The executions that a decision resumes, each intent addressed to its own shard."""
    found: list[str] = []
    for intent in decision.intents:
        if isinstance(intent.message, ResumeExecution):
            assert (intent.context, intent.shard_key) == ("executions", intent.message.execution_id)
            found.append(intent.message.execution_id)
    return found


def started(decision: Decision) -> list[StartExecution]:
    """The starts that a decision promises, each addressed to its own shard."""
    found: list[StartExecution] = []
    for intent in decision.intents:
        if isinstance(intent.message, StartExecution):
            assert (intent.context, intent.shard_key) == ("executions", intent.message.execution_id)
            found.append(intent.message)
    return found


def kinds(decision: Decision) -> list[str]:
    """The names of a decision's events."""
    return [type(change.event).__name__ for change in decision.changes]
