"""The verbs of publishing: who has authority, and how it changes."""

from interlock.sdk.connection import WAIT_S_MAX, Connection, id_part, part
from interlock.sdk.types import (
    Page,
    Preflight,
    Publication,
    PublicationDetail,
    Published,
    Slot,
    SlotDetail,
    Unpublished,
)
from interlock.sdk.wire import from_wire


class Publishing(Connection):
    """What a client asks of publishing."""

    def preflight(
        self,
        document: str,
        *,
        slot: str | None = None,
        expect_revision: int | None = None,
        owner: str | None = None,
        take_over: bool = False,
    ) -> Preflight:
        """What a publish of this document (JSON text) would do now; it changes nothing."""
        body = {"document": document, **self._slot(slot, expect_revision, owner, take_over)}
        return from_wire(Preflight, self._send("POST", "/v1/preflight", body=body))

    def preflight_restore(
        self,
        definition: str,
        *,
        publication: str | None = None,
        slot: str | None = None,
        expect_revision: int | None = None,
        owner: str | None = None,
        take_over: bool = False,
    ) -> Preflight:
        """What a restore would do now; it changes nothing."""
        body = {
            "definition": definition,
            "publication": publication,
            **self._slot(slot, expect_revision, owner, take_over),
        }
        return from_wire(Preflight, self._send("POST", "/v1/preflight/restore", body=body))

    def preflight_unpublish(
        self,
        definition: str,
        *,
        slot: str | None = None,
        expect_revision: int | None = None,
        owner: str | None = None,
        take_over: bool = False,
    ) -> Preflight:
        """What an unpublish would do now; it changes nothing."""
        body = {"definition": definition, **self._slot(slot, expect_revision, owner, take_over)}
        return from_wire(Preflight, self._send("POST", "/v1/preflight/unpublish", body=body))

    def publish(
        self,
        document: str,
        *,
        slot: str | None = None,
        expect_revision: int | None = None,
        owner: str | None = None,
        take_over: bool = False,
        command_id: str | None = None,
        requested_by: str = "",
        wait_s: float = WAIT_S_MAX,
    ) -> Published:
        """Lets a definition (JSON text) take authority in a slot; "pending" where that takes longer than `wait_s`.

        `owner` (KIND:ID, such as team:payments) says whose the slot is or shall be; another owner is respected unless
        `take_over` is given, which needs an `owner`.
        """
        body = {
            "document": document,
            **self._slot(slot, expect_revision, owner, take_over),
            **self._command(command_id, requested_by, wait_s),
        }
        return from_wire(Published, self._send("POST", "/v1/publish", body=body, wait_s=wait_s))

    def restore(
        self,
        definition: str,
        *,
        publication: str | None = None,
        slot: str | None = None,
        expect_revision: int | None = None,
        owner: str | None = None,
        take_over: bool = False,
        command_id: str | None = None,
        requested_by: str = "",
        wait_s: float = WAIT_S_MAX,
    ) -> Published:
        """Gives an earlier publication of a slot its authority back, as a new one; without `publication` the one
        that had it before the present one. "nothing" where it has it already."""
        body = {
            "definition": definition,
            "publication": publication,
            **self._slot(slot, expect_revision, owner, take_over),
            **self._command(command_id, requested_by, wait_s),
        }
        return from_wire(Published, self._send("POST", "/v1/restore", body=body, wait_s=wait_s))

    def unpublish(
        self,
        definition: str,
        *,
        slot: str | None = None,
        expect_revision: int | None = None,
        owner: str | None = None,
        take_over: bool = False,
        command_id: str | None = None,
        requested_by: str = "",
        wait_s: float = WAIT_S_MAX,
    ) -> Unpublished:
        """Empties a slot; "nothing" where it is empty, "pending" where that takes longer than `wait_s`."""
        body = {
            "definition": definition,
            **self._slot(slot, expect_revision, owner, take_over),
            **self._command(command_id, requested_by, wait_s),
        }
        return from_wire(Unpublished, self._send("POST", "/v1/unpublish", body=body, wait_s=wait_s))

    def slots(
        self,
        *,
        definition: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        position: int | None = None,
    ) -> Page[Slot]:
        """Slots by definition and name; `position` is that of a publish which the answer must know of."""
        query = self._query(definition=definition, limit=limit, after=after, position=position)
        return from_wire(Page[Slot], self._send("GET", "/v1/slots", query=query))

    def slot(self, definition: str, name: str = "default", *, position: int | None = None) -> SlotDetail:
        """A slot with its authority."""
        path = "/v1/slots/" + part(definition, "a definition's name") + "/" + part(name, "a slot's name")
        return from_wire(SlotDetail, self._send("GET", path, query=self._query(position=position)))

    def publications(
        self,
        *,
        definition: str | None = None,
        slot: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Page[Publication]:
        """Publications, the newest first; `slot` is the name of one of the definition's slots."""
        query = self._query(definition=definition, slot=slot, status=status, limit=limit, after=after)
        return from_wire(Page[Publication], self._send("GET", "/v1/publications", query=query))

    def publication(
        self, publication_id: str, *, wait_s: float | None = None, seen: str | None = None
    ) -> PublicationDetail:
        """A publication; with `wait_s` once it is no longer pending, or once it is not as `seen`."""
        path = "/v1/publications/" + id_part(publication_id, "a publication's id")
        return from_wire(PublicationDetail, self._get_waiting(path, wait_s, seen))

    # ---- within -----------------------------------------------------------------------------------------------------

    def _slot(
        self, slot: str | None, expect_revision: int | None, owner: str | None, take_over: bool
    ) -> dict[str, object]:
        """What each of these requests says of the slot that it is for."""
        return {
            "slot": slot,
            "expectRevision": expect_revision,
            "owner": owner,
            "takeOver": take_over,
            "shell": self.shell,
        }

    def _command(self, command_id: str | None, requested_by: str, wait_s: float) -> dict[str, object]:
        """What each that changes a slot says besides."""
        return {"commandId": command_id or self._new_id(), "requestedBy": requested_by, "wait": wait_s}
