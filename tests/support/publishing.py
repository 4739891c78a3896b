"""A publishing shard to try things on: asks the deciders as the processor does, and applies what they decide."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from interlock.domain.decider import Change, Decided, Decision, Intent
from interlock.domain.definitions.document import CustomTrigger, TriggerPart
from interlock.domain.definitions.executable import Cardinality
from interlock.domain.definitions.providers import PROVIDERS, Descriptor, TriggerProvider
from interlock.domain.messages import Owner, ProjectionAnswered, Publish, Reply, Restore, RoutingReached, Unpublish
from interlock.domain.publishing.candidate import Wish
from interlock.domain.publishing.checks import PublicationValidator
from interlock.domain.publishing.decide import decide, due, publication_id
from interlock.domain.publishing.policy import HostPolicy
from interlock.domain.publishing.publication.commands import PublicationCommand
from interlock.domain.publishing.publication.state import Publication
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.publishing.slot.state import Slot
from interlock.domain.sharding import slot_id
from tests.support.given import Outcome, given_shard

SHELL = "default"
KIND = "trigger-index"
PREPARE_MS = 30_000


@dataclass(frozen=True)
class GateProvider:
    """Exclusive: of each gate there is one keeper."""

    id: str = "gate"
    cardinality: Cardinality = "exclusive"

    def describe(self, trigger: TriggerPart) -> Sequence[Descriptor] | None:
        if not isinstance(trigger, CustomTrigger) or trigger.type != "gate" or trigger.name is None:
            return None
        return [Descriptor(type="Gate", name=trigger.name, claim=f"gate:{trigger.name}")]


WITH_GATES: tuple[TriggerProvider, ...] = (*PROVIDERS, GateProvider())


def document(name: str = "orders", *, on: tuple[str, ...] = ("event:order.placed",), pause: str = "1h") -> str:
    """A definition with one step; its triggers are written as `type:name`."""
    triggers = [{"type": kind, "name": named} for kind, named in (trigger.split(":") for trigger in on)]
    return triggered_by(*triggers, name=name, pause=pause)


def triggered_by(*triggers: Mapping[str, object], name: str = "orders", pause: str = "1h") -> str:
    """A definition with one step and these triggers."""
    return json.dumps({"name": name, "triggers": triggers, "steps": [{"id": "pause", "sleep": pause}]})


def wish(
    slot: str | None = None, expect_revision: int | None = None, owner: Owner | None = None, take_over: bool = False
) -> Wish:
    """What a request says of its slot."""
    return Wish(shell=SHELL, slot=slot, expect_revision=expect_revision, owner=owner, take_over=take_over)


def publish(
    command_id: str = "c1",
    text: str | None = None,
    *,
    shell: str = SHELL,
    slot: str | None = None,
    expect_revision: int | None = None,
    owner: Owner | None = None,
    take_over: bool = False,
) -> Publish:
    """A request to publish."""
    return Publish(
        command_id=command_id,
        shell=shell,
        document=document() if text is None else text,
        slot=slot,
        expect_revision=expect_revision,
        requested_by="ada",
        requested_at_ms=900,
        owner=owner,
        take_over=take_over,
    )


def restore(
    command_id: str = "r1",
    publication: str | None = None,
    *,
    definition_id: str = "orders",
    slot: str | None = None,
    expect_revision: int | None = None,
    owner: Owner | None = None,
    take_over: bool = False,
) -> Restore:
    """A request to restore the publication of a command, or the previous one."""
    return Restore(
        command_id=command_id,
        shell=SHELL,
        definition_id=definition_id,
        slot=slot,
        publication_id=None if publication is None else publication_id(SHELL, publication),
        expect_revision=expect_revision,
        requested_by="bob",
        requested_at_ms=950,
        owner=owner,
        take_over=take_over,
    )


def unpublish(
    command_id: str = "u1",
    definition_id: str = "orders",
    *,
    slot: str | None = None,
    expect_revision: int | None = None,
    owner: Owner | None = None,
    take_over: bool = False,
) -> Unpublish:
    """A request to empty a slot."""
    return Unpublish(
        command_id=command_id,
        shell=SHELL,
        definition_id=definition_id,
        slot=slot,
        expect_revision=expect_revision,
        requested_by="ada",
        requested_at_ms=900,
        owner=owner,
        take_over=take_over,
    )


def answered(
    command_id: str = "c1", *, kind: str = KIND, prepared: bool = True, reason: str = ""
) -> ProjectionAnswered:
    """A view's answer for the publication of a command."""
    return ProjectionAnswered(
        shell=SHELL, publication_id=publication_id(SHELL, command_id), kind=kind, prepared=prepared, reason=reason
    )


