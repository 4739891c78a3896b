"""How a process without the API is: its health and its metrics and nothing else, for whoever watches processes.

Such a process listens only where it is told a port, so that several on one machine don't fight for one.
"""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from interlock.api.bodies import wait_of
from interlock.api.endpoint import Json
from interlock.api.failures import Failure, respond
from interlock.api.health import missing, until_none
from interlock.api.metrics import metrics_route
from interlock.runtime.engine import Engine
from interlock.sdk.types import Health
from interlock.sdk.wire import to_wire


def create_probe(engine: Engine) -> Starlette:
    """The app of a process that has other roles than `api`."""

    async def live(request: Request) -> Response:
        return _answer(engine, engine.faults())

    async def ready(request: Request) -> Response:
        problems = await until_none(lambda: missing(engine), wait_of(request), lambda: False)
        return _answer(engine, problems)

    return Starlette(
        routes=[Route("/health/live", live), Route("/health/ready", ready), metrics_route(engine)],
        exception_handlers={Failure: respond, 404: respond, 405: respond},
    )


def _answer(engine: Engine, problems: list[str]) -> Response:
    health = Health(ok=not problems, problems=tuple(problems), roles=engine.roles)
    return Json(to_wire(health), 503 if problems else 200)
