"""The rows of the trigger index."""

from typing import Literal, NamedTuple

from interlock.domain.definitions.executable import Cardinality
from interlock.domain.publishing.publication.events import Binding
from interlock.projections.rows import Table

State = Literal["prepared", "active"]
"""prepared: written for a candidate, and seen by nobody who asks for authority · active: its slot selects it."""


class CandidateRow(NamedTuple):
    """A publication that is the authority or may become it; what its bindings need to know of it."""

    publication_id: str
    shell: str
    definition_id: str
    slot_id: str


class BindingRow(NamedTuple):
    """One trigger of a publication; never authority by itself (PUB-03)."""

    publication_id: str
    binding_id: str
    state: State
    shell: str
    definition_id: str
    slot_id: str
    artifact_id: str
    """What a run is pinned to that it starts."""
    node_id: str
    """The trigger node."""
    type: str
    """The stimulus type."""
    name: str
    """The stimulus name."""
    identity: str
    """Of both, normalised; what a stimulus is looked up by."""
    cardinality: Cardinality
    claim: str


class AskRow(NamedTuple):
    """A staged candidate whose preparation was not recorded yet: its holder owes an answer."""

    publication_id: str
    kind: str
    """Which view is asked."""
    shell: str
    deadline_ms: int
    """When the candidate fails if it has no answer."""


CANDIDATES = Table("candidates", CandidateRow, ("publication_id",))
BINDINGS = Table("bindings", BindingRow, ("publication_id", "binding_id"), indexes=(("shell", "identity", "state"),))
ASKS = Table("asks", AskRow, ("publication_id", "kind"))
TABLES = (CANDIDATES, BINDINGS, ASKS)


def binding_row(candidate: CandidateRow, artifact_id: str, binding: Binding, state: State) -> BindingRow:
    """The row of a publication's binding."""
    return BindingRow(
        publication_id=candidate.publication_id,
        binding_id=binding.binding_id,
        state=state,
        shell=candidate.shell,
        definition_id=candidate.definition_id,
        slot_id=candidate.slot_id,
        artifact_id=artifact_id,
        node_id=binding.node_id,
        type=binding.type,
        name=binding.name,
        identity=binding.identity,
        cardinality=binding.cardinality,
        claim=binding.claim,
    )
