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
from collections.abc import Iterator

from interlock.sdk.auditing import Auditing
from interlock.sdk.connection import TIMEOUT_S, TRIES_MAX, WAIT_S_MAX, ApiError, BadArgument, Unreachable, id_part, part
from interlock.sdk.publishing import Publishing
from interlock.sdk.types import (
    ENDED,
    Cancelled,
    Counts,
    DeadLetter,
    Emitted,
    Health,
    HistoryEntry,
    Page,
    Rebuild,
    Run,
    RunDetail,
    StartedTestRun,
    Stimulus,
    StimulusDetail,
    ViewStatus,
)
from interlock.sdk.wire import WireError, from_wire

__all__ = ["TIMEOUT_S", "TRIES_MAX", "WAIT_S_MAX", "ApiError", "BadArgument", "Client", "Unreachable", "WireError"]


class Client(Publishing, Auditing):
    """A connection to one API; to be closed, or used in a `with`. Every verb raises `ApiError` and
    `Unreachable`, and `BadArgument` for an id that no path can hold."""

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
        test_run: str | None = None,
        request_id: str | None = None,
    ) -> Emitted:
        """Emits a stimulus; returns once it is durable.

        `test_run` names the one test run that it is for; then nothing else meets it.

        `request_id` names this attempt where the stimulus has no idempotency key: whoever gets `unavailable` doesn't
        know whether it was taken, and says it again under the same id. A fresh one is made up where none is given.
        """
        stimulus: dict[str, object] = {"type": type_, "name": name, "data": {} if data is None else data}
        optional = {"idempotencyKey": idempotency_key, "correlation": correlation, "ttl": ttl, "deliver": deliver}
        optional["testRun"] = test_run
        stimulus |= {name: value for name, value in optional.items() if value is not None}
        return self.emit_json(json.dumps({**stimulus, "shell": self.shell}), request_id=request_id)

    def emit_json(self, stimulus: str | bytes, *, request_id: str | None = None) -> Emitted:
        """Emits a stimulus that is JSON text already, as on the topic `stimuli`; `request_id` as for `emit`."""
        headers = {"Idempotency-Key": request_id or self._new_id()}
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
            StimulusDetail, self._get_waiting("/v1/stimuli/" + id_part(stimulus_id, "a stimulus's id"), wait_s, seen)
        )

    def dead_letters(
        self, *, reason: str | None = None, limit: int | None = None, after: str | None = None
    ) -> Page[DeadLetter]:
        """Stimuli that could not be routed, the newest first."""
        query = self._query(reason=reason, limit=limit, after=after)
        return from_wire(Page[DeadLetter], self._send("GET", "/v1/dead-letters", query=query))

    def dead_letter(self, dead_letter_id: str) -> DeadLetter:
        """One of them."""
        path = "/v1/dead-letters/" + id_part(dead_letter_id, "a dead letter's id")
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
        return from_wire(RunDetail, self._get_waiting("/v1/runs/" + id_part(execution_id, "a run's id"), wait_s, seen))

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

    def test_run(
        self,
        document: str | None = None,
        *,
        definition: str | None = None,
        version: str | None = None,
        reference: str | None = None,
        data: object = None,
        requested_by: str = "",
        command_id: str | None = None,
        wait_s: float = TIMEOUT_S,
    ) -> StartedTestRun:
        """Starts a run of what no slot selects: of a document (JSON text), of a version of a definition, or of the
        reference of an earlier test run that has not expired. `data` is its input."""
        body: dict[str, object] = {
            "document": document,
            "definition": definition,
            "version": version,
            "reference": reference,
            "data": dict[str, object]() if data is None else data,
            "shell": self.shell,
            "commandId": command_id or self._new_id(),
            "requestedBy": requested_by,
            "wait": wait_s,
        }
        return from_wire(StartedTestRun, self._send("POST", "/v1/test-runs", body=body, wait_s=wait_s))

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
        path = "/v1/runs/" + id_part(execution_id, "a run's id") + "/cancel"
        return from_wire(Cancelled, self._send("POST", path, body=body, wait_s=wait_s))

    def counts(self, *, wait_s: float | None = None, seen: str | None = None) -> Counts:
        """How many runs have each status, and stimuli each outcome; with `wait_s` once that is not as `seen`."""
        return from_wire(Counts, self._get_waiting("/v1/counts", wait_s, seen))

    # ---- history and views ------------------------------------------------------------------------------------------

    def history(self, aggregate: str, *, limit: int | None = None, after: str | None = None) -> Page[HistoryEntry]:
        """The events of an aggregate in order: a stream such as `execution:<id>`, an id, or `definition/slot`."""
        query = self._query(limit=limit, after=after)
        # A definition's name may hold a slash; of a slot's name it is taken that it doesn't.
        path = "/".join(part(each, "an aggregate") for each in aggregate.rsplit("/", 1))
        return from_wire(Page[HistoryEntry], self._send("GET", f"/v1/history/{path}", query=query))

    def projections(self) -> tuple[ViewStatus, ...]:
        """How each view is."""
        return from_wire(Page[ViewStatus], self._send("GET", "/v1/projections")).items

    def projection(self, view: str, *, wait_s: float | None = None, seen: str | None = None) -> ViewStatus:
        """How one view is; with `wait_s` once its last rebuild has ended, or once it is not as `seen`."""
        return from_wire(ViewStatus, self._get_waiting("/v1/projections/" + part(view, "a view's name"), wait_s, seen))

    def rebuild(self, view: str, *, compare: bool = False) -> Rebuild:
        """Asks whoever projects a view to rebuild it; joins a rebuild that is under way."""
        path = "/v1/projections/" + part(view, "a view's name") + "/rebuild"
        return from_wire(Rebuild, self._send("POST", path, body={"compare": compare}))

    # ---- health -----------------------------------------------------------------------------------------------------

    def live(self) -> Health:
        """Whether the process is well, from `/health/live`; a "no" is an answer here, not an error."""
        return self._health("/health/live", {}, 0.0)

    def ready(self, *, wait_s: float | None = None) -> Health:
        """Whether the process serves, or will within `wait_s`; a "no" is an answer here, not an error."""
        return self._health("/health/ready", {} if wait_s is None else {"wait": f"{wait_s:g}"}, wait_s or 0.0)
