"""Who owns a slot: somebody says so with a request, and whoever comes after respects it or takes over (PUB-19).

A slot that nobody said to own is anybody's. An owner stays while the slot is empty: the name is still theirs. Whoever
takes a slot over says who owns it then, so that nobody's slot is never made of somebody's by leaving something out.
"""

from interlock.domain.definitions.names import name_fault
from interlock.domain.messages import Owner
from interlock.domain.publishing.slot.state import Slot
from interlock.domain.refusal import Refusal


def owner_after(
    slot: Slot, slot_name: str, definition_id: str, owner: Owner | None, take_over: bool
) -> Owner | Refusal | None:
    """Who owns the slot once a request is done that names this owner, or the refusal that names the present one."""
    if fault := None if owner is None else name_fault(owner.kind) or name_fault(owner.id):
        return Refusal("invalid", f"For the owner: {fault}.")
    if take_over and owner is None:
        return _nobody_named(slot, slot_name, definition_id)
    if take_over or slot.owner is None or slot.owner == owner:
        return owner
    sentence = (
        f"Expected a request for slot {slot_name!r} of {definition_id!r} to name its owner {_shown(slot.owner)} "
        f"(--owner), found that it names {_shown(owner)}; agree with them, or take the slot over (--take-over)."
    )
    details = (
        ("definitionId", definition_id),
        ("slotId", slot.slot_id),
        ("slot", slot_name),
        ("ownerKind", slot.owner.kind),
        ("ownerId", slot.owner.id),
    )
    return Refusal("conflict", sentence, details)


def _nobody_named(slot: Slot, slot_name: str, definition_id: str) -> Refusal:
    present = f" (it is {_shown(slot.owner)} now)" if slot.owner is not None else ""
    sentence = (
        f"Expected a request that takes slot {slot_name!r} of {definition_id!r} over (--take-over) to say who owns it "
        f"then{present}, found that it names nobody; add --owner KIND:ID, such as --owner team:payments."
    )
    return Refusal("invalid", sentence, (("definitionId", definition_id), ("slot", slot_name)))


def _shown(owner: Owner | None) -> str:
    return "nobody" if owner is None else f"{owner.kind} {owner.id!r}"
