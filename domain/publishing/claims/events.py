"""Facts of a shell's ledger (stream `claims:<shell>`). Names are storage."""

from interlock.domain.definitions.executable import Cardinality
from interlock.domain.frozen import frozen


@frozen(kw_only=True)
class Claim:
    """One thing that a publication's trigger asks for."""

    claim: str
    cardinality: Cardinality
    node_id: str


@frozen(kw_only=True)
class ClaimsChanged:
    """In one activation the new authority of a slot takes its claims and the replaced one gives up its own."""

    shell: str
    slot_id: str
    definition_id: str
    slot_name: str
    publication_id: str
    claims: tuple[Claim, ...]
    """All that the slot claims from now on."""


ClaimsEvent = ClaimsChanged
