"""Why a request was not done, as a sentence and as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFault:
    """One thing that is wrong with what was sent."""

    code: str
    """Such as "missing-field"; a word that never changes."""
    where: str
    """Its place, such as `steps[1].wait.timeout` or a node's id; "" for the whole."""
    expected: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A claim that can't be had, and who has it."""

    claim: str
    node_id: str
    """The trigger node that asked for it."""
    definition_id: str
    """Of the claimant, as all that follows."""
    slot_id: str
    slot_name: str
    publication_id: str
    claimant_node_id: str
    cardinality: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a request was not done."""

    kind: str
    """invalid · not-found · conflict · superseded · state · too-large · unserved · warming-up · unavailable · failed.
    """
    message: str
    details: dict[str, str]
    faults: tuple[DocumentFault, ...] = ()
    """What is wrong with a document, one by one."""
    conflicts: tuple[Conflict, ...] = ()
    """Who has the exclusive claims that a publication needs."""
