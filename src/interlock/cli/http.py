"""The HTTP side of a process: uvicorn in the loop of the engine."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Generator
from typing import Final, cast

import uvicorn
from starlette.applications import Starlette

from interlock.api import create_app, open_queries
from interlock.api.context import Context
from interlock.api.probe import create_probe
from interlock.cli.codes import Code, CommandError
from interlock.cli.settings import api_host_port
from interlock.runtime.engine import Engine
from interlock.runtime.settings import Settings

log = logging.getLogger("interlock")

REQUESTS_END_S: Final = 5
"""How long requests may take to end when the process does."""
CONNECTIONS_MAX: Final = 1_000
"""Requests at once; further ones are answered 503."""
BACKLOG: Final = 512
"""Connections that wait to be taken."""


async def serve_http(engine: Engine, listener: socket.socket, stop: asyncio.Event) -> None:
    """Answers until `stop` is set, and then until the requests under way are answered: with the role `api` all of the
    API, else only how the process is."""
    if "api" in engine.roles:
        app = create_app(engine, open_queries(engine.settings.data / "views", engine.parts.codec))
        end_waits = cast("Context", app.state.context).stop
    else:
        app, end_waits = create_probe(engine), None
    server = _Server(_config(app))
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="api")
    stopped = asyncio.ensure_future(stop.wait())
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    log.info("%s listens on http://%s:%d", "the API" if end_waits else "the probe", shown, port)
    await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if end_waits is not None:
        end_waits()
    server.should_exit = True
    await serving


def listen(settings: Settings) -> socket.socket:
    """The API's socket; taken first, so that a port in use is told before anything starts. Raises `CommandError`."""
    host, port = api_host_port(settings.api)
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise CommandError(
            Code.FAILED,
            f"expected to listen on {host}:{port}, found: {error.strerror or error}; "
            "name another with --port or INTERLOCK_API",
        ) from error
    return listener


class _Server(uvicorn.Server):
    """uvicorn within a loop whose signals belong to the process as a whole."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Captures none."""
        yield


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="on",
        server_header=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=REQUESTS_END_S,
    )
