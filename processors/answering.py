"""Which answer is to which command: an id alone doesn't say, for another command may come under it (`domain.asked`).

Always true: the same command has one answer, whoever sends it; another one under its id, in any shell, has its own.
"""

from collections.abc import Mapping
from dataclasses import replace

from interlock.domain.asked import asked_of, command_of
from interlock.domain.decider import Decision, Intent
from interlock.domain.messages import Reply
from interlock.domain.refusal import Refusal
from interlock.domain.reply import refused


def answered(reply: Reply) -> str:
    """The command that a reply answers, as a book names it."""
    return _named(reply.asked, reply.command_id)


def earlier_answer(answers: Mapping[str, Reply], message: object) -> Reply | None:
    """What a book holds that a command was answered; None also for what is no command."""
    command = command_of(message)
    if command is None:
        return None
    # An answer of before there was a word of what was asked is taken for everybody's who has its id.
    return answers.get(_named(asked_of(command), command.command_id)) or answers.get(_named("", command.command_id))


def with_answer(decided: Decision | Refusal, message: object) -> Decision:
    """What was decided of a message, as a decision whose answer to it says what it asked for.

    Raises `TypeError` for a refusal of what is no command.
    """
    command = command_of(message)
    if command is None:
        if isinstance(decided, Refusal):
            raise TypeError(f"expected only commands to be refused, found {type(message).__name__}: {decided}")
        return decided
    asked = asked_of(command)
    if isinstance(decided, Refusal):
        return Decision((), (Intent("replies", command.command_id, refused(command.command_id, decided, asked)),))

    def told(intent: Intent) -> Intent:
        reply = intent.message
        if not isinstance(reply, Reply) or reply.asked or reply.command_id != command.command_id:
            return intent
        return replace(intent, message=replace(reply, asked=asked))

    return replace(decided, intents=tuple(map(told, decided.intents)))


def _named(asked: str, command_id: str) -> str:
    return f"{asked}:{command_id}"
