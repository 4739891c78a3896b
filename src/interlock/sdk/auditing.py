"""The verbs of looking back and of setting right: states, reasons, reconciliation, verification."""

from interlock.sdk.connection import TIMEOUT_S, Connection, part
from interlock.sdk.types import AggregateState, Page, Reconciled, Repair, Verification, Why
from interlock.sdk.wire import from_wire


class Auditing(Connection):
    """What a client asks about why things are as they are, and whether views are as they should be."""

    def state(self, aggregate: str, *, at: int | str | None = None) -> AggregateState:
        """An aggregate as of a revision (a number), or an instant (ISO 8601, such as 2026-03-01T12:00:00Z), or now."""
        path = "/".join(part(each, "an aggregate") for each in aggregate.rsplit("/", 1))
        return from_wire(AggregateState, self._send("GET", f"/v1/states/{path}", query=self._query(at=at)))

    def why(self, definition: str, slot: str = "default") -> Why:
        """Why a slot selects what it selects, with the facts behind it."""
        path = "/v1/why/" + part(definition, "a definition's name") + "/" + part(slot, "a slot's name")
        return from_wire(Why, self._send("GET", path, query=self._query()))

    def reconcile(self, *, dry_run: bool = False, requested_by: str = "") -> Reconciled:
        """Compares the trigger index with what the slots call for, and has repaired what differs."""
        body = {"dryRun": dry_run, "requestedBy": requested_by}
        return from_wire(Reconciled, self._send("POST", "/v1/reconcile", body=body, wait_s=4 * TIMEOUT_S))

    def repairs(self, *, limit: int | None = None, after: str | None = None) -> Page[Repair]:
        """What reconciliation has repaired, the newest first."""
        return from_wire(Page[Repair], self._send("GET", "/v1/repairs", query=self._query(limit=limit, after=after)))

    def verify(self, view: str) -> Verification:
        """Asks whoever projects a view to compare its rows with a fresh fold; `projection` tells how it goes."""
        path = "/v1/projections/" + part(view, "a view's name") + "/verify"
        return from_wire(Verification, self._send("POST", path, body={}))
