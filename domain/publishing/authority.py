"""Authority as others see it: what routers, executions and the API fold from the publishing journals.

A light read model: the bindings of active publications by shell and identity, the slots, and the executables. The
switch from one publication to the next happens in the one event that moves the slot, so no look-up ever sees both or
neither (PRJ-04). Look-ups are O(1).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from interlock.domain.definitions.compiler import load
from interlock.domain.definitions.executable import Cardinality, Executable
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.publishing.publication.events import (
    Binding,
    PublicationFailed,
    PublicationRequested,
    PublicationRetired,
    PublicationStaged,
    PublicationSuperseded,
)
from interlock.domain.publishing.reconciliation.events import ProjectionRepaired
from interlock.domain.publishing.slot import state as slot_state
from interlock.domain.publishing.slot.events import SlotActivated, SlotEmptied
from interlock.domain.publishing.slot.state import Slot
from interlock.domain.routing import lookup
from interlock.domain.sharding import slot_id


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoritativeBinding(lookup.AuthoritativeBinding):
    """A trigger of a publication that its slot selects, with what it listens to; routing needs only its base."""

    type: str
    name: str
    identity: str
    cardinality: Cardinality
    claim: str


class HeldBinding(NamedTuple):
    """A binding as a replica holds it, for who compares it with what the slots call for."""

    binding: AuthoritativeBinding
    shell: str
    """Under which it is found; "" while nobody finds it."""
    identity: str
    """So too."""
    state: Literal["prepared", "active", "loose"]
    """prepared: nobody finds it · active: whoever looks finds it · loose: found, but of no known publication."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAuthority:
    """What is kept of an authority, so that its journals need not be folded from their beginning."""

    slots: dict[str, Slot]
    requested: dict[str, PublicationRequested]
    bindings: dict[str, tuple[AuthoritativeBinding, ...]]
    by_identity: dict[tuple[str, str], tuple[AuthoritativeBinding, ...]]
    executables: dict[str, str]


