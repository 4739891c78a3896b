"""Stimuli: taking them in, and what became of them."""

from collections.abc import Sequence
from typing import Final, get_args

from starlette.requests import Request

from interlock.api import answers
from interlock.api.bodies import (
    BODY_BYTES_MAX,
    choice_of,
    read_bytes,
    shell_of,
    wait_of,
)
from interlock.api.context import Context
from interlock.api.endpoint import Answer, marked
from interlock.api.failures import Failure, invalid, not_found
from interlock.api.paging import PageRequest, page_of, page_request
from interlock.domain.messages import Origin, RejectStimulus
from interlock.domain.routing.intake import read_stimulus
from interlock.projections.stimuli.query import cursor_of
from interlock.projections.stimuli.store import DeadLetterRow, Outcome, StimulusRow
from interlock.sdk.types import DeadLetter, Emitted, Page, Stimulus, StimulusDetail

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
REASONS: Final = ("unreadable", "unknown-type", "too-large", "invalid", "conflict")
REQUEST_ID_CHARACTERS_MAX: Final = 200
VIEW: Final = "stimuli"


async def emit(context: Context, request: Request) -> Answer[Emitted]:
    """Takes a stimulus, in the form of the topic `stimuli`; answers once it is durable.

    The header `Idempotency-Key` names the request, so that one that is repeated gives the same stimulus; the field
    `idempotencyKey` of the body names what happened, whoever tells of it.
    """
    engine = context.engine
    request_id = request.headers.get("idempotency-key") or engine.parts.ids()
    if len(request_id) > REQUEST_ID_CHARACTERS_MAX:
        raise invalid(f"Expected an Idempotency-Key of at most {REQUEST_ID_CHARACTERS_MAX} characters, found more.")
    message = read_stimulus(
        await read_bytes(request, max(BODY_BYTES_MAX, engine.settings.stimulus_bytes_max)),
        origin=Origin(channel="http"),
        arrived_at_ms=context.now_ms(),
        shell=shell_of(request),
        bytes_max=engine.settings.stimulus_bytes_max,
        request_id=request_id,
    )
    if isinstance(message, RejectStimulus):
        status, kind = (413, "too-large") if message.reason == "too-large" else (400, "invalid")
        raise Failure(status, kind, f"{message.detail}.", {"reason": message.reason})
    at_least = await engine.gateway.emit(message)
    return Answer(202, Emitted(stimulus_id=message.stimulus_id, at_least=at_least))


async def stimuli(context: Context, request: Request) -> Answer[Page[Stimulus]]:
    """Stimuli that were routed, the newest first."""
    asked, shell, name = page_request(request), shell_of(request), request.query_params.get("name")
    outcome: Outcome | None = choice_of(request, "outcome", OUTCOMES)

    def look(part: PageRequest) -> Sequence[StimulusRow]:
        return context.queries.stimuli.stimuli(shell, outcome=outcome, name=name, after=part.after, limit=part.limit)

    return await page_of(context, VIEW, asked, look, answers.stimulus, cursor_of)


async def stimulus(context: Context, request: Request) -> Answer[StimulusDetail]:
    """A stimulus with what it did; with `wait` once it was routed, or once it is not as `seen`."""
    identity, seen = request.path_params["stimulus_id"], request.query_params.get("seen")

    async def look() -> StimulusDetail:
        found = await context.ask(lambda: context.queries.stimuli.stimulus(identity))
        if found is None:
            raise not_found(
                f"Expected a stimulus {identity!r} that was routed, found none; "
                "`interlock stimuli list` and `interlock dead-letters list` show all."
            )
        return marked(answers.stimulus_detail(found))

    return Answer(200, await context.until((VIEW,), wait_of(request), look, lambda found: found.mark != seen))


async def dead_letters(context: Context, request: Request) -> Answer[Page[DeadLetter]]:
    """Stimuli that could not be routed, the newest first."""
    asked, shell, reason = page_request(request), shell_of(request), choice_of(request, "reason", REASONS)

    def look(part: PageRequest) -> Sequence[DeadLetterRow]:
        return context.queries.stimuli.dead_letters(shell, reason=reason, after=part.after, limit=part.limit)

    return await page_of(context, VIEW, asked, look, answers.dead_letter, cursor_of)


async def dead_letter(context: Context, request: Request) -> Answer[DeadLetter]:
    """A stimulus that could not be routed, with the reason and where it came from."""
    identity = request.path_params["dead_letter_id"]

    async def look() -> DeadLetter:
        found = await context.ask(lambda: context.queries.stimuli.dead_letter(identity))
        if found is None:
            raise not_found(
                f"Expected a dead letter {identity!r}, found none; `interlock dead-letters list` shows all."
            )
        return answers.dead_letter(found)

    return Answer(200, await context.until((VIEW,), None, look, lambda _: True))