def reached(command_id: str, partition: int, position: int) -> RoutingReached:
    """A routing shard's word for the publication of a command."""
    return RoutingReached(
        shell=SHELL, publication_id=publication_id(SHELL, command_id), partition=partition, position=position
    )


def kinds(decided: object) -> list[str]:
    """The events of a decision, by their names."""
    assert isinstance(decided, Decision), decided
    return [type(change.event).__name__ for change in decided.changes]


@dataclass
class Desk:
    """A shard with its clock, and everything that was decided on it."""

    shard: PublishingShard = field(default_factory=PublishingShard)
    now_ms: int = 1_000
    position: int = 0
    routing_shards: int = 2
    kinds: tuple[str, ...] = (KIND,)
    host_policy: HostPolicy = "default"
    validators: tuple[PublicationValidator, ...] = ()
    changes: list[Change] = field(default_factory=list[Change])
    intents: list[Intent] = field(default_factory=list[Intent])

    def ask(self, message: PublicationCommand) -> Decided:
        """Decides a message and applies the decision."""
        return self._commit(self.decide(self.shard, message))

    def decide(self, shard: PublishingShard, message: PublicationCommand) -> Decided:
        """Decides a message for the next append, and applies nothing."""
        return decide(
            shard,
            message,
            self.now_ms,
            position=self.position + 1,
            routing_shards=self.routing_shards,
            projection_kinds=self.kinds,
            prepare_ms=PREPARE_MS,
            providers=WITH_GATES,
            host_policy=self.host_policy,
            validators=self.validators,
        )

    def asked(self, message: PublicationCommand) -> Outcome:
        """What would come of a message now; nothing is applied."""
        return given_shard(self.shard).when(lambda shard: self.decide(shard, message))

    def due(self) -> Decided:
        """Decides what is due and applies it."""
        return self._commit(due(self.shard, self.now_ms))

    def activate(
        self, command_id: str, text: str | None = None, *, slot: str | None = None, owner: Owner | None = None
    ) -> Publication:
        """Publishes and lets every projection prepare."""
        self.ask(publish(command_id, text, slot=slot, owner=owner))
        return self.prepare(command_id)

    def prepare(self, command_id: str) -> Publication:
        """Lets every projection prepare what a command asked for."""
        for kind in self.kinds:
            self.ask(answered(command_id, kind=kind))
        return self.publication(command_id)

    def serve(self, command_id: str) -> None:
        """Lets every routing shard reach a publication's activation."""
        for partition in range(self.routing_shards):
            self.ask(reached(command_id, partition, self.publication(command_id).position))

    def publication(self, command_id: str) -> Publication:
        """The publication of a command."""
        return self.shard.publications[publication_id(SHELL, command_id)]

    def slot(self, definition: str = "orders", name: str = "default") -> Slot:
        """A slot."""
        return self.shard.slot(slot_id(SHELL, definition, name))

    def replies(self, command_id: str) -> list[tuple[str, dict[str, Any]]]:
        """The answers to a command: status and body."""
        messages = [intent.message for intent in self.intents if intent.context == "replies"]
        return [
            (message.status, cast("dict[str, Any]", json.loads(message.body)))
            for message in messages
            if isinstance(message, Reply) and message.command_id == command_id
        ]

    def _commit(self, decided: Decided) -> Decided:
        if isinstance(decided, Decision):
            self.position += 1
            self.changes.extend(decided.changes)
            self.intents.extend(decided.intents)
            for change in decided.changes:
                self.shard.apply(change.stream, change.event)
        return decided
