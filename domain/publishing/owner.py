"""Who owns a slot: somebody says so with a request, and whoever comes after respects it or takes over (PUB-19).

A slot that nobody said to own is anybody's. An owner stays while the slot is empty: the name is still theirs.
"""

from typing import Final

from interlock.domain.definitions.names import name_fault
from interlock.domain.messages import Owner
from interlock.domain.publishing.slot.state import Slot
from interlock.domain.refusal import Refusal

NOBODY: Final = "nobody named"


def owner_after(
    slot: Slot, slot_name: str, definition_id: str, owner: Owner | None, take_over: bool
) -> Owner | Refusal | None:
    """Who owns the slot once a request is done that names this owner, or the refusal that names the present one."""
    if fault := None if owner is None else name_fault(owner.kind) or name_fault(owner.id):
        return Refusal("invalid", f"For the owner: {fault}.")
    if take_over or slot.owner is None or slot.owner == owner:
        return owner
    sentence = (
        f"Expected slot {slot_name!r} of {definition_id!r} to be owned by {shown(owner)} or by nobody, found its owner "
        f"{shown(slot.owner)}; agree with them, or take the slot over (--take-over)."
    )
    details = (
        ("definitionId", definition_id),
        ("slotId", slot.slot_id),
        ("slot", slot_name),
        ("ownerKind", slot.owner.kind),
        ("ownerId", slot.owner.id),
    )
    return Refusal("conflict", sentence, details)


def shown(owner: Owner | None) -> str:
    """An owner in a sentence."""
    return NOBODY if owner is None else f"{owner.kind} {owner.id!r}"
