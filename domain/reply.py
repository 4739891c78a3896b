"""Answers to commands: how results and refusals become a `Reply`, the same text for the same answer."""

import json
from typing import Protocol

from interlock.domain.messages import Reply
from interlock.domain.refusal import Refusal


class Described(Protocol):
    """A fault, as refusals have it or as it is stored."""

    @property
    def code(self) -> str:
        """What kind of fault."""
        ...

    @property
    def where(self) -> str:
        """Its place."""
        ...

    @property
    def expected(self) -> str:
        """What was expected there."""
        ...

    @property
    def found(self) -> str:
        """What was found there."""
        ...


def body(result: dict[str, object]) -> str:
    """The JSON object of an answer; equal results give equal text."""
    return json.dumps(result, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def refused(command_id: str, refusal: Refusal, asked: str = "") -> Reply:
    """The answer to a command that was turned down; `asked` is what it asked for."""
    return Reply(command_id=command_id, status="refused", body=body(told_refusal(refusal)), asked=asked)


def told_refusal(refusal: Refusal) -> dict[str, object]:
    """A refusal as answers hold it: what was expected and found, the ids, and what is wrong one by one."""
    told: dict[str, object] = {
        "kind": refusal.kind,
        "message": refusal.sentence,
        "details": dict(refusal.details),
    }
    if refusal.faults:
        told["faults"] = [told_fault(each) for each in refusal.faults]
    return told


def told_fault(fault: Described) -> dict[str, str]:
    """A fault as answers hold it."""
    return {"code": fault.code, "where": fault.where, "expected": fault.expected, "found": fault.found}
