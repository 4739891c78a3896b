"""Bodies and parameters of requests: where bytes become values that the rest may trust."""

import json
import math
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel
from starlette.requests import Request

from interlock.api.failures import Failure, invalid
from interlock.api.misfits import ID_PATTERN, OWNER_PATTERN
from interlock.domain.messages import Owner, Restore, Unpublish
from interlock.domain.routing.json_text import JsonValue, parse
from interlock.projections.paging import Cursor

C = TypeVar("C", bound=str)

BODY_BYTES_MAX: Final = 1_048_576
"""The largest body that is read; a definition is far smaller."""
WAIT_S_MAX: Final = 60.0
"""The longest that a request may ask to wait, in seconds."""
LIMIT_MAX: Final = 500
"""The most items of one page."""
LIMIT_DEFAULT: Final = 50
INTEGER_MAX: Final = 2**53
"""Revisions and positions beyond it are nobody's; SQLite and JSON readers agree up to here."""

Seconds = Annotated[float, Field(ge=0, le=WAIT_S_MAX, allow_inf_nan=False)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Id = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=ID_PATTERN)]
"""Printable ASCII without spaces."""
Said = Annotated[str, StringConstraints(max_length=1_000)]


class Body(BaseModel):
    """What all bodies share: names in camel case, and no field that isn't known."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, use_attribute_docstrings=True)


class SlotBody(Body):
    """What requests say of the slot that they are for."""

    slot: str | None = None
    """The slot's name; the one that the policies name if it is left out."""
    expect_revision: Annotated[int, Field(ge=0, le=INTEGER_MAX)] | None = None
    """The slot revision that was observed; the one found if it is left out."""
    shell: Name = "default"
    owner: Annotated[str, StringConstraints(max_length=401, pattern=OWNER_PATTERN)] | None = None
    """Whose the slot is or shall be, as KIND:ID, such as team:payments; who names nobody may change only what nobody
    owns."""
    take_over: bool = False
    """Whether another owner is no obstacle; `owner` says who owns it then."""

    def owner_named(self) -> Owner | None:
        """The owner, taken apart."""
        if self.owner is None:
            return None
        kind, _, identity = self.owner.partition(":")
        return Owner(kind=kind, id=identity)


class CommandBody(SlotBody):
    """What requests say that change a slot."""

    command_id: Id | None = None
    """The caller's id of this command: sent again, it gets the same answer and does nothing twice."""
    requested_by: Said = ""
    wait: Seconds | None = None
    """How long to wait until every routing shard decides by it, before "pending" is reported, in seconds; the setting
    `publish_wait_s` if it is left out."""


class PreflightBody(SlotBody):
    """Asks what a publish would do."""

    document: str | dict[str, object]
    """The definition: a JSON object, or its text as its author wrote it."""

    def document_text(self) -> str:
        """The definition as JSON text."""
        return document_text(self.document)


def document_text(document: str | dict[str, object]) -> str:
    """A definition as JSON text."""
    return document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)


class PublishBody(PreflightBody, CommandBody):
    """Asks that a definition becomes the authority of a slot."""


class PreflightRestoreBody(SlotBody):
    """Asks what a restore would do."""

    definition: Name
    """The definition's id."""
    publication: Id | None = None
    """The one to restore; the one that had authority before the present one if it is left out."""

    def message(self, now_ms: int, command_id: str = "", requested_by: str = "") -> Restore:
        """What it asks of publishing; without an id it is no command, and can only be looked ahead to."""
        return Restore(
            command_id=command_id,
            shell=self.shell,
            definition_id=self.definition,
            slot=self.slot,
            publication_id=self.publication,
            expect_revision=self.expect_revision,
            requested_by=requested_by,
            requested_at_ms=now_ms,
            owner=self.owner_named(),
            take_over=self.take_over,
        )


class RestoreBody(PreflightRestoreBody, CommandBody):
    """Asks that an earlier publication of a slot has authority again, as a new publication."""


class PreflightUnpublishBody(SlotBody):
    """Asks what an unpublish would do."""

    definition: Name
    """The definition's id."""

    def message(self, now_ms: int, command_id: str = "", requested_by: str = "") -> Unpublish:
        """What it asks of publishing; without an id it is no command, and can only be looked ahead to."""
        return Unpublish(
            command_id=command_id,
            shell=self.shell,
            definition_id=self.definition,
            slot=self.slot,
            expect_revision=self.expect_revision,
            requested_by=requested_by,
            requested_at_ms=now_ms,
            owner=self.owner_named(),
            take_over=self.take_over,
        )


class UnpublishBody(PreflightUnpublishBody, CommandBody):
    """Asks that a slot selects nothing any more."""


