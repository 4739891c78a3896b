"""Publishing: each message asks the deciders; repetitions are recognised by publication, kind and shard."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from interlock.domain.decider import NOTHING, Decided
from interlock.domain.definitions.providers import PROVIDERS, TriggerProvider
from interlock.domain.messages import Publish, RepairProjection, Restore, StartTestRun, Unpublish
from interlock.domain.publishing.checks import PublicationValidator
from interlock.domain.publishing.decide import decide, due, next_due_ms
from interlock.domain.publishing.here import TEST_REFERENCE_MS
from interlock.domain.publishing.policy import HostPolicy
from interlock.domain.publishing.publication.commands import PublicationCommand
from interlock.domain.publishing.reconciliation.decide import repair
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.refusal import Refusal
from interlock.processors.counted import KeptBook
from interlock.processors.mail import Received
from interlock.processors.taskless import Taskless
from interlock.processors.unit import Unit
from interlock.schemas.states import StateFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishingOptions:
    """What publishing needs to know of the rest."""

    routing_shards: int
    """How many routing shards have to decide at an activation before it is answered."""
    projection_kinds: tuple[str, ...]
    """The views that a candidate's rows must be prepared in."""
    prepare_ms: int
    """How long they may take, in milliseconds."""
    host_policy: HostPolicy = "default"
    """What becomes of a request that names no slot."""
    providers: Sequence[TriggerProvider] = PROVIDERS
    """Who describes the triggers of documents."""
    validators: Sequence[PublicationValidator] = ()
    """Who has a word in what is published."""
    test_reference_ms: int = TEST_REFERENCE_MS
    """How long a TestRun reference lives, in milliseconds."""


class PublishingHandler(Taskless):
    """One shard of publishing."""

    form: ClassVar[StateFormat] = StateFormat(KeptBook, PublishingShard)

    def __init__(self, options: PublishingOptions) -> None:
        self.shard = PublishingShard()
        self.folded_with = ""
        self._options = options

    def apply(self, stream: str, event: object) -> None:
        """Folds an event."""
        self.shard.apply(stream, event)

    def keep(self) -> object:
        """The shard."""
        return self.shard

    def restore(self, kept: object) -> None:
        """Goes on with a shard."""
        assert isinstance(kept, PublishingShard), "expected what `keep` gave"
        self.shard = kept

    def handle(self, received: Received, unit: Unit) -> Decided:
        """Decides a command, or an answer of a projection or of routing."""
        message = received.message
        if isinstance(message, RepairProjection):
            return repair(self.shard, message, unit.now_ms)
        if not isinstance(message, PublicationCommand):
            raise TypeError(f"expected a message to publishing, found {type(message).__name__}")
        options = self._options
        return decide(
            self.shard,
            message,
            unit.now_ms,
            position=unit.number,
            routing_shards=options.routing_shards,
            projection_kinds=options.projection_kinds,
            prepare_ms=options.prepare_ms,
            providers=options.providers,
            host_policy=options.host_policy,
            validators=options.validators,
            test_reference_ms=options.test_reference_ms,
        )

    def due(self, unit: Unit) -> Decided:
        """Candidates past their deadline fail, and references whose time is over expire."""
        return due(self.shard, unit.now_ms)

    def next_due_ms(self) -> int | None:
        """The next deadline."""
        return next_due_ms(self.shard)

    def cannot(self, message: object, why: str, unit: Unit) -> Decided:
        """Refuses a command that can't be written."""
        if isinstance(message, Publish | Restore | Unpublish | StartTestRun):
            return Refusal("too-large", f"expected a command that fits into an append, found: {why}")
        return NOTHING
