"""Publishing and its views: publish, slots, publications."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar, get_args

from starlette.requests import Request

from interlock.api import answers, pending
from interlock.api.bodies import (
    PublishBody,
    choice_of,
    position_of,
    read_object,
    shell_of,
    wait_of,
)
from interlock.api.context import Context
from interlock.api.endpoint import Answer, marked, path_parts
from interlock.api.failures import invalid, not_found, refused
from interlock.api.paging import PageRequest, page_of, page_request
from interlock.domain.messages import Publish, Restore, Unpublish
from interlock.domain.publishing.publication.state import Status
from interlock.domain.sharding import slot_id
from interlock.projections.slots.query import PublicationView, cursor_of, slot_cursor_of
from interlock.projections.slots.store import PublicationRow, SlotRow
from interlock.sdk.types import (
    Page,
    Publication,
    PublicationDetail,
    Published,
    Slot,
    SlotDetail,
    Unpublished,
)
from interlock.sdk.wire import from_wire

C = TypeVar("C", Published, Unpublished)

VIEW: Final = "slots"
STATUSES: Final[tuple[Status, ...]] = get_args(Status)


async def publish(context: Context, request: Request) -> Answer[Published]:
    """Lets a definition take authority in a slot; 202 while that, or its answer, is still to come."""
    body = PublishBody.model_validate(await read_object(request))
    engine = context.engine
    command_id = body.command_id or engine.parts.ids()
    message = Publish(
        command_id=command_id,
        shell=body.shell,
        document=body.document_text(),
        slot=body.slot,
        expect_revision=body.expect_revision,
        requested_by=body.requested_by,
        requested_at_ms=context.now_ms(),
        owner=body.owner_named(),
        take_over=body.take_over,
    )
    return await published(context, message, body.wait)


async def published(context: Context, message: Publish | Restore, wait_s: float | None) -> Answer[Published]:
    """What becomes of a request that makes a publication, as far as it is known in time. Raises `Failure`."""
    found = await changed(
        context, message, wait_s, Published, lambda: pending.of_publication(context, message.shell, message.command_id)
    )
    stands = found.value
    # No part of the recorded answer, which is the same whenever it is given: this is as things are now.
    beside = pending.known(context).beside(message.shell, stands.definition_id, stands.slot_id)
    return Answer(found.status, replace(stands, beside=beside))


async def changed(
    context: Context,
    message: Publish | Restore | Unpublish,
    wait_s: float | None,
    type_: type[C],
    stands: Callable[[], C],
) -> Answer[C]:
    """What becomes of a request that changes a slot's authority, as far as it is known in time; `stands` says what it
    waits for. Raises `Failure`.
    """
    engine, command_id = context.engine, message.command_id
    answer = await engine.gateway.publish(message, engine.settings.publish_wait_s if wait_s is None else wait_s)
    if answer.status == "pending":
        return Answer(202, replace(stands(), at_least=answer.at_least))
    if answer.status == "done":
        return Answer(200, from_wire(type_, {**answer.body, "commandId": command_id, "atLeast": answer.at_least}))
    raise refused(answer.body, commandId=command_id)


async def slots(context: Context, request: Request) -> Answer[Page[Slot]]:
    """The slots of a shell, by definition and name."""
    await context.at_position(VIEW, position_of(request))
    asked, shell, definition = page_request(request), shell_of(request), request.query_params.get("definition")

    def look(part: PageRequest) -> tuple[SlotRow, ...]:
        try:
            return context.queries.slots.slots(shell, definition_id=definition, after=part.after, limit=part.limit)
        except KeyError:
            raise invalid("Expected `after` as it was given by `next` of a page of slots, found another.") from None

    return await page_of(context, VIEW, asked, look, answers.slot, slot_cursor_of)


async def slot(context: Context, request: Request) -> Answer[SlotDetail]:
    """A slot with its authority; null where it was emptied."""
    parts = path_parts(request, "/v1/slots/")
    if len(parts) != 2:
        raise not_found("Expected the path of a slot as /v1/slots/<definition>/<name>, found another.")
    definition, name = parts
    await context.at_position(VIEW, position_of(request))

    async def look() -> SlotDetail:
        found = await context.ask(lambda: context.queries.slots.slot(shell_of(request), definition, name))
        if found is None:
            raise not_found(
                f"Expected a slot {name!r} of definition {definition!r}, found none; "
                "`interlock slots list` shows those that there are."
            )
        authority = (
            None
            if found.authority is None
            else answers.publication_detail(found.authority, await _passed(context, found.authority))
        )
        return SlotDetail(slot=answers.slot(found.slot), authority=authority)

    return Answer(200, await context.until((VIEW,), None, look, lambda _: True))


async def publications(context: Context, request: Request) -> Answer[Page[Publication]]:
    """Publications, the newest first."""
    query, asked = request.query_params, page_request(request)
    shell, definition, slot_name = shell_of(request), query.get("definition"), query.get("slot")
    if slot_name is not None and definition is None:
        raise invalid("Expected `definition` with `slot`, found none; slots of two definitions may have one name.")
    status: Status | None = choice_of(request, "status", STATUSES)
    slot_of = None if definition is None or slot_name is None else slot_id(shell, definition, slot_name)
    await context.at_position(VIEW, position_of(request))

    def look(part: PageRequest) -> Sequence[PublicationRow]:
        return context.queries.slots.publications(
            shell, definition_id=definition, slot=slot_of, status=status, after=part.after, limit=part.limit
        )

    return await page_of(context, VIEW, asked, look, answers.publication, cursor_of)


async def publication(context: Context, request: Request) -> Answer[PublicationDetail]:
    """A publication, and what it still waits for; with `wait` once it is no longer pending, or not as `seen`."""
    identity, seen = request.path_params["publication_id"], request.query_params.get("seen")
    await context.at_position(VIEW, position_of(request))

    async def look() -> PublicationDetail:
        found = await context.ask(lambda: context.queries.slots.publication(identity))
        if found is None:
            raise not_found(
                f"Expected a publication {identity!r}, found none; `interlock publications list` shows all."
            )
        return marked(answers.publication_detail(found, await _passed(context, found)))

    def enough(found: PublicationDetail) -> bool:
        return found.mark != seen if seen is not None else not found.pending

    return Answer(200, await context.until((VIEW,), wait_of(request), look, enough))


async def _passed(context: Context, view: PublicationView) -> dict[str, int]:
    """Up to which append of the publishing journal the views have come that a publication wants something of."""
    shard = context.engine.topics.journal("publishing", 0)
    kinds = {each.kind for each in view.intents} & context.queries.readers.keys()
    return {kind: (await context.position(kind, shard)).number for kind in kinds}
