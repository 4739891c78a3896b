"""State of a slot, folded from its facts."""

from typing import Final

from interlock.domain.frozen import frozen
from interlock.domain.messages import Owner
from interlock.domain.publishing.slot.events import SlotActivated, SlotEvent


@frozen(kw_only=True)
class Slot:
    """Who has authority in it."""

    slot_id: str = ""
    shell: str = ""
    definition_id: str = ""
    name: str = ""
    publication_id: str = ""
    """The publication that it selects; "" if none."""
    revision: int = 0
    """Raised by one with each activation and unpublish (PUB-11); 0 before the first."""
    owner: Owner | None = None
    """Whose it is; None for nobody's."""


INITIAL: Final = Slot()


def evolve(state: Slot, event: SlotEvent) -> Slot:
    """The slot after the event."""
    return Slot(
        slot_id=event.slot_id,
        shell=event.shell,
        definition_id=event.definition_id,
        name=event.name,
        publication_id=event.publication_id if isinstance(event, SlotActivated) else "",
        revision=event.revision,
        owner=event.owner,
    )
