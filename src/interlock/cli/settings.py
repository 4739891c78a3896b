"""The settings of a process: flags over the environment over `interlock.toml`."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_settings import SettingsError

from interlock.cli.codes import Code, CommandError, usage
from interlock.log.port import LogError, WrongLog
from interlock.runtime.settings import Settings


def load(
    *, log: str = "", data: Path | None = None, app: Sequence[str] | None = None, port: int | None = None
) -> Settings:
    """The settings, with what flags say in place. Raises `CommandError`."""
    flags: dict[str, object] = {}
    if log:
        flags["log"] = log
    if data is not None:
        flags["data"] = data
    if app:
        flags["app"] = tuple(app)
    try:
        settings = Settings.model_validate({}) if not flags else Settings(**flags)  # type: ignore[arg-type] # by name
        if port is None:
            return settings
        return settings.model_copy(update={"api": with_port(settings.api, port)})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise usage(
            f"expected settings as interlock.toml, INTERLOCK_… and flags may give them, found for {name!r}: "
            f"{first['msg']}"
        ) from error
    except (SettingsError, ValueError, OSError) as error:
        raise usage(f"expected settings that can be read, found: {error}") from error


def with_port(address: str, port: int) -> str:
    """The address with another port."""
    host = api_host_port(address)[0]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def api_host_port(address: str) -> tuple[str, int]:
    """Where the API listens. Raises `CommandError`."""
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme != "http" or not parts.hostname or port is None or parts.path.strip("/"):
        raise usage(f"expected the API's address as http://host:port, found {address!r}; see INTERLOCK_API")
    return parts.hostname, port


def log_problem(settings: Settings, error: Exception) -> CommandError:
    """How a log that can't be used ends a command: only one that may answer later is unreachable."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return usage(f"the log at {shown_log(settings)}: {first['msg'].removeprefix('Value error, ')}")
    if isinstance(error, WrongLog):
        return CommandError(Code.FAILED, str(error), kind="state")
    if isinstance(error, LogError):
        return CommandError(Code.UNREACHABLE, f"the log can't be used: {error}", kind="unreachable")
    if isinstance(error, OSError):
        return CommandError(
            Code.UNREACHABLE,
            f"expected a log at {shown_log(settings)}, found: {error}; see --log and --data",
            kind="unreachable",
        )
    return usage(f"the log at {shown_log(settings)}: {error}")


def shown_log(settings: Settings) -> str:
    """The log's address without what is secret in it."""
    before, at, behind = settings.log_url.rpartition("@")
    return f"{before.partition('://')[0]}://…@{behind}" if at else behind
