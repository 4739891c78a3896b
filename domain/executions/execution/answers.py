"""The answers to those who asked an execution to end: a function of the command and of how the execution ended.

So a command that comes again is answered alike, whether the execution is still known whole or by its summary.
"""

from interlock.domain.asked import asked_of
from interlock.domain.decider import Intent
from interlock.domain.executions.execution.state import TerminalStatus
from interlock.domain.messages import CancelExecution, Reply
from interlock.domain.refusal import Refusal
from interlock.domain.reply import body, refused


def cancelled(execution_id: str, command_id: str) -> Intent:
    """It has ended by request."""
    told: dict[str, object] = {"executionId": execution_id, "status": "cancelled"}
    # Who asked is answered later, when the message itself is gone; who it was, and why, is no part of what was asked.
    command = CancelExecution(command_id=command_id, execution_id=execution_id, requested_by="", reason="")
    return _reply(Reply(command_id=command_id, status="done", body=body(told), asked=asked_of(command)))


def ended_before(command: CancelExecution, status: TerminalStatus) -> Intent:
    """It had ended before it was asked to."""
    run = command.execution_id
    message = f"Expected run {run!r} to be under way, found it {status}; a run that has ended stays as it is."
    return _refused(command, Refusal("state", message, (("executionId", run), ("status", status))))


def not_found(command: CancelExecution) -> Intent:
    """No such execution is here."""
    run = command.execution_id
    message = f"Expected a run {run!r}, found none; `interlock runs list` shows those that there are."
    return _refused(command, Refusal("not-found", message, (("executionId", run),)))


def _refused(command: CancelExecution, refusal: Refusal) -> Intent:
    # It says itself what was asked: what a coalesced run decides is gathered before its shard adds that to answers.
    return _reply(refused(command.command_id, refusal, asked_of(command)))


def _reply(reply: Reply) -> Intent:
    return Intent("replies", reply.command_id, reply)
