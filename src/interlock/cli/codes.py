"""Exit codes, and errors that end a command with one of them and a sentence."""

from enum import IntEnum


class Code(IntEnum):
    """What a script may rely on."""

    DONE = 0
    FAILED = 1
    """Refused, or failed."""
    USAGE = 2
    """The command line itself is wrong."""
    PENDING = 3
    """It was taken, and its end is still to come."""
    UNREACHABLE = 4
    """The API or the log could not be reached, or can't answer yet; the same command may be given again."""


class CommandError(Exception):
    """Ends a command; the message says what was expected, found, and what to do."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        kind: str = "failed",
        details: dict[str, str] | None = None,
        more: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.kind = kind
        self.details = details or {}
        self.more = more or {}
        """What `--json` tells besides, by name: `faults`, `conflicts`."""


def usage(message: str) -> CommandError:
    """The command line is wrong."""
    return CommandError(Code.USAGE, message, kind="invalid")
