"""The commit that a decision is writing: changes and intents in order, with the ends that a publication may have."""

from collections.abc import Iterable, Sequence

from interlock.domain.decider import Change, Decision, Intent
from interlock.domain.definitions.executable import Trigger
from interlock.domain.messages import Reply
from interlock.domain.publishing.answers import answer
from interlock.domain.publishing.candidate import conflict_sentence
from interlock.domain.publishing.claims.state import Conflict
from interlock.domain.publishing.publication.events import (
    CONFLICTS_MAX,
    REASON_CHARACTERS_MAX,
    Binding,
    ClaimConflict,
    DocumentFault,
    PublicationEvent,
    PublicationFailed,
    PublicationSuperseded,
)
from interlock.domain.publishing.publication.state import Publication, evolve
from interlock.domain.refusal import Fault, Refusal, bounded


class Story:
    """One commit; everything that is told in it happens at one time."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._changes: list[Change] = []
        self._intents: list[Intent] = []

    def change(self, stream: str, event: object) -> None:
        """An event of an aggregate."""
        self._changes.append(Change(stream, event))

    def about(self, publication: Publication, event: PublicationEvent) -> Publication:
        """An event of a publication; gives the publication after it."""
        self.change(f"publication:{event.publication_id}", event)
        return evolve(publication, event)

    def intend(self, intent: Intent) -> None:
        """A message that the commit promises."""
        self._intents.append(intent)

    def answered(self, publication: Publication) -> "Story":
        """The answer that a publication has from now on."""
        return self.replied(answer(publication))

    def replied(self, reply: Reply | None) -> "Story":
        """The answer to whoever asked, if there is one by now."""
        if reply is not None:
            self.intend(Intent("replies", reply.command_id, reply))
        return self

    def lose(self, publication: Publication, found_revision: int) -> "Story":
        """A publication whose slot has moved on."""
        superseded = PublicationSuperseded(
            publication_id=publication.publication_id,
            expected_revision=publication.expected_revision,
            found_revision=found_revision,
            at_ms=self._now_ms,
        )
        return self.answered(self.about(publication, superseded))

    def fail(self, publication: Publication, refusal: Refusal, conflicts: Sequence[Conflict] = ()) -> "Story":
        """A publication that never becomes the authority."""
        failed = PublicationFailed(
            publication_id=publication.publication_id,
            kind=refusal.kind,
            reason=bounded(refusal.sentence, REASON_CHARACTERS_MAX),
            faults=tuple(map(_fault, refusal.faults)),
            conflicts=tuple(map(_recorded, conflicts[:CONFLICTS_MAX])),
            at_ms=self._now_ms,
        )
        return self.answered(self.about(publication, failed))

    def clash(
        self, publication: Publication, conflicts: Sequence[Conflict], triggers: Iterable[Trigger | Binding]
    ) -> "Story":
        """A publication that needs what others have, for these triggers."""
        sentence = conflict_sentence(conflicts, publication.definition_id, triggers)
        return self.fail(publication, Refusal("conflict", sentence), conflicts)

    def told(self) -> Decision:
        """The decision."""
        return Decision(tuple(self._changes), tuple(self._intents))


def _fault(found: Fault) -> DocumentFault:
    return DocumentFault(code=found.code, where=found.where, expected=found.expected, found=found.found)


def _recorded(conflict: Conflict) -> ClaimConflict:
    claimant = conflict.claimant
    return ClaimConflict(
        claim=conflict.claim,
        node_id=conflict.node_id,
        definition_id=claimant.definition_id,
        slot_id=claimant.slot_id,
        slot_name=claimant.slot_name,
        publication_id=claimant.publication_id,
        claimant_node_id=claimant.node_id,
        cardinality=claimant.cardinality,
    )
