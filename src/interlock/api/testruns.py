"""Test runs: runs of what no slot selects (PUB-17)."""

from typing import cast

from starlette.requests import Request

from interlock.api.bodies import TestRunBody, document_text, read_object
from interlock.api.context import Context
from interlock.api.endpoint import Answer
from interlock.api.failures import Failure, invalid, refused
from interlock.domain.messages import StartTestRun
from interlock.domain.publishing.reference.decide import reference_of, run_of
from interlock.domain.routing.json_text import JsonValue, canonical
from interlock.sdk.types import StartedTestRun
from interlock.sdk.wire import from_wire


async def start(context: Context, request: Request) -> Answer[StartedTestRun]:
    """Starts a run of a document, a version or an earlier test run's reference; 202 while its answer is still to come.

    The run is pinned to what was compiled. No slot, claim or binding has a part in it, and none changes.
    """
    engine = context.engine
    body = TestRunBody.model_validate(await read_object(request))
    message = _message(context, body)
    wait_s = engine.settings.publish_wait_s if body.wait is None else body.wait
    answer = await engine.gateway.start_test_run(message, wait_s)
    if answer.status == "done":
        told = {**answer.body, "commandId": message.command_id, "atLeast": answer.at_least}
        return Answer(200, from_wire(StartedTestRun, told))
    if answer.status == "pending":
        pending = StartedTestRun(
            status="pending",
            command_id=message.command_id,
            execution_id=run_of(message.shell, message.command_id),
            reference_id=message.reference_id or reference_of(message.shell, message.command_id),
            at_least=answer.at_least,
        )
        return Answer(202, pending)
    raise refused(answer.body, commandId=message.command_id)


def _message(context: Context, body: TestRunBody) -> StartTestRun:
    """What is asked of publishing. Raises `Failure`."""
    named = (body.document is not None, body.version is not None, body.reference is not None)
    if sum(named) != 1 or (body.version is None) != (body.definition is None):
        raise invalid(
            "Expected exactly one of `document`, `definition` with `version`, and `reference`, found "
            f"{'several of them, or one that is not whole' if any(named) else 'none'}."
        )
    data = canonical(cast("JsonValue", body.data))
    size, size_max = len(data.encode("utf-8")), context.engine.settings.stimulus_bytes_max
    if size > size_max:
        raise Failure(413, "too-large", f"Expected data of at most {size_max} bytes, found {size}.")
    return StartTestRun(
        command_id=body.command_id or context.engine.parts.ids(),
        shell=body.shell,
        document="" if body.document is None else document_text(body.document),
        definition_id=body.definition or "",
        version=body.version or "",
        reference_id=body.reference or "",
        data=data,
        requested_by=body.requested_by,
        requested_at_ms=context.now_ms(),
    )
