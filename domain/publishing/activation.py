"""How authority changes hands: everything that changes with it, in one commit.

Always so: the compare-and-swap looks at the slot's revision and at the ledger's claims as they are in the commit
itself, not as they were when the candidate was staged (PUB-11, PUB-12); until then the old authority is untouched
(PUB-13). Every change asks all routing shards to decide at it, for it is answered only when they do (PUB-16).
"""

from interlock.domain.decider import Intent
from interlock.domain.messages import DecideAt, Owner
from interlock.domain.publishing.binding import claims_of
from interlock.domain.publishing.claims.events import Claim, ClaimsChanged
from interlock.domain.publishing.claims.state import conflicts
from interlock.domain.publishing.here import Here
from interlock.domain.publishing.publication.events import PublicationActivated, PublicationRetired
from interlock.domain.publishing.publication.state import Publication
from interlock.domain.publishing.reference.events import SourceReferenceCreated, SourceReferenceRetired
from interlock.domain.publishing.reference.state import reference_id
from interlock.domain.publishing.slot.events import SlotActivated, SlotEmptied
from interlock.domain.publishing.slot.state import Slot
from interlock.domain.publishing.story import Story


def select(here: Here, candidate: Publication, story: Story) -> None:
    """The compare-and-swap: the slot selects the candidate, if slot and claims are still as it needs them."""
    slot = here.shard.slot(candidate.slot_id)
    if slot.revision != candidate.expected_revision:
        story.lose(candidate, slot.revision)
        return
    claims = claims_of(candidate.bindings)
    if found := conflicts(here.shard.ledger(candidate.shell), candidate.slot_id, claims):
        story.clash(candidate, found, candidate.bindings)
        return
    _activate(here, candidate, slot.publication_id, claims, story)


def empty(here: Here, slot: Slot, unpublish_id: str, owner: Owner | None, story: Story) -> int:
    """The slot selects nothing any more, and is this owner's; gives its revision after that."""
    emptied = SlotEmptied(
        slot_id=slot.slot_id,
        shell=slot.shell,
        definition_id=slot.definition_id,
        name=slot.name,
        publication_id=slot.publication_id,
        unpublish_id=unpublish_id,
        revision=slot.revision + 1,
        at_ms=here.now_ms,
        owner=owner,
    )
    story.change(f"slot:{slot.slot_id}", emptied)
    _retire(here, slot.publication_id, story, unpublish_id=unpublish_id)
    given_up = ClaimsChanged(
        shell=slot.shell,
        slot_id=slot.slot_id,
        definition_id=slot.definition_id,
        slot_name=slot.name,
        publication_id="",
        claims=(),
    )
    story.change(f"claims:{slot.shell}", given_up)
    _stop_referring(here, slot.publication_id, story)
    _ask_routing(here, slot.shell, slot.publication_id, story)
    return emptied.revision


def _activate(here: Here, candidate: Publication, replaced: str, claims: tuple[Claim, ...], story: Story) -> None:
    selected = SlotActivated(
        slot_id=candidate.slot_id,
        shell=candidate.shell,
        definition_id=candidate.definition_id,
        name=candidate.slot_name,
        publication_id=candidate.publication_id,
        replaced_publication_id=replaced,
        revision=candidate.expected_revision + 1,
        at_ms=here.now_ms,
        owner=candidate.owner,
    )
    story.change(f"slot:{candidate.slot_id}", selected)
    activated = PublicationActivated(
        publication_id=candidate.publication_id,
        slot_id=candidate.slot_id,
        revision=selected.revision,
        position=here.position,
        routing_shards=here.routing_shards,
        at_ms=here.now_ms,
        source_reference_id=reference_id(candidate.publication_id),
    )
    story.about(candidate, activated)
    if replaced:
        _retire(here, replaced, story, replaced_by=candidate.publication_id)
    changed = ClaimsChanged(
        shell=candidate.shell,
        slot_id=candidate.slot_id,
        definition_id=candidate.definition_id,
        slot_name=candidate.slot_name,
        publication_id=candidate.publication_id,
        claims=claims,
    )
    story.change(f"claims:{candidate.shell}", changed)
    _refer(here, candidate, story)
    if replaced:
        _stop_referring(here, replaced, story)
    _ask_routing(here, candidate.shell, candidate.publication_id, story)


def _retire(here: Here, publication_id: str, story: Story, *, replaced_by: str = "", unpublish_id: str = "") -> None:
    retired = PublicationRetired(
        publication_id=publication_id, replaced_by=replaced_by, at_ms=here.now_ms, unpublish_id=unpublish_id
    )
    story.about(here.shard.publications[publication_id], retired)


def _refer(here: Here, publication: Publication, story: Story) -> None:
    """From now on the publication keeps its executable (PUB-17)."""
    created = SourceReferenceCreated(
        reference_id=reference_id(publication.publication_id),
        kind="published",
        publication_id=publication.publication_id,
        slot_id=publication.slot_id,
        shell=publication.shell,
        definition_id=publication.definition_id,
        definition_version=publication.definition_version,
        artifact_id=publication.artifact_id,
        at_ms=here.now_ms,
    )
    story.change(f"source-reference:{created.reference_id}", created)


def _stop_referring(here: Here, publication_id: str, story: Story) -> None:
    retired = SourceReferenceRetired(reference_id=reference_id(publication_id), at_ms=here.now_ms)
    story.change(f"source-reference:{retired.reference_id}", retired)


def _ask_routing(here: Here, shell: str, publication_id: str, story: Story) -> None:
    """Every routing shard shall decide at this commit, and say so for this publication."""
    decide_at = DecideAt(shell=shell, publication_id=publication_id, position=here.position)
    for partition in range(here.routing_shards):
        story.intend(Intent("routing", "", decide_at, partition=partition))
