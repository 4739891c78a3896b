"""The answers to those who asked an execution to end: a function of the command and of how the execution ended.

So a command that comes again is answered alike, whether the execution is still known whole or by its summary.
"""

import json

from interlock.domain.decider import Intent
from interlock.domain.executions.execution.state import TerminalStatus
from interlock.domain.messages import Reply


def cancelled(execution_id: str, command_id: str) -> Intent:
    """It has ended by request."""
    body = {"executionId": execution_id, "status": "cancelled"}
    return _reply(Reply(command_id=command_id, status="done", body=json.dumps(body)))


def ended_before(execution_id: str, command_id: str, status: TerminalStatus) -> Intent:
    """It had ended before it was asked to."""
    message = f"Expected run {execution_id!r} to be under way, found it {status}; a run that has ended stays as it is."
    return _refused("state", command_id, message, {"executionId": execution_id, "status": status})


def not_found(execution_id: str, command_id: str) -> Intent:
    """No such execution is here."""
    message = f"Expected a run {execution_id!r}, found none; `interlock runs list` shows those that there are."
    return _refused("not-found", command_id, message, {"executionId": execution_id})


def _refused(kind: str, command_id: str, message: str, details: dict[str, str]) -> Intent:
    body = {"kind": kind, "message": message, "details": details}
    return _reply(Reply(command_id=command_id, status="refused", body=json.dumps(body)))


def _reply(reply: Reply) -> Intent:
    return Intent("replies", reply.command_id, reply)
