"""What routing asks about authority: which bindings a stimulus of an identity starts.

Whoever answers decides from one position of the publishing journal; routing keeps nothing of it, so a republish needs
no change here. Only bindings of publications that are selected by their slot are ever returned (PUB-03).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoritativeBinding:
    """A trigger of a publication that its slot selects now: a stimulus of its identity starts one run through it."""

    binding_id: str
    """Goes into the id of the run, so that one stimulus starts one run through it; see `sharding.binding_id`."""
    node_id: str
    """The trigger node, which the run is told (STM-03)."""
    publication_id: str
    slot_id: str
    definition_id: str
    artifact_id: str
    """What the run is pinned to for life."""


class BindingLookup(Protocol):
    """Answers from one position of the publishing journal, in memory and in constant time."""

    def bindings(self, shell: str, identity: str) -> Sequence[AuthoritativeBinding]:
        """The authoritative bindings of an identity in a shell, in an order that is the same on every process."""
        ...
