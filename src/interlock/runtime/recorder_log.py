"""Opens the log for the recorders of the `eventsourcing` library (`interlock.log.recorder`), which name this function.

The settings are the engine's. What the library's environment holds beats the process's environment and
`interlock.toml`, because the library lets each application have values of its own there.
"""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from eventsourcing.persistence import InfrastructureFactoryError

from interlock.log.recorder.host import OpenedLog
from interlock.runtime.compose import open_backend, schemas
from interlock.runtime.settings import Settings

NAMES = ("log", "blobs", "data", "prefix", *(name for name in Settings.model_fields if name.startswith("kafka_")))
"""The settings that say where a log is and how to reach it."""


def open_recorder_log(get: Callable[[str], str | None]) -> OpenedLog:
    """The log of the settings that `get` knows by `INTERLOCK_<NAME>`; call it on the loop that uses the log.

    Raises `InfrastructureFactoryError` where the settings name no log that can be opened.
    """
    given = {name: value for name in NAMES if (value := get(f"INTERLOCK_{name.upper()}")) is not None}
    try:
        settings = Settings.model_validate(given)
        backend = open_backend(settings)
    except (ValueError, OSError) as error:
        raise InfrastructureFactoryError(str(error)) from error
    prefix = parse_qs(urlsplit(settings.log_url).query).get("prefix", [settings.prefix])[-1]
    kept = not settings.log_url.startswith("memory:")
    data = settings.data / "apps" if kept else None
    return OpenedLog(log=backend.log, admin=backend.admin, prefix=prefix, data=data, schemas=schemas())
