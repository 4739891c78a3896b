"""Answers to commands: how results and refusals become a `Reply`."""

import json

from interlock.domain.messages import Reply
from interlock.domain.refusal import Refusal


def refused(command_id: str, refusal: Refusal) -> Reply:
    """The answer that says why nothing was done."""
    body = {"kind": refusal.kind, "message": refusal.sentence, "details": dict(refusal.details)}
    return Reply(command_id=command_id, status="refused", body=json.dumps(body, ensure_ascii=False, sort_keys=True))
