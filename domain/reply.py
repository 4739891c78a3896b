"""Answers to commands: how results and refusals become a `Reply`, the same text for the same answer."""

import json

from interlock.domain.messages import Reply
from interlock.domain.refusal import Refusal


def body(result: dict[str, object]) -> str:
    """The JSON object of an answer; equal results give equal text."""
    return json.dumps(result, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def refused(command_id: str, refusal: Refusal) -> Reply:
    """The answer to a command that was turned down: what was expected and found, and the ids."""
    told: dict[str, object] = {
        "kind": refusal.kind,
        "message": refusal.sentence,
        "details": dict(refusal.details),
    }
    return Reply(command_id=command_id, status="refused", body=body(told))
