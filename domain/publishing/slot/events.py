"""Facts of a slot (stream `slot:<slot_id>`). Names are storage: never rename a class or a field."""

from interlock.domain.frozen import frozen
from interlock.domain.messages import Owner


@frozen(kw_only=True)
class SlotActivated:
    """The slot selects a publication; the one that it replaces starts nothing any more."""

    slot_id: str
    shell: str
    definition_id: str
    name: str
    publication_id: str
    replaced_publication_id: str
    """"" if the slot was empty."""
    revision: int
    """The slot's revision after it; the first is 1 (PUB-11)."""
    at_ms: int
    owner: Owner | None = None
    """Whose the slot is from now on; None for nobody's (PUB-19)."""


@frozen(kw_only=True)
class SlotEmptied:
    """The slot selects nothing any more; its last publication starts nothing any more."""

    slot_id: str
    shell: str
    definition_id: str
    name: str
    publication_id: str
    """The one that it selected."""
    unpublish_id: str
    """Who asked for it is told there."""
    revision: int
    """The slot's revision after it (PUB-11)."""
    at_ms: int
    owner: Owner | None = None
    """Whose it stays."""


SlotEvent = SlotActivated | SlotEmptied
