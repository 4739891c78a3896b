"""The program `interlock`: its verbs, and what every one of them ends with.

Only Typer is imported here; each verb imports what it needs when it runs, so that `--help` and completion are quick.
What a user did wrong ends in a sentence on stderr and an exit code (`interlock.cli.codes`), never in a traceback.
"""

import json
import os
import sys
from typing import NoReturn

import typer

from interlock.cli import client_commands, log_commands, serve_commands
from interlock.cli.codes import Code, CommandError

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
    try:
        app()
    except CommandError as error:
        _end(error)
    except BrokenPipeError:
        # Whoever read the output has gone; nothing that is written now arrives, the last flush at the exit included.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Code.FAILED)
    sys.exit(Code.DONE)


def _end(error: CommandError) -> NoReturn:
    print(f"interlock: {_printable(error.message)}", file=sys.stderr)
    if "--json" in sys.argv:
        print(json.dumps({"kind": error.kind, "message": error.message, "details": error.details}))
    sys.exit(error.code)


def _printable(message: str) -> str:
    """A message that does nothing to the terminal; it may quote what somebody else wrote. Its lines are ours."""
    from interlock.cli.output import clean

    return "\n".join(clean(line) for line in message.split("\n"))


if __name__ == "__main__":
    main()
