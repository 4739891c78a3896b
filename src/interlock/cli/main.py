"""The program `interlock`: its verbs, and what every one of them ends with.

Only Typer is imported here; each verb imports what it needs when it runs, so that `--help` and completion are quick.
What a user did wrong ends in a sentence on stderr and an exit code (`interlock.cli.codes`), never in a traceback.
"""

import errno
import json
import os
import sys
from typing import Final, NoReturn

import typer

from interlock.cli import client_commands, log_commands, serve_commands
from interlock.cli.address import unknown_variables
from interlock.cli.codes import Code, CommandError

OUTPUT_FAILS: Final = (errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EIO)
"""What writing to standard output ends with: its reader has gone (which needs no words), or there is no room."""

HELP = """Interlock: an event-sourced workflow engine on a durable log.

Exit codes: 0 done · 1 refused or failed · 2 usage · 3 pending · 4 unreachable.

Settings: flags beat the environment (INTERLOCK_LOG, INTERLOCK_DATA, INTERLOCK_API, …), and it beats interlock.toml."""

app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
serve_commands.add_to(app)
client_commands.add_to(app)
log_commands.add_to(app)


def main() -> NoReturn:
    """The entry point."""
    if sys.stdout is None and sys.argv[1:2] not in (["up"], ["serve"]):
        # Python's way to say that it was closed; what these print would be dropped silently.
        print("interlock: expected a standard output to write to, found it closed", file=sys.stderr)
        sys.exit(Code.FAILED)
    for sentence in unknown_variables():
        print(f"interlock: {_printable(sentence)}", file=sys.stderr)
    code: str | int | None = Code.DONE
    try:
        try:
            app()
        except SystemExit as end:
            code = end.code
        except CommandError as error:
            code = _tell(error)
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in OUTPUT_FAILS:
            raise
        if error.errno != errno.EPIPE:
            print(f"interlock: expected to write the output, found: {error.strerror}", file=sys.stderr)
        # Nothing that is written now arrives, the last flush at the exit included.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = Code.FAILED
    sys.exit(code)


def _tell(error: CommandError) -> Code:
    print(f"interlock: {_printable(error.message)}", file=sys.stderr)
    if "--json" in sys.argv:
        told = {"kind": error.kind, "message": error.message, "details": error.details, **error.more}
        print(json.dumps(told))
    return error.code


def _printable(message: str) -> str:
    """A message that does nothing to the terminal; it may quote what somebody else wrote. Its lines are ours."""
    from interlock.cli.output import clean

    return "\n".join(clean(line) for line in message.split("\n"))


if __name__ == "__main__":
    main()