class TestRunBody(Body):
    """Asks for a run of what no slot selects: of exactly one of a document, a version, and a reference."""

    document: str | dict[str, object] | None = None
    """A draft: a JSON object, or its text as its author wrote it."""
    definition: Name | None = None
    """Whose version it is."""
    version: Name | None = None
    """A version that was published, or was to be."""
    reference: Id | None = None
    """The reference that an earlier test run started from."""
    data: object = Field(default_factory=dict[str, object])
    """What the run gets as its input: any JSON value."""
    shell: Name = "default"
    command_id: Id | None = None
    """The caller's id of this command: sent again, it gets the same answer and does nothing twice."""
    requested_by: Said = ""
    wait: Seconds | None = None
    """How long to wait for the answer before "pending" is reported, in seconds; the setting `publish_wait_s` if it is
    left out."""


class CancelBody(Body):
    """Asks a run to end."""

    command_id: Id | None = None
    reason: Said = ""
    requested_by: Said = ""
    wait: Seconds = 10.0
    """How long to wait for its end before "pending" is reported, in seconds."""


class RebuildBody(Body):
    """Asks that a view is rebuilt from the journals."""

    compare: bool = False
    """Takes digests of the rows before and after, where they swap."""


class NothingBody(Body):
    """There is nothing to say; an empty object, or no body at all."""


class ReconcileBody(Body):
    """Asks for one pass of reconciliation."""

    dry_run: bool = False
    """Only compares, and asks for no repair."""
    requested_by: Said = ""


async def read_bytes(request: Request, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """The body, if it isn't too large; what is too large is not read to its end."""
    too_large = Failure(413, "too-large", f"Expected a body of at most {bytes_max} bytes, found more.")
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and (len(declared) > 12 or int(declared) > bytes_max):
        raise too_large
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > bytes_max:
            raise too_large
    return bytes(body)


async def read_object(request: Request) -> dict[str, JsonValue]:
    """The body as a JSON object; {} where it is empty. Raises `JsonUnfit`, `Failure`."""
    body = await read_bytes(request)
    if not body.strip():
        return {}
    value = parse(body)
    if not isinstance(value, dict):
        raise invalid("Expected a JSON object as body, found another JSON value.")
    return value


# ---- parameters -----------------------------------------------------------------------------------------------------


def limit_of(request: Request, limit_max: int = LIMIT_MAX) -> int:
    """How many items a page shall have."""
    return _integer(request, "limit", 1, limit_max) or min(LIMIT_DEFAULT, limit_max)


def cursor_of(request: Request) -> Cursor | None:
    """Behind which item a list goes on."""
    given = request.query_params.get("after")
    if given is None:
        return None
    time_ms, dash, key = given.partition("-")
    if not dash or not key or not _is_number(time_ms) or int(time_ms) > INTEGER_MAX:
        raise invalid(f"Expected `after` as it was given by `next` of a page, found {given[:80]!r}.")
    return int(time_ms), key


def cursor_text(cursor: Cursor) -> str:
    """A cursor as `next` of a page."""
    return f"{cursor[0]}-{cursor[1]}"


def wait_of(request: Request) -> float | None:
    """How long the request waits for something to happen, in seconds; None if it doesn't."""
    given = request.query_params.get("wait")
    if given is None:
        return None
    try:
        wait_s = float(given)
    except ValueError:
        wait_s = math.nan
    if not 0 <= wait_s <= WAIT_S_MAX:
        raise invalid(f"Expected `wait` as seconds from 0 to {WAIT_S_MAX:g}, found {given[:40]!r}.")
    return wait_s


def above_of(request: Request) -> int:
    """The revision above which a history is asked for."""
    return _integer(request, "after", 0, INTEGER_MAX) or 0


def shell_of(request: Request) -> str:
    """The shell that is asked about."""
    return request.query_params.get("shell", "default")


def flag_of(request: Request, name: str) -> bool:
    """A yes or no."""
    given = request.query_params.get(name, "false")
    if given not in ("true", "false"):
        raise invalid(f"Expected `{name}` as true or false, found {given[:40]!r}.")
    return given == "true"


def choice_of(request: Request, name: str, choices: tuple[C, ...]) -> C | None:
    """One of several words; None if it isn't given."""
    given = request.query_params.get(name)
    if given is None:
        return None
    for choice in choices:
        if choice == given:
            return choice
    raise invalid(f"Expected `{name}` as one of {', '.join(choices)}, found {given[:40]!r}.")


def position_of(request: Request) -> int | None:
    """The append of the publishing journal that an answer has to know of."""
    return _integer(request, "position", 0, INTEGER_MAX)


def _integer(request: Request, name: str, least: int, most: int) -> int | None:
    given = request.query_params.get(name)
    if given is None:
        return None
    if not _is_number(given) or not least <= int(given) <= most:
        raise invalid(f"Expected `{name}` as a whole number from {least} to {most}, found {given[:40]!r}.")
    return int(given)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 17
