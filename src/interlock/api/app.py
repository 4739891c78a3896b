"""The app: every endpoint of the API in one table, from which its routes and its OpenAPI document are made."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from interlock.api import (
    audit,
    health,
    history,
    preflights,
    projections,
    publishing,
    reconciling,
    runs,
    stimuli,
    testruns,
    transitions,
)
from interlock.api.bodies import (
    CancelBody,
    NothingBody,
    PreflightBody,
    PreflightRestoreBody,
    PreflightUnpublishBody,
    PublishBody,
    RebuildBody,
    ReconcileBody,
    RestoreBody,
    TestRunBody,
    UnpublishBody,
    wait_of,
)
from interlock.api.context import Context
from interlock.api.endpoint import Answer, Endpoint, Json
from interlock.api.failures import respond
from interlock.api.metrics import metrics_route
from interlock.api.openapi import document
from interlock.api.positions import reach
from interlock.api.queries import Queries
from interlock.runtime.engine import Engine
from interlock.sdk import types
from interlock.sdk.wire import to_wire

_LIST = ("shell", "limit", "after")
_WAIT = ("wait", "seen")

ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    Endpoint(
        method="POST",
        path="/v1/preflight",
        handler=preflights.of_publish,
        answer=types.Preflight,
        body=PreflightBody,
    ),
    Endpoint(
        method="POST",
        path="/v1/preflight/restore",
        handler=preflights.of_restore,
        answer=types.Preflight,
        body=PreflightRestoreBody,
    ),
    Endpoint(
        method="POST",
        path="/v1/preflight/unpublish",
        handler=preflights.of_unpublish,
        answer=types.Preflight,
        body=PreflightUnpublishBody,
    ),
    Endpoint(
        method="POST",
        path="/v1/publish",
        handler=publishing.publish,
        answer=types.Published,
        statuses=(200, 202),
        body=PublishBody,
    ),
    Endpoint(
        method="POST",
        path="/v1/restore",
        handler=transitions.restore,
        answer=types.Published,
        statuses=(200, 202),
        body=RestoreBody,
    ),
    Endpoint(
        method="POST",
        path="/v1/unpublish",
        handler=transitions.unpublish,
        answer=types.Unpublished,
        statuses=(200, 202),
        body=UnpublishBody,
    ),
    Endpoint(
        method="GET",
        path="/v1/slots",
        handler=publishing.slots,
        views=("slots",),
        answer=types.Page[types.Slot],
        parameters=(*_LIST, "definition", "position"),
    ),
    Endpoint(
        method="GET",
        path="/v1/slots/{definition}/{name}",
        routed_as="/v1/slots/{slot:path}",
        handler=publishing.slot,
        views=("slots",),
        answer=types.SlotDetail,
        parameters=("shell", "position"),
    ),
    Endpoint(
        method="GET",
        path="/v1/publications",
        handler=publishing.publications,
        views=("slots",),
        answer=types.Page[types.Publication],
        parameters=(*_LIST, "definition", "slot", "status", "position"),
    ),
    Endpoint(
        method="GET",
        path="/v1/publications/{publication_id}",
        handler=publishing.publication,
        views=("slots",),
        answer=types.PublicationDetail,
        parameters=("shell", "position", *_WAIT),
    ),
    Endpoint(
        method="POST",
        path="/v1/stimuli",
        handler=stimuli.emit,
        answer=types.Emitted,
        statuses=(202,),
        parameters=("shell",),
    ),
    Endpoint(
        method="GET",
        path="/v1/stimuli",
        handler=stimuli.stimuli,
        views=("stimuli",),
        answer=types.Page[types.Stimulus],
        parameters=(*_LIST, "outcome", "name"),
    ),
    Endpoint(
        method="GET",
        path="/v1/stimuli/{stimulus_id}",
        handler=stimuli.stimulus,
        views=("stimuli",),
        answer=types.StimulusDetail,
        parameters=("shell", *_WAIT),
    ),
    Endpoint(
        method="GET",
        path="/v1/dead-letters",
        handler=stimuli.dead_letters,
        views=("stimuli",),
        answer=types.Page[types.DeadLetter],
        parameters=(*_LIST, "reason"),
    ),
    Endpoint(
        method="GET",
        path="/v1/dead-letters/{dead_letter_id}",
        handler=stimuli.dead_letter,
        views=("stimuli",),
        answer=types.DeadLetter,
        parameters=("shell",),
    ),
    Endpoint(
        method="GET",
        path="/v1/runs",
        handler=runs.runs,
        views=("executions",),
        answer=types.Page[types.Run],
        parameters=(*_LIST, "status", "definition", "publication", "unserved"),
    ),
    Endpoint(
        method="POST",
        path="/v1/test-runs",
        handler=testruns.start,
        answer=types.StartedTestRun,
        statuses=(200, 202),
        body=TestRunBody,
    ),
    Endpoint(
        method="GET",
        path="/v1/runs/{execution_id}",
        handler=runs.run,
        views=("executions",),
        answer=types.RunDetail,
        parameters=("shell", *_WAIT),
    ),
    Endpoint(
        method="POST",
        path="/v1/runs/{execution_id}/cancel",
        handler=runs.cancel,
        answer=types.Cancelled,
        statuses=(200, 202),
        body=CancelBody,
    ),
    Endpoint(
        method="GET",
        path="/v1/counts",
        handler=runs.counts,
        views=("executions", "stimuli"),
        answer=types.Counts,
        parameters=("shell", *_WAIT),
    ),
    Endpoint(
        method="GET",
        path="/v1/history/{aggregate}",
        routed_as="/v1/history/{aggregate:path}",
        handler=history.history,
        views=("history",),
        answer=types.Page[types.HistoryEntry],
        parameters=(*_LIST, "wait"),
    ),
    Endpoint(
        method="GET",
        path="/v1/states/{aggregate}",
        routed_as="/v1/states/{aggregate:path}",
        handler=audit.state,
        views=("history",),
        answer=types.AggregateState,
        parameters=("shell", "at"),
    ),
    Endpoint(
        method="GET",
        path="/v1/why/{definition}/{name}",
        routed_as="/v1/why/{slot:path}",
        handler=audit.why,
        views=("history",),
        answer=types.Why,
        parameters=("shell",),
    ),
    Endpoint(
        method="POST",
        path="/v1/reconcile",
        handler=reconciling.reconcile,
        answer=types.Reconciled,
        body=ReconcileBody,
    ),
    Endpoint(
        method="GET",
        path="/v1/repairs",
        handler=reconciling.repairs,
        views=("slots",),
        answer=types.Page[types.Repair],
        parameters=_LIST,
    ),
    Endpoint(
        method="GET",
        path="/v1/projections",
        handler=projections.projections,
        answer=types.Page[types.ViewStatus],
    ),
    Endpoint(
        method="GET",
        path="/v1/projections/{view}",
        handler=projections.projection,
        answer=types.ViewStatus,
        parameters=_WAIT,
    ),
    Endpoint(
        method="POST",
        path="/v1/projections/{view}/rebuild",
        handler=projections.rebuild,
        answer=types.Rebuild,
        statuses=(202,),
        body=RebuildBody,
    ),
    Endpoint(
        method="POST",
        path="/v1/projections/{view}/verify",
        handler=projections.verify,
        answer=types.Verification,
        statuses=(202,),
        body=NothingBody,
    ),
    Endpoint(method="GET", path="/health/live", handler=health.live, answer=types.Health, statuses=(200, 503)),
    Endpoint(
        method="GET",
        path="/health/ready",
        handler=health.ready,
        answer=types.Health,
        statuses=(200, 503),
        parameters=("wait",),
    ),
)


def create_app(engine: Engine, queries: Queries) -> Starlette:
    """The API of a process with the role `api`, over views that it holds or that lie in its data directory.

    `app.state.context` is the `Context`; whoever ends the process calls its `stop` first, and `close` at the end (the
    app's lifespan does both).
    """
    context = Context(engine, queries)
    openapi = document(ENDPOINTS)

    async def openapi_document(request: Request) -> Response:
        return Json(openapi)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        yield
        context.close()

    app = Starlette(
        routes=[
            Route("/v1/openapi.json", openapi_document, methods=["GET"]),
            metrics_route(engine, context),
            *(_route(context, endpoint) for endpoint in ENDPOINTS),
        ],
        exception_handlers={Exception: respond, 404: respond, 405: respond},
        lifespan=lifespan,
    )
    # A redirect would turn the path of an empty id into that of a list.
    app.router.redirect_slashes = False
    app.state.context = context
    return app


def _route(context: Context, endpoint: Endpoint) -> Route:
    async def handle(request: Request) -> Response:
        try:
            endpoint.check_parameters(request)
            if endpoint.views and (at_least := request.query_params.get("at_least")) is not None:
                await reach(context, endpoint.views, at_least, wait_of(request))
            answer: Answer[object] = await endpoint.handler(context, request)
        except Exception as error:  # noqa: BLE001 - each becomes the answer that `failures` knows for it
            return await respond(request, error)
        return Json(to_wire(answer.value), answer.status)

    return Route(endpoint.routed_as or endpoint.path, handle, methods=[endpoint.method])
