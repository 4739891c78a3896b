"""A connection to one API: how requests are sent, sent again, and answered, and the errors that they end in."""

import copy
import json
import time
import uuid
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, cast
from urllib.parse import quote

import httpx

from interlock.sdk.types import Conflict, DocumentFault, Health, Problem
from interlock.sdk.wire import WireError, from_wire

TIMEOUT_S = 15.0
"""How long an answer may take beyond what the request itself asks the server to wait."""
WAIT_S_MAX = 30.0
"""The longest that one request asks the server to wait; longer waits are several requests."""
PART_CHARACTERS_MAX = 2_000
"""The longest id or name that a URL is made of; servers and proxies take URLs of about 8,000 bytes."""
LINE_CHARACTERS_MAX = 200
"""How much is told of what an answer says that isn't the API's."""
TRIES_MAX = 3
"""How often a request is sent whose connection breaks."""


class ApiError(Exception):
    """The API answered that the request was not done."""

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        details: Mapping[str, str],
        *,
        faults: tuple[DocumentFault, ...] = (),
        conflicts: tuple[Conflict, ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status."""
        self.kind = kind
        """Such as "invalid", "not-found", "conflict", "superseded", "warming-up", "unavailable"."""
        self.message = message
        self.details = dict(details)
        """Names and ids that a program may act on."""
        self.faults = faults
        """What is wrong with a document, one by one."""
        self.conflicts = conflicts
        """Who has the exclusive claims that a publication needs."""


class Unreachable(Exception):
    """No answer came from the address; the message says what was tried and what to do."""


class BadArgument(ValueError):
    """An id or a name that no request can hold; nothing was sent."""


def _random_id() -> str:
    return uuid.uuid4().hex


class Connection:
    """Sends requests to one API; `Client` has the verbs."""

    def __init__(
        self,
        base_url: str,
        *,
        shell: str = "default",
        transport: httpx.BaseTransport | None = None,
        new_id: Callable[[], str] = _random_id,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """In tests `transport` takes the network's place, `new_id` that of chance and `now_s` that of the clock."""
        self.base_url = base_url
        self.shell = shell
        self._at_least = ""
        self._new_id = new_id
        self._now_s = now_s
        try:
            self._http = httpx.Client(base_url=base_url, timeout=TIMEOUT_S, transport=transport, trust_env=False)
        except (httpx.InvalidURL, ValueError) as error:
            raise _bad_address(base_url, str(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def at_least(self, *positions: str) -> Self:
        """The same connection, whose questions are answered by views that know of these positions.

        They are the `at_least` of earlier answers. A view that doesn't get there in time is an `ApiError` of the kind
        "not-reached", which tells what it reached.
        """
        other = copy.copy(self)
        other._at_least = ",".join(position for position in positions if position)
        return other

    # ---- within -----------------------------------------------------------------------------------------------------

    def _health(self, path: str, query: dict[str, str], wait_s: float) -> Health:
        answer = self._exchange("GET", path, query, None, {}, wait_s + TIMEOUT_S)
        return from_wire(Health, _json_of(answer, self.base_url))

    def _query(self, **given: str | int | None) -> dict[str, str]:
        if self._at_least:
            given["at_least"] = self._at_least
        query = {name: str(value) for name, value in given.items() if value is not None}
        return query if self.shell == "default" else {**query, "shell": self.shell}

    def _get_waiting(self, path: str, wait_s: float | None, seen: str | None) -> object:
        query = {} if wait_s is None else {"wait": f"{wait_s:g}"}
        if self._at_least and not path.startswith("/v1/projections"):
            query["at_least"] = self._at_least
        if seen is not None:
            query["seen"] = seen
        return self._send("GET", path, query=query, wait_s=wait_s or 0.0)

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        content: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        wait_s: float = 0.0,
    ) -> object:
        """The JSON value that the API answers."""
        if body is not None:
            content = json.dumps({name: value for name, value in body.items() if value is not None})
        answer = self._exchange(method, path, dict(query or {}), content, dict(headers or {}), wait_s + TIMEOUT_S)
        found = _json_of(answer, self.base_url)
        if answer.is_success:
            return found
        problem = _problem_of(found, answer.reason_phrase)
        raise ApiError(
            answer.status_code,
            problem.kind,
            problem.message,
            problem.details,
            faults=problem.faults,
            conflicts=problem.conflicts,
        )

    def _exchange(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        content: str | bytes | None,
        headers: dict[str, str],
        timeout_s: float,
    ) -> httpx.Response:
        """Sends a request, again where its connection broke: every command has an id, so that is harmless."""
        for name, value in query.items():
            _check(value, f"a value of {name!r}")
        if content is not None:
            headers = {**headers, "Content-Type": "application/json"}
        for tries_left in reversed(range(TRIES_MAX)):
            try:
                return self._http.request(
                    method, path, params=query, content=content, headers=headers, timeout=timeout_s
                )
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as error:
                if not tries_left:
                    raise _unreachable(self.base_url, error) from error
            except httpx.UnsupportedProtocol as error:
                raise _bad_address(self.base_url, str(error)) from error
            except httpx.TransportError as error:
                raise _unreachable(self.base_url, error) from error
        raise AssertionError("expected a try to end with an answer or an error")


def part(text: str, what: str) -> str:
    """A part of a path. Raises `BadArgument` for what would be another path, or none."""
    if not text:
        raise BadArgument(f"expected {what}, found none")
    if text in (".", ".."):
        raise BadArgument(f"expected {what}, found {text!r}")
    _check(text, what)
    return quote(text, safe=":")


def id_part(text: str, what: str) -> str:
    """A part of a path that is an id, of which none has a slash. Raises `BadArgument`."""
    if "/" in text:
        raise BadArgument(f"expected {what}, such as the lists show, found {text[:PART_CHARACTERS_MAX]!r}")
    return part(text, what)


def _check(text: str, what: str) -> None:
    if len(text) > PART_CHARACTERS_MAX:
        raise BadArgument(f"expected {what} of at most {PART_CHARACTERS_MAX} characters, found {len(text)}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadArgument(f"expected {what} in Unicode, found {text!r:.100}") from error


def _json_of(answer: httpx.Response, base_url: str) -> object:
    try:
        return cast("object", answer.json())
    except ValueError as error:
        if answer.is_server_error:
            line = next(iter(answer.text.split("\n")), "").strip()[:LINE_CHARACTERS_MAX] or answer.reason_phrase
            raise WireError(
                f"Expected an answer of Interlock's API at {base_url}, found that the server failed with status "
                f"{answer.status_code} ({line}); whether the request was done isn't known: look at "
                f"{base_url}/health/live and at the server's log"
            ) from error
        raise WireError(
            f"Expected JSON from {base_url}, found {answer.headers.get('content-type', 'no type')} with status "
            f"{answer.status_code}; is that address Interlock's API?"
        ) from error


def _problem_of(found: object, reason: str) -> Problem:
    """Why a request was not done; whoever answers between here and the API may put it in another form."""
    told = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    return from_wire(Problem, {"kind": "failed", "message": reason, "details": {}, **told})


def _unreachable(base_url: str, error: Exception) -> Unreachable:
    if isinstance(error, httpx.ReadTimeout):
        return Unreachable(
            f"expected an answer of Interlock's API at {base_url} in time, found none; {base_url}/health/ready says "
            "what it waits for"
        )
    return Unreachable(
        f"expected Interlock's API at {base_url}, found: {str(error) or type(error).__name__}; start it with "
        "`interlock up`, or say where it is with --api or INTERLOCK_API"
    )


def _bad_address(base_url: str, found: str) -> Unreachable:
    return Unreachable(f"expected an address such as http://127.0.0.1:8321, found {base_url!r} ({found}); see --api")
