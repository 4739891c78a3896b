"""Asking the API: a client whose errors become the end of the command, and what commands say of who gives them."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from interlock.cli.address import find_api
from interlock.cli.codes import Code, CommandError, usage

if TYPE_CHECKING:
    from interlock.sdk import Client


_CODES: Final = {503: Code.UNREACHABLE, 504: Code.PENDING}


@contextmanager
def asking(api: str, shell: str, at_least: str = "") -> "Generator[Client, None, None]":
    """A client; what it raises becomes the end of the command. `at_least` is what its answers have to know of."""
    from interlock.sdk import ApiError, BadArgument, Client, Unreachable, WireError
    from interlock.sdk.wire import to_wire

    if not shell:
        raise usage("expected a name for --shell, found ''; leave it out for the shell 'default'")
    try:
        with Client(find_api(api), shell=shell) as client:
            yield client.at_least(at_least) if at_least else client
    except BadArgument as error:
        raise usage(str(error)) from error
    except ApiError as error:
        code = _CODES.get(error.status, Code.FAILED)
        more: dict[str, object] = {
            name: to_wire(items) for name, items in (("faults", error.faults), ("conflicts", error.conflicts)) if items
        }
        raise CommandError(code, error.message, kind=error.kind, details=error.details, more=more) from error
    except Unreachable as error:
        raise CommandError(Code.UNREACHABLE, str(error), kind="unreachable") from error
    except WireError as error:
        raise CommandError(Code.UNREACHABLE, str(error), kind="unreachable") from error


def user() -> str:
    """Who gives a command, as the system knows them; "" where it doesn't."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
