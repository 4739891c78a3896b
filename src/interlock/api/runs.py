"""Runs: what they do, and asking them to end."""

from collections.abc import Sequence
from typing import Final, get_args

from starlette.requests import Request

from interlock.api import answers
from interlock.api.bodies import (
    CancelBody,
    choice_of,
    flag_of,
    read_object,
    shell_of,
    wait_of,
)
from interlock.api.context import Context
from interlock.api.endpoint import Answer, marked
from interlock.api.failures import not_found, refused
from interlock.api.paging import PageRequest, page_of, page_request
from interlock.domain.messages import CancelExecution
from interlock.projections.executions.query import cursor_of
from interlock.projections.executions.store import ExecutionRow
from interlock.sdk.types import ENDED, Cancelled, Counts, Page, Run, RunDetail, RunStatus

STATUSES: Final[tuple[RunStatus, ...]] = get_args(RunStatus)
VIEW: Final = "executions"


async def runs(context: Context, request: Request) -> Answer[Page[Run]]:
    """Runs, the newest first; with `unserved` those that no process can serve, the longest waiting first."""
    query, shell, asked = request.query_params, shell_of(request), page_request(request)
    status: RunStatus | None = choice_of(request, "status", STATUSES)
    executions, now_ms = context.queries.executions, context.now_ms()
    if flag_of(request, "unserved"):
        unserved = await context.ask(lambda: executions.unserved(shell, limit=asked.limit))
        await context.require_caught_up(VIEW)
        return Answer(200, Page(items=tuple(answers.run(row, now_ms) for row in unserved), next=None))

    def look(part: PageRequest) -> Sequence[ExecutionRow]:
        return executions.executions(
            shell,
            status=status,
            definition_id=query.get("definition"),
            publication_id=query.get("publication"),
            after=part.after,
            limit=part.limit,
        )

    return await page_of(context, VIEW, asked, look, lambda row: answers.run(row, now_ms), cursor_of)


async def run(context: Context, request: Request) -> Answer[RunDetail]:
    """A run with its steps; with `wait` once it has ended, or once it is not as `seen`."""
    identity, seen = request.path_params["execution_id"], request.query_params.get("seen")

    async def look() -> RunDetail:
        found = await context.ask(lambda: context.queries.executions.execution(identity))
        if found is None:
            raise not_found(
                f"Expected a run {identity!r}, found none; `interlock runs list` shows those that there are."
            )
        return marked(answers.run_detail(found, context.now_ms()), answers.run_detail(found, 0))

    def enough(found: RunDetail) -> bool:
        return found.mark != seen if seen is not None else found.run.status in ENDED

    return Answer(200, await context.until((VIEW,), wait_of(request), look, enough))


async def cancel(context: Context, request: Request) -> Answer[Cancelled]:
    """Asks a run to end; 202 while an activity that is under way goes on, or the answer is still to come."""
    identity = request.path_params["execution_id"]
    body = CancelBody.model_validate(await read_object(request))
    command_id = body.command_id or context.engine.parts.ids()
    message = CancelExecution(
        command_id=command_id, execution_id=identity, requested_by=body.requested_by, reason=body.reason
    )
    answer = await context.engine.gateway.cancel(message, body.wait)
    if answer.status == "pending":
        pending = Cancelled(status="pending", command_id=command_id, execution_id=identity, at_least=answer.at_least)
        return Answer(202, pending)
    if answer.status == "done":
        done = Cancelled(status="cancelled", command_id=command_id, execution_id=identity, at_least=answer.at_least)
        return Answer(200, done)
    raise refused(answer.body, commandId=command_id)


async def counts(context: Context, request: Request) -> Answer[Counts]:
    """How many runs have each status and stimuli each outcome; with `wait` once that is not as `seen`."""
    shell, seen = shell_of(request), request.query_params.get("seen")
    queries = context.queries

    async def look() -> Counts:
        await context.require_caught_up(VIEW)
        await context.require_caught_up("stimuli")
        found = await context.ask(
            lambda: Counts(runs=queries.executions.count(shell), stimuli=queries.stimuli.count(shell))
        )
        return marked(found)

    return Answer(200, await context.until((VIEW, "stimuli"), wait_of(request), look, lambda each: each.mark != seen))
