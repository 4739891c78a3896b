"""Facts of a reconciliation (stream `reconciliation:<reconciliation_id>`). Names are storage.

One stream is one pass that found something; one event is one publication whose rows were not as its slot calls for.
"""

from dataclasses import dataclass
from typing import Final, Literal

from interlock.domain.publishing.publication.events import Binding

HOLDER_CHARACTERS_MAX: Final = 200
"""Of the name of what held the rows."""

Standing = Literal["requested", "prepared", "active", "gone"]
"""requested: known, without rows yet · prepared: invisible rows of a candidate · active: its slot selects it, so its
rows are visible · gone: it has no rows, since it has ended or was never asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionRepaired:
    """The rows of a publication in a view differed from what its slot calls for. It restates them: every copy of the
    view, wherever it is kept, makes its rows of this publication anew from what stands here.

    It never changes what is so: a copy whose rows were right has the same rows after it (PRJ-05).
    """

    reconciliation_id: str
    kind: str
    """The view, such as "trigger-index"."""
    publication_id: str
    standing: Standing
    shell: str
    definition_id: str
    """"" as slot, revision and artifact are empty where the publication was never asked for."""
    slot_id: str
    revision: int
    """The slot's, at which it was compared and is repaired; 0 where it is gone, for nothing brings it back."""
    artifact_id: str
    bindings: tuple[Binding, ...]
    """All rows that it has from now on; none where it is gone."""
    awaited: bool
    """Whether publishing still waits for the view to say that it is prepared."""
    deadline_ms: int
    """When the candidate fails if it doesn't; 0 where nothing is awaited."""
    holder: str
    """Whose rows differed, such as "view trigger-index in /data/views"; at most `HOLDER_CHARACTERS_MAX`."""
    position: int
    """The append of the publishing journal at which rows and slot were compared."""
    missing: int
    """Rows that were not there."""
    foreign: int
    """Rows that nobody called for: of a publication that is gone, or bindings that it doesn't have."""
    flipped: int
    """Rows that were visible and shouldn't be, or the other way round."""
    changed: int
    """Rows that differed in anything else."""
    requested_by: str
    """Who asked for the pass; "" where it was the periodic one."""
    at_ms: int


ReconciliationEvent = ProjectionRepaired