class Authority:
    """Who may start what, as of the last event that was applied."""

    def __init__(self) -> None:
        self._slots: dict[str, Slot] = {}
        self._requested: dict[str, PublicationRequested] = {}
        # The bindings of candidates and of authorities; nobody looks up those of candidates.
        self._bindings: dict[str, tuple[AuthoritativeBinding, ...]] = {}
        self._by_identity: dict[tuple[str, str], tuple[AuthoritativeBinding, ...]] = {}
        self._executables: dict[str, str] = {}
        self._read: dict[str, Executable] = {}

    def bindings(self, shell: str, identity: str) -> tuple[AuthoritativeBinding, ...]:
        """The bindings that a stimulus of an identity meets, in the order of slot and binding id."""
        return self._by_identity.get((shell, identity), ())

    def executable(self, artifact_id: str) -> Executable | None:
        """An executable, read when it is first asked for; None if no publication of these journals has it."""
        found = self._read.get(artifact_id)
        if found is None and (content := self._executables.get(artifact_id)) is not None:
            found = self._read[artifact_id] = load(content)
        return found

    def slot(self, shell: str, definition_id: str, name: str) -> Slot | None:
        """A slot; None if nothing was ever activated in it."""
        return self._slots.get(slot_id(shell, definition_id, name))

    def held(self) -> Iterator[HeldBinding]:
        """Every binding that is held here now, whatever is applied while they are looked at."""
        return _held(dict(self._bindings), dict(self._by_identity))

    def keep(self) -> KeptAuthority:
        """All that it is, as of now."""
        return KeptAuthority(
            slots=self._slots.copy(),
            requested=self._requested.copy(),
            bindings=self._bindings.copy(),
            by_identity=self._by_identity.copy(),
            executables=self._executables.copy(),
        )

    def restore(self, kept: KeptAuthority) -> None:
        """Becomes what was kept; whatever it was before is gone."""
        self._slots, self._requested = kept.slots.copy(), kept.requested.copy()
        self._bindings, self._by_identity = kept.bindings.copy(), {}
        self._executables, self._read = kept.executables.copy(), {}
        # What is found is mostly what is held, and then it is the same object, not its like.
        held = {binding: binding for bindings in self._bindings.values() for binding in bindings}
        for key, bindings in kept.by_identity.items():
            self._by_identity[key] = tuple(held.get(binding, binding) for binding in bindings)

    def apply(self, stream: str, event: object) -> None:
        """Takes an event of a publishing journal; those that move no authority are passed over."""
        match event:
            case ExecutableSaved():
                self._executables.setdefault(event.artifact_id, event.content)
            case PublicationRequested():
                self._requested[event.publication_id] = event
            case PublicationStaged():
                self._stage(event)
            case SlotActivated():
                self._switch(event, gone=event.replaced_publication_id, come=event.publication_id)
            case SlotEmptied():
                self._switch(event, gone=event.publication_id, come="")
            case PublicationFailed() | PublicationSuperseded() | PublicationRetired():
                self._requested.pop(event.publication_id, None)
                self._bindings.pop(event.publication_id, None)
            case ProjectionRepaired():
                self._restate(event)
            case _:
                pass

    def _stage(self, event: PublicationStaged) -> None:
        """Keeps a candidate's bindings until its slot selects it or it ends."""
        if requested := self._requested.pop(event.publication_id, None):
            self._bindings[event.publication_id] = tuple(
                _authoritative(binding, requested, event.artifact_id) for binding in event.bindings
            )

    def _switch(self, event: SlotActivated | SlotEmptied, *, gone: str, come: str) -> None:
        """The bindings of the one that the slot selects, if any, take the place of the others."""
        before = self._slots.get(event.slot_id, slot_state.INITIAL)
        if event.revision <= before.revision:
            return
        self._slots[event.slot_id] = slot_state.evolve(before, event)
        removed = self._bindings.pop(gone, ())
        added = self._bindings.get(come, ())
        for identity in dict.fromkeys(binding.identity for binding in (*removed, *added)):
            key = (event.shell, identity)
            stay = (binding for binding in self._by_identity.get(key, ()) if binding.slot_id != event.slot_id)
            self._put(key, (*stay, *(binding for binding in added if binding.identity == identity)))

    def _restate(self, event: ProjectionRepaired) -> None:
        """Whatever is held of the publication, it is what the event says from now on (PRJ-05)."""
        self._bindings.pop(event.publication_id, None)
        for key, bindings in list(self._by_identity.items()):
            self._put(key, tuple(each for each in bindings if each.publication_id != event.publication_id))
        if event.standing not in ("prepared", "active"):
            return
        added = tuple(_authoritative(binding, event, event.artifact_id) for binding in event.bindings)
        self._bindings[event.publication_id] = added
        if event.standing == "active":
            for binding in added:
                key = (event.shell, binding.identity)
                self._put(key, (*self._by_identity.get(key, ()), binding))

    def _put(self, key: tuple[str, str], bindings: tuple[AuthoritativeBinding, ...]) -> None:
        """What is found under a key from now on."""
        if bindings:
            self._by_identity[key] = tuple(sorted(bindings, key=_order))
        else:
            self._by_identity.pop(key, None)


def _held(
    by_publication: dict[str, tuple[AuthoritativeBinding, ...]],
    by_identity: dict[tuple[str, str], tuple[AuthoritativeBinding, ...]],
) -> Iterator[HeldBinding]:
    found: set[tuple[str, str]] = set()
    for (shell, identity), bindings in by_identity.items():
        for binding in bindings:
            found.add((binding.publication_id, binding.binding_id))
            known = binding in by_publication.get(binding.publication_id, ())
            yield HeldBinding(binding, shell, identity, "active" if known else "loose")
    for bindings in by_publication.values():
        for binding in bindings:
            if (binding.publication_id, binding.binding_id) not in found:
                yield HeldBinding(binding, "", "", "prepared")


def _order(binding: AuthoritativeBinding) -> tuple[str, str]:
    return binding.slot_id, binding.binding_id


def _authoritative(
    binding: Binding, requested: PublicationRequested | ProjectionRepaired, artifact_id: str
) -> AuthoritativeBinding:
    return AuthoritativeBinding(
        binding_id=binding.binding_id,
        node_id=binding.node_id,
        type=binding.type,
        name=binding.name,
        identity=binding.identity,
        cardinality=binding.cardinality,
        claim=binding.claim,
        publication_id=requested.publication_id,
        slot_id=requested.slot_id,
        definition_id=requested.definition_id,
        artifact_id=artifact_id,
    )
