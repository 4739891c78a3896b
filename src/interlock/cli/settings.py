"""The settings of a process: flags over the environment over `interlock.toml`."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_settings import SettingsError

from interlock.cli.codes import CommandError, usage
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


def not_fit(error: Exception) -> CommandError:
    """A process that must not start."""
    from interlock.cli.codes import Code

    return CommandError(Code.FAILED, str(error))
