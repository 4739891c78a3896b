"""Questions to the trigger index. Only `authoritative` says what a stimulus meets."""

from typing import Protocol

from interlock.projections.reader import ViewReader
from interlock.projections.trigger_index.offers import ROUTES, SCHEDULES, Offers, RouteRow, ScheduleRow
from interlock.projections.trigger_index.store import BINDINGS, BindingRow


class TriggerIndex(Protocol):
    """What may be asked; each answer is of one moment. Every question may raise `WarmingUp`."""

    def authoritative(self, shell: str, identity: str) -> tuple[BindingRow, ...]:
        """The bindings that a stimulus of this identity meets, by their ids; prepared rows are not among them."""
        ...

    def bindings(self, publication_id: str) -> tuple[BindingRow, ...]:
        """All rows of a publication, prepared ones included: for who compares or explains, not for who starts work."""
        ...

    def offers(self, publication_id: str) -> Offers:
        """The routes and schedules of a publication, prepared ones included."""
        ...

    def routes(self, shell: str) -> tuple[RouteRow, ...]:
        """The route table of a shell: where its authorities are found, by path and method (RTE-01)."""
        ...

    def schedules(self, shell: str) -> tuple[ScheduleRow, ...]:
        """The schedules of a shell's authorities, by definition, slot and claim."""
        ...


class SqliteTriggerIndex:
    """Answers from the view's file; implements `TriggerIndex`."""

    def __init__(self, reader: ViewReader) -> None:
        self._reader = reader

    def authoritative(self, shell: str, identity: str) -> tuple[BindingRow, ...]:
        """The bindings that a stimulus of this identity meets, by their ids; prepared rows are not among them."""
        where = "shell = ? AND identity = ? AND state = 'active' ORDER BY binding_id"
        with self._reader.snapshot() as snapshot:
            return tuple(snapshot.select(BINDINGS, where, (shell, identity)))

    def bindings(self, publication_id: str) -> tuple[BindingRow, ...]:
        """All rows of a publication, prepared ones included."""
        with self._reader.snapshot() as snapshot:
            return tuple(snapshot.select(BINDINGS, "publication_id = ? ORDER BY binding_id", (publication_id,)))

    def offers(self, publication_id: str) -> Offers:
        """The routes and schedules of a publication, prepared ones included."""
        with self._reader.snapshot() as snapshot:
            return Offers(
                tuple(snapshot.select(ROUTES, "publication_id = ? ORDER BY binding_id", (publication_id,))),
                tuple(snapshot.select(SCHEDULES, "publication_id = ? ORDER BY binding_id", (publication_id,))),
            )

    def routes(self, shell: str) -> tuple[RouteRow, ...]:
        """The route table of a shell; what is prepared is not in it."""
        where = "shell = ? AND state = 'active' ORDER BY shape, method, binding_id"
        with self._reader.snapshot() as snapshot:
            return tuple(snapshot.select(ROUTES, where, (shell,)))

    def schedules(self, shell: str) -> tuple[ScheduleRow, ...]:
        """The schedules of a shell's authorities; what is prepared is not among them."""
        where = "shell = ? AND state = 'active' ORDER BY definition_id, slot_id, claim, binding_id"
        with self._reader.snapshot() as snapshot:
            return tuple(snapshot.select(SCHEDULES, where, (shell,)))
