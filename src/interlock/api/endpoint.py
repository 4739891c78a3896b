"""What an endpoint of the API is: a method and a path, a handler, and what the OpenAPI document says of it.

Every route is made from one of these, so the document can't miss one.
"""

import dataclasses
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Generic, TypeVar, cast
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from interlock.api.bodies import Body
from interlock.api.context import Context
from interlock.api.failures import invalid
from interlock.sdk.wire import to_wire

T = TypeVar("T")
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What a handler answers where nothing goes wrong."""

    status: int
    value: T


Handler = Callable[[Context, Request], Awaitable[Answer[Any]]]

PARAMETERS: Final[dict[str, str]] = {
    "shell": "The shell that is asked about; `default` if it is left out.",
    "limit": "The most items of the page.",
    "after": "`next` of the page before.",
    "above": "Only revisions above this one.",
    "wait": "Seconds to wait until there is what the endpoint waits for; without it the answer comes at once.",
    "seen": "The `mark` of an answer that the caller has: with `wait` the answer comes once something is different.",
    "at_least": "`atLeast` of answers, with commas between: this one knows of what they did, or is 504 after `wait` "
    "seconds (5 if it is left out), or 503 while the view catches up after a start.",
    "at": "A revision, or an instant such as 2026-03-01T12:00:00Z; now if it is left out.",
    "position": "The position that a publish was answered with; the answer knows of it, or is 503.",
    "status": "Only those of this status.",
    "definition": "Only those of this definition.",
    "slot": "Only those of this slot of the definition.",
    "publication": "Only those that this publication started.",
    "unserved": "true: only runs whose next activity no process presents, the longest waiting first.",
    "outcome": "Only those with this outcome.",
    "name": "Only those of this name.",
    "reason": "Only those with this reason.",
}
"""Every query parameter that there is, with its description."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one path."""

    method: str
    path: str
    """As OpenAPI writes it, such as `/v1/runs/{execution_id}`."""
    handler: Handler
    answer: Any
    """The type of what it answers."""
    statuses: tuple[int, ...] = (200,)
    """The statuses that it answers with where nothing goes wrong."""
    body: type[Body] | None = None
    parameters: tuple[str, ...] = ()
    """The query parameters that it knows; others are refused, for a misspelt one would be ignored otherwise."""
    views: tuple[str, ...] = ()
    """The views that it answers from; such an endpoint knows `at_least` too."""
    routed_as: str | None = None
    """Starlette's path, where it differs: names may hold a slash."""

    @property
    def known(self) -> tuple[str, ...]:
        """All query parameters that it knows."""
        if not self.views:
            return self.parameters
        return (*self.parameters, *(name for name in ("wait", "at_least") if name not in self.parameters))

    def check_parameters(self, request: Request) -> None:
        """Raises `Failure` for a parameter that isn't known, or that is given twice."""
        for name in request.query_params:
            if name not in self.known:
                known = ", ".join(self.known) or "none"
                raise invalid(f"Expected query parameters of this path ({known}), found {name[:80]!r}.")
            if name == "wait" and name not in self.parameters and "at_least" not in request.query_params:
                raise invalid("Expected `at_least` with `wait`, found none; this path waits for nothing else.")
            if len(request.query_params.getlist(name)) > 1:
                raise invalid(f"Expected query parameter {name!r} once, found it several times.")


class Json(Response):
    """A JSON body; text that is no Unicode (from an old record) is written as escapes."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """The bytes of the body."""
        try:
            return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
        except UnicodeEncodeError:
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def mark_of(answer: object) -> str:
    """A digest over an answer: another one where anything of it is different."""
    return blake2b(json.dumps(to_wire(answer), sort_keys=True).encode(), digest_size=8).hexdigest()


def marked(answer: M, stable: M | None = None) -> M:
    """The answer with its mark; `stable` is the same without what changes as time goes by."""
    mark = mark_of(answer if stable is None else stable)
    return cast("M", dataclasses.replace(cast(Any, answer), mark=mark))


def path_parts(request: Request, prefix: str) -> tuple[str, ...]:
    """The parts of the path behind a prefix, each decoded by itself: an encoded slash belongs to a name."""
    raw = cast("bytes | None", request.scope.get("raw_path")) or request.url.path.encode()
    path = raw.decode("ascii", "replace").partition("?")[0]
    return tuple(unquote(part) for part in path.removeprefix(prefix).split("/"))
