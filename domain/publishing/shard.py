"""Everything that a publishing shard decides on: the aggregates of all shells that belong to it.

It is folded in place from the shard's journal, one writer at a time; whoever loses the shard drops it and folds anew.
`apply` only assigns: history can't be argued with.
"""

from dataclasses import dataclass, field, fields

from interlock.domain.publishing.claims import state as claims_state
from interlock.domain.publishing.claims.events import ClaimsChanged
from interlock.domain.publishing.claims.state import Ledger
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.publishing.policy import NO_POLICY, WorkflowPolicy
from interlock.domain.publishing.publication import state as publication_state
from interlock.domain.publishing.publication.events import PublicationActivated, PublicationEvent
from interlock.domain.publishing.publication.state import Publication
from interlock.domain.publishing.reconciliation.events import ProjectionRepaired
from interlock.domain.publishing.reference import state as reference_state
from interlock.domain.publishing.reference.events import (
    SourceReferenceCreated,
    SourceReferenceEvent,
    SourceReferenceExpired,
    SourceReferenceUsed,
)
from interlock.domain.publishing.reference.state import SourceReference
from interlock.domain.publishing.slot import state as slot_state
from interlock.domain.publishing.slot.events import SlotActivated, SlotEvent
from interlock.domain.publishing.slot.state import Slot
from interlock.domain.publishing.unpublish import state as unpublish_state
from interlock.domain.publishing.unpublish.events import UnpublishEvent
from interlock.domain.publishing.unpublish.state import Unpublish


@dataclass(slots=True)
class PublishingShard:
    """The aggregates of one shard, found by id.

    What it holds by id is frozen, tuples included: a snapshot copies this in one step, while nobody else has a turn.
    """

    slots: dict[str, Slot] = field(default_factory=dict[str, Slot])
    publications: dict[str, Publication] = field(default_factory=dict[str, Publication])
    slots_of: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict[tuple[str, str], tuple[str, ...]])
    """Shell and definition → the ids of its slots."""
    selected: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Slot id → every publication that it has selected, in order."""
    policies: dict[tuple[str, str], WorkflowPolicy] = field(default_factory=dict[tuple[str, str], WorkflowPolicy])
    """Shell and definition → what the document demands that was activated last."""
    references: dict[str, SourceReference] = field(default_factory=dict[str, SourceReference])
    test_runs: dict[str, SourceReferenceUsed] = field(default_factory=dict[str, SourceReferenceUsed])
    """Execution id → what was asked for."""
    unpublishes: dict[str, Unpublish] = field(default_factory=dict[str, Unpublish])
    ledgers: dict[str, Ledger] = field(default_factory=dict[str, Ledger])
    """Shell → its ledger."""
    executables: set[str] = field(default_factory=set[str])
    """The artifacts whose content is in this shard's journal."""
    pending: dict[str, int] = field(default_factory=dict[str, int])
    """The candidates that wait for projections → when they are looked after next."""
    expiring: dict[str, int] = field(default_factory=dict[str, int])
    """TestRun references → when their time is over."""

    def apply(self, stream: str, event: object) -> None:
        """Takes an event of one of the shard's aggregates."""
        match event:
            case _ if isinstance(event, SlotEvent):
                if isinstance(event, SlotActivated):
                    self.selected[event.slot_id] = (*self.selected.get(event.slot_id, ()), event.publication_id)
                slot = self.slots.get(event.slot_id, slot_state.INITIAL)
                if not slot.slot_id:
                    of = event.shell, event.definition_id
                    self.slots_of[of] = (*self.slots_of.get(of, ()), event.slot_id)
                self.slots[event.slot_id] = slot_state.evolve(slot, event)
            case ClaimsChanged():
                ledger = self.ledgers.setdefault(event.shell, claims_state.initial())
                claims_state.evolve(ledger, event)
            case ExecutableSaved():
                self.executables.add(event.artifact_id)
            case ProjectionRepaired():
                # It restates what is so here, for those who keep copies.
                pass
            case _ if isinstance(event, PublicationEvent):
                self._apply_publication(stream, event)
            case _ if isinstance(event, SourceReferenceEvent):
                self._apply_reference(event)
            case _ if isinstance(event, UnpublishEvent):
                before = self.unpublishes.get(event.unpublish_id, unpublish_state.INITIAL)
                self.unpublishes[event.unpublish_id] = unpublish_state.evolve(before, event)
            case _:
                raise TypeError(f"expected an event of publishing in {stream}, found {type(event).__name__}")

    def _apply_publication(self, stream: str, event: PublicationEvent) -> None:
        before = self.publications.get(event.publication_id, publication_state.INITIAL)
        after = publication_state.evolve(before, event)
        if after.publication_id != event.publication_id:
            raise ValueError(
                f"expected the request of {event.publication_id} as the first event of {stream}, found {event}"
            )
        self.publications[event.publication_id] = after
        if isinstance(event, PublicationActivated):
            self.policies[after.shell, after.definition_id] = after.policy
        if after.status == "pending-projection":
            self.pending[event.publication_id] = after.due_ms
        else:
            self.pending.pop(event.publication_id, None)

    def _apply_reference(self, event: SourceReferenceEvent) -> None:
        before = self.references.get(event.reference_id, reference_state.INITIAL)
        self.references[event.reference_id] = reference_state.evolve(before, event)
        if isinstance(event, SourceReferenceCreated) and event.expires_at_ms:
            self.expiring[event.reference_id] = event.expires_at_ms
        elif isinstance(event, SourceReferenceUsed):
            self.test_runs[event.execution_id] = event
        elif isinstance(event, SourceReferenceExpired):
            self.expiring.pop(event.reference_id, None)

    def restore(self, kept: "PublishingShard") -> None:
        """Becomes another one, which is given away; whatever it was before is gone."""
        for each in fields(kept):
            setattr(self, each.name, getattr(kept, each.name))

    def slot(self, slot_id: str) -> Slot:
        """A slot; one of revision 0 if nothing was ever activated in it."""
        return self.slots.get(slot_id, slot_state.INITIAL)

    def policy(self, shell: str, definition_id: str) -> WorkflowPolicy:
        """What the document of a definition demands that was activated last."""
        return self.policies.get((shell, definition_id), NO_POLICY)

    def beside(self, shell: str, definition_id: str, slot_id: str) -> tuple[str, ...]:
        """The names of a definition's other slots that have authority, and so go on starting work."""
        slots = (self.slots[each] for each in self.slots_of.get((shell, definition_id), ()))
        return tuple(sorted(slot.name for slot in slots if slot.publication_id and slot.slot_id != slot_id))

    def ledger(self, shell: str) -> Ledger:
        """The ledger of a shell; an empty one, not kept, if it has none."""
        return self.ledgers.get(shell) or claims_state.initial()
