"""A client of the API: the same verbs as the command line, with typed answers.

    with Client("http://127.0.0.1:8321") as client:
        client.publish(document)
        stimulus = client.emit("Event", "order.placed", data={"order_id": "o-1"})
        run_id = client.stimulus(stimulus.stimulus_id, wait_s=10).starts[0].execution_id
        run = client.run(run_id, wait_s=60)

Each command carries an id, made here unless it is given, so that a request whose answer got lost is repeated without
doing anything twice; the client does so by itself where a connection breaks.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Self, TypeVar, cast
from urllib.parse import quote

import httpx

from interlock.sdk.types import (
    ENDED,
    Cancelled,
    Conflict,
    Counts,
    DeadLetter,
    DocumentFault,
    Emitted,
    Health,
    HistoryEntry,
    Page,
    Preflight,
    Problem,
    Publication,
    PublicationDetail,
    Published,
    Rebuild,
    Run,
    RunDetail,
    Slot,
    SlotDetail,
    Stimulus,
    StimulusDetail,
    ViewStatus,
)
from interlock.sdk.wire import WireError, from_wire

T = TypeVar("T")

TIMEOUT_S = 15.0
"""How long an answer may take beyond what the request itself asks the server to wait."""
WAIT_S_MAX = 30.0
"""The longest that one request asks the server to wait; longer waits are several requests."""
PART_CHARACTERS_MAX = 2_000
"""The longest id or name that a URL is made of; servers and proxies take URLs of about 8,000 bytes."""
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


class Client:
    """A connection to one API; to be closed, or used in a `with`. Every verb raises `ApiError` and
    `Unreachable`, and `BadArgument` for an id that no path can hold."""

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

    # ---- publishing -------------------------------------------------------------------------------------------------

    def preflight(self, document: str, *, slot: str | None = None, expect_revision: int | None = None) -> Preflight:
        """What a publish of this document (JSON text) would do now; it changes nothing."""
        body = {"document": document, "slot": slot, "expectRevision": expect_revision, "shell": self.shell}
        return from_wire(Preflight, self._send("POST", "/v1/preflight", body=body))

    def publish(
        self,
        document: str,
        *,
        slot: str | None = None,
        expect_revision: int | None = None,
        command_id: str | None = None,
        requested_by: str = "",
        wait_s: float = WAIT_S_MAX,
    ) -> Published:
        """Lets a definition (JSON text) take authority in a slot; "pending" where that takes longer than `wait_s`."""
        body = {
            "document": document,
            "slot": slot,
            "expectRevision": expect_revision,
            "commandId": command_id or self._new_id(),
            "requestedBy": requested_by,
            "wait": wait_s,
            "shell": self.shell,
        }
        return from_wire(Published, self._send("POST", "/v1/publish", body=body, wait_s=wait_s))

    def slots(self, *, position: int | None = None) -> tuple[Slot, ...]:
        """All slots; `position` is that of a publish which the answer must know of."""
        found = self._send("GET", "/v1/slots", query=self._query(position=position))
        return from_wire(Page[Slot], found).items

    def slot(self, definition: str, name: str = "default", *, position: int | None = None) -> SlotDetail:
        """A slot with its authority."""
        path = "/v1/slots/" + _part(definition, "a definition's name") + "/" + _part(name, "a slot's name")
        return from_wire(SlotDetail, self._send("GET", path, query=self._query(position=position)))

    def publications(
        self,
        *,
        definition: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Page[Publication]:
        """Publications, the newest first."""
        query = self._query(definition=definition, status=status, limit=limit, after=after)
        return from_wire(Page[Publication], self._send("GET", "/v1/publications", query=query))

    def publication(
        self, publication_id: str, *, wait_s: float | None = None, seen: str | None = None
    ) -> PublicationDetail:
        """A publication; with `wait_s` once it is no longer pending, or once it is not as `seen`."""
        path = "/v1/publications/" + _part(publication_id, "a publication's id")
        return from_wire(PublicationDetail, self._get_waiting(path, wait_s, seen))

    # ---- stimuli ----------------------------------------------------------------------------------------------------

    def emit(
        self,
        type_: str,
        name: str,
        *,
        data: object = None,
        idempotency_key: str | None = None,
        correlation: str | None = None,
        ttl: str | None = None,
        deliver: str | None = None,
    ) -> Emitted:
        """Emits a stimulus; returns once it is durable."""
        stimulus: dict[str, object] = {"type": type_, "name": name, "data": {} if data is None else data}
        optional = {"idempotencyKey": idempotency_key, "correlation": correlation, "ttl": ttl, "deliver": deliver}
        stimulus |= {name: value for name, value in optional.items() if value is not None}
        return self.emit_json(json.dumps({**stimulus, "shell": self.shell}))

    def emit_json(self, stimulus: str | bytes) -> Emitted:
        """Emits a stimulus that is JSON text already, as on the topic `stimuli`."""
        headers = {"Idempotency-Key": self._new_id()}
        return from_wire(Emitted, self._send("POST", "/v1/stimuli", content=stimulus, headers=headers))

    def stimuli(
        self,
        *,
        outcome: str | None = None,
        name: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Page[Stimulus]:
        """Stimuli that were routed, the newest first."""
        query = self._query(outcome=outcome, name=name, limit=limit, after=after)
        return from_wire(Page[Stimulus], self._send("GET", "/v1/stimuli", query=query))

    def stimulus(self, stimulus_id: str, *, wait_s: float | None = None, seen: str | None = None) -> StimulusDetail:
        """A stimulus with what it did; with `wait_s` once it was routed, or once it is not as `seen`."""
        return from_wire(
            StimulusDetail, self._get_waiting("/v1/stimuli/" + _part(stimulus_id, "a stimulus's id"), wait_s, seen)
        )

    def dead_letters(
        self, *, reason: str | None = None, limit: int | None = None, after: str | None = None
    ) -> Page[DeadLetter]:
        """Stimuli that could not be routed, the newest first."""
        query = self._query(reason=reason, limit=limit, after=after)
        return from_wire(Page[DeadLetter], self._send("GET", "/v1/dead-letters", query=query))

    def dead_letter(self, dead_letter_id: str) -> DeadLetter:
        """One of them."""
        path = "/v1/dead-letters/" + _part(dead_letter_id, "a dead letter's id")
        return from_wire(DeadLetter, self._send("GET", path))

    # ---- runs -------------------------------------------------------------------------------------------------------

    def runs(
        self,
        *,
        status: str | None = None,
        definition: str | None = None,
        publication: str | None = None,
        unserved: bool = False,
        limit: int | None = None,
        after: str | None = None,
    ) -> Page[Run]:
        """Runs, the newest first; with `unserved` those that no process can serve, the longest waiting first."""
        query = self._query(
            status=status,
            definition=definition,
            publication=publication,
            unserved="true" if unserved else None,
            limit=limit,
            after=after,
        )
        return from_wire(Page[Run], self._send("GET", "/v1/runs", query=query))

    def run(self, execution_id: str, *, wait_s: float | None = None, seen: str | None = None) -> RunDetail:
        """A run; with `wait_s` once it has ended, or once it is not as `seen`."""
        return from_wire(RunDetail, self._get_waiting("/v1/runs/" + _part(execution_id, "a run's id"), wait_s, seen))

    def watch(self, execution_id: str, *, timeout_s: float | None = None) -> Iterator[RunDetail]:
        """A run now, and again whenever something is different, until it has ended or the time is over."""
        deadline = None if timeout_s is None else self._now_s() + timeout_s
        found = self.run(execution_id)
        yield found
        while found.run.status not in ENDED:
            wait_s = WAIT_S_MAX if deadline is None else min(WAIT_S_MAX, deadline - self._now_s())
            if wait_s <= 0:
                return
            latest = self.run(execution_id, wait_s=wait_s, seen=found.mark)
            if latest.mark != found.mark:
                yield latest
            found = latest

    def cancel(
        self,
        execution_id: str,
        *,
        reason: str = "",
        requested_by: str = "",
        command_id: str | None = None,
        wait_s: float = TIMEOUT_S,
    ) -> Cancelled:
        """Asks a run to end; "pending" while an activity that is under way goes on longer than `wait_s`."""
        body = {
            "commandId": command_id or self._new_id(),
            "reason": reason,
            "requestedBy": requested_by,
            "wait": wait_s,
        }
        path = "/v1/runs/" + _part(execution_id, "a run's id") + "/cancel"
        return from_wire(Cancelled, self._send("POST", path, body=body, wait_s=wait_s))

    def counts(self, *, wait_s: float | None = None, seen: str | None = None) -> Counts:
        """How many runs have each status, and stimuli each outcome; with `wait_s` once that is not as `seen`."""
        return from_wire(Counts, self._get_waiting("/v1/counts", wait_s, seen))

    # ---- history and views ------------------------------------------------------------------------------------------

    def history(self, aggregate: str, *, limit: int | None = None, after: str | None = None) -> Page[HistoryEntry]:
        """The events of an aggregate in order: a stream such as `execution:<id>`, an id, or `definition/slot`."""
        query = self._query(limit=limit, after=after)
        # A definition's name may hold a slash; of a slot's name it is taken that it doesn't.
        path = "/".join(_part(part, "an aggregate") for part in aggregate.rsplit("/", 1))
        return from_wire(Page[HistoryEntry], self._send("GET", f"/v1/history/{path}", query=query))

    def projections(self) -> tuple[ViewStatus, ...]:
        """How each view is."""
        return from_wire(Page[ViewStatus], self._send("GET", "/v1/projections")).items

    def projection(self, view: str, *, wait_s: float | None = None, seen: str | None = None) -> ViewStatus:
        """How one view is; with `wait_s` once its last rebuild has ended, or once it is not as `seen`."""
        return from_wire(ViewStatus, self._get_waiting("/v1/projections/" + _part(view, "a view's name"), wait_s, seen))

    def rebuild(self, view: str, *, compare: bool = False) -> Rebuild:
        """Asks whoever projects a view to rebuild it; joins a rebuild that is under way."""
        path = "/v1/projections/" + _part(view, "a view's name") + "/rebuild"
        return from_wire(Rebuild, self._send("POST", path, body={"compare": compare}))

    # ---- health -----------------------------------------------------------------------------------------------------

    def live(self) -> Health:
        """Whether the process is well, from `/health/live`; a "no" is an answer here, not an error."""
        return self._health("/health/live", {}, 0.0)

    def ready(self, *, wait_s: float | None = None) -> Health:
        """Whether the process serves, or will within `wait_s`; a "no" is an answer here, not an error."""
        return self._health("/health/ready", {} if wait_s is None else {"wait": f"{wait_s:g}"}, wait_s or 0.0)

    # ---- within -----------------------------------------------------------------------------------------------------

    def _health(self, path: str, query: dict[str, str], wait_s: float) -> Health:
        answer = self._exchange("GET", path, query, None, {}, wait_s + TIMEOUT_S)
        return from_wire(Health, _json_of(answer, self.base_url))

    def _query(self, **given: str | int | None) -> dict[str, str]:
        query = {name: str(value) for name, value in given.items() if value is not None}
        return query if self.shell == "default" else {**query, "shell": self.shell}

    def _get_waiting(self, path: str, wait_s: float | None, seen: str | None) -> object:
        query = {} if wait_s is None else {"wait": f"{wait_s:g}"}
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


def _part(text: str, what: str) -> str:
    """A part of a path. Raises `BadArgument` for what would be another path, or none."""
    if not text:
        raise BadArgument(f"expected {what}, found none")
    if text in (".", ".."):
        raise BadArgument(f"expected {what}, found {text!r}")
    _check(text, what)
    return quote(text, safe=":")


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
