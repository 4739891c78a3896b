"""Changes of a slot's authority that need no document: restore, unpublish."""

from starlette.requests import Request

from interlock.api import pending
from interlock.api.bodies import RestoreBody, UnpublishBody, read_object
from interlock.api.context import Context
from interlock.api.endpoint import Answer
from interlock.api.publishing import changed, published
from interlock.sdk.types import Published, Unpublished


async def restore(context: Context, request: Request) -> Answer[Published]:
    """Gives an earlier publication of a slot its authority back, as a new one; 202 while that is still to come.

    All that a publish checks is checked again. Of the present authority the answer is "nothing": it has it already.
    """
    body = RestoreBody.model_validate(await read_object(request))
    message = body.message(context.now_ms(), body.command_id or context.engine.parts.ids(), body.requested_by)
    return await published(context, message, body.wait)


async def unpublish(context: Context, request: Request) -> Answer[Unpublished]:
    """Empties a slot, so that it starts nothing any more; 202 while that, or its answer, is still to come.

    Of a slot that is empty the answer is "nothing": there was nothing to do.
    """
    body = UnpublishBody.model_validate(await read_object(request))
    message = body.message(context.now_ms(), body.command_id or context.engine.parts.ids(), body.requested_by)
    return await changed(context, message, body.wait, Unpublished, lambda: pending.of_unpublish(context, message))
