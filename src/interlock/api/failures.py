"""What a request can end in besides its answer: one table from errors to statuses and kinds.

The body is always `{"kind", "message", "details"}`. A view that has not caught up is 503 "warming-up" and never 404
(PRJ-09); a log that is away is 503 "unavailable"; what this module doesn't know is 500, and is logged.
"""

import logging
import sqlite3
from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from interlock.api.misfits import misfit
from interlock.domain.refusal import RefusalKind
from interlock.domain.routing.json_text import JsonUnfit
from interlock.log.port import BatchTooLarge, LogError
from interlock.projections.reader import WarmingUp
from interlock.projections.recorded import UnreadableEvent
from interlock.sdk.types import Conflict, DocumentFault, Problem
from interlock.sdk.wire import from_wire, to_wire

log = logging.getLogger(__name__)

RETRY_AFTER_S: Final = 1
"""What a 503 says about when to ask again."""

STATUS_OF_KIND: Final[Mapping[RefusalKind, int]] = {
    "invalid": 400,
    "not-found": 404,
    "conflict": 409,
    "superseded": 409,
    "state": 409,
    "too-large": 413,
    "unserved": 503,
}


class Failure(Exception):
    """A request is not done; what is raised becomes the answer."""

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        details: Mapping[str, str] | None = None,
        *,
        faults: tuple[DocumentFault, ...] = (),
        conflicts: tuple[Conflict, ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.problem = Problem(
            kind=kind, message=message, details=dict(details or {}), faults=faults, conflicts=conflicts
        )


def invalid(message: str, details: Mapping[str, str] | None = None) -> Failure:
    """The request itself is wrong."""
    return Failure(400, "invalid", message, details)


def not_found(message: str, details: Mapping[str, str] | None = None) -> Failure:
    """It names what isn't there; only to be said by a view that has caught up."""
    return Failure(404, "not-found", message, details)


def refused(body: Mapping[str, object], **ids: str) -> Failure:
    """The engine's own refusal, as it is told to callers, with the status of its kind and further ids."""
    problem = from_wire(Problem, body)
    status = next((status for known, status in STATUS_OF_KIND.items() if known == problem.kind), 409)
    details = {**problem.details, **ids}
    return Failure(status, problem.kind, problem.message, details, faults=problem.faults, conflicts=problem.conflicts)


async def respond(request: Request, error: Exception) -> JSONResponse:
    """The answer that an error becomes."""
    failure = as_failure(error)
    if failure.status == 500:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    if failure.status == 503:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    return JSONResponse(to_wire(failure.problem), failure.status, headers)


def as_failure(error: Exception) -> Failure:
    """What an error means to whoever asked."""
    match error:
        case Failure():
            return error
        case WarmingUp():
            return Failure(503, "warming-up", f"The answer is warming up: {error}.")
        case BatchTooLarge():
            return Failure(413, "too-large", f"The request is too large for the log: {error}.")
        case LogError():
            return Failure(503, "unavailable", f"The log is away: {error}; the same request may be sent again.")
        case sqlite3.Error():
            return Failure(503, "unavailable", f"The view's file can't be read now: {error}; ask again later.")
        case UnreadableEvent():
            return Failure(500, "failed", f"{error}.")
        case JsonUnfit():
            return invalid(f"{error}.")
        case ValidationError():
            return invalid(misfit(error))
        case HTTPException():
            return _of_http(error)
        case _:
            return Failure(500, "failed", "The program failed; its log says where. The same request may be sent again.")


def _of_http(error: HTTPException) -> Failure:
    if error.status_code == 404:
        return Failure(404, "not-found", "Expected a path of this API, found another; see /v1/openapi.json.")
    if error.status_code == 405:
        return Failure(405, "invalid", "Expected another method on this path; see /v1/openapi.json.")
    return Failure(error.status_code, "invalid", error.detail)
