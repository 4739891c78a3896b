"""What a publish, a restore or an unpublish would do now. They change nothing, and answer in one shape."""

import asyncio
from typing import Final

from starlette.requests import Request

from interlock.api import answers
from interlock.api.bodies import PreflightBody, PreflightRestoreBody, PreflightUnpublishBody, read_object
from interlock.api.context import Context
from interlock.api.endpoint import Answer
from interlock.api.failures import refused
from interlock.api.pending import known
from interlock.domain.publishing.candidate import Wish
from interlock.domain.publishing.claims.events import Claim as DomainClaim
from interlock.domain.publishing.preflight import Preflight as Outcome
from interlock.domain.publishing.preflight import preflight, preflight_restore, preflight_unpublish
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.refusal import Refusal
from interlock.domain.reply import told_refusal
from interlock.projections.reader import WarmingUp
from interlock.sdk.types import Claim, Conflict, Preflight

REPLICA_WAIT_S: Final = 5.0
"""How long a preflight waits until it knows of everything that was published before it."""


async def of_publish(context: Context, request: Request) -> Answer[Preflight]:
    """What a publish would do now; it changes nothing."""
    body = PreflightBody.model_validate(await read_object(request))
    wish = Wish(
        shell=body.shell,
        slot=body.slot,
        expect_revision=body.expect_revision,
        owner=body.owner_named(),
        take_over=body.take_over,
    )
    outcome = preflight(
        await _current(context),
        wish,
        body.document_text(),
        providers=context.engine.parts.providers,
        host_policy=context.engine.settings.slot_policy,
        validators=context.engine.parts.validators,
        now_ms=context.now_ms(),
    )
    return _answer(outcome)


async def of_restore(context: Context, request: Request) -> Answer[Preflight]:
    """What a restore would do now; it changes nothing."""
    body = PreflightRestoreBody.model_validate(await read_object(request))
    message = body.message(context.now_ms())
    outcome = preflight_restore(
        await _current(context),
        message,
        host_policy=context.engine.settings.slot_policy,
        validators=context.engine.parts.validators,
        now_ms=context.now_ms(),
    )
    return _answer(outcome)


async def of_unpublish(context: Context, request: Request) -> Answer[Preflight]:
    """What an unpublish would do now; it changes nothing."""
    body = PreflightUnpublishBody.model_validate(await read_object(request))
    message = body.message(context.now_ms())
    host_policy = context.engine.settings.slot_policy
    return _answer(preflight_unpublish(await _current(context), message, host_policy=host_policy))


async def _current(context: Context) -> PublishingShard:
    """Publishing as it is now. Raises `WarmingUp`."""
    try:
        async with asyncio.timeout(REPLICA_WAIT_S):
            await context.engine.replica.current()
    except TimeoutError as error:
        raise WarmingUp("the replica of publishing has not read to the end of the journal") from error
    return known(context)


def _answer(outcome: Outcome | Refusal) -> Answer[Preflight]:
    if isinstance(outcome, Refusal):
        raise refused(told_refusal(outcome))
    return Answer(200, _outcome(outcome))


def _outcome(outcome: Outcome) -> Preflight:
    return Preflight(
        action=outcome.action,
        definition_id=outcome.definition_id,
        slot_id=outcome.slot_id,
        slot_name=outcome.slot_name,
        policy_source=outcome.policy_source,
        artifact_id=outcome.artifact_id,
        version=outcome.version,
        expected_revision=outcome.expected_revision,
        found_revision=outcome.found_revision,
        replaces=outcome.replaces,
        added=tuple(map(_claim, outcome.added)),
        removed=tuple(map(_claim, outcome.removed)),
        retained=tuple(map(_claim, outcome.retained)),
        owner=answers.owner(outcome.owner),
        found_owner=answers.owner(outcome.found_owner),
        beside=outcome.beside,
        warnings=outcome.warnings,
        restores=outcome.restores,
        conflicts=tuple(
            Conflict(
                claim=each.claim,
                node_id=each.node_id,
                definition_id=each.claimant.definition_id,
                slot_id=each.claimant.slot_id,
                slot_name=each.claimant.slot_name,
                publication_id=each.claimant.publication_id,
                claimant_node_id=each.claimant.node_id,
                cardinality=each.claimant.cardinality,
            )
            for each in outcome.conflicts
        ),
    )


def _claim(claim: DomainClaim) -> Claim:
    return Claim(claim=claim.claim, cardinality=claim.cardinality, node_id=claim.node_id)
