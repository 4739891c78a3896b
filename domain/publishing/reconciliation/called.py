"""What the slots call for: the rows that each publication has to have in a view, by the deciders' own state.

It is what a view is held against, so it doesn't share the view's fold: whatever made the rows wrong, be it somebody's
hand, a lost page, or an error of the fold, it is not in here too.
"""

from dataclasses import dataclass

from interlock.domain.publishing.publication.events import Binding
from interlock.domain.publishing.publication.state import Publication
from interlock.domain.publishing.reconciliation.events import Standing
from interlock.domain.publishing.shard import PublishingShard


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """The rows of one publication as they should be."""

    publication_id: str
    standing: Standing = "gone"
    revision: int = 0
    """Of its slot; 0 where it is gone, for nothing brings it back."""
    shell: str = ""
    definition_id: str = ""
    slot_id: str = ""
    artifact_id: str = ""
    bindings: tuple[Binding, ...] = ()
    awaited: frozenset[str] = frozenset()
    """The views that have not said yet that they are prepared."""
    deadline_ms: int = 0


def called_for(shard: PublishingShard, publication_id: str) -> Called:
    """What the slots call for of one publication."""
    publication = shard.publications.get(publication_id)
    if publication is None:
        return Called(publication_id=publication_id)
    slot = shard.slot(publication.slot_id)
    standing = _standing(publication, slot.publication_id)
    awaited = publication.required_projections - publication.prepared if standing == "prepared" else frozenset[str]()
    return Called(
        publication_id=publication_id,
        standing=standing,
        revision=0 if standing == "gone" else slot.revision,
        shell=publication.shell,
        definition_id=publication.definition_id,
        slot_id=publication.slot_id,
        artifact_id=publication.artifact_id,
        bindings=publication.bindings if standing in ("prepared", "active") else (),
        awaited=awaited,
        deadline_ms=publication.deadline_ms if awaited else 0,
    )


def _standing(publication: Publication, selected: str) -> Standing:
    # The slot alone says who has authority; the publication's own status follows it.
    if selected == publication.publication_id:
        return "active"
    if publication.status == "pending-projection":
        return "prepared"
    return "requested" if publication.status == "requested" else "gone"
