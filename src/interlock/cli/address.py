"""Where the API is, found without the settings' machinery, which takes longer to load than a request does."""

import os
from pathlib import Path

from interlock.cli.codes import usage

API_DEFAULT = "http://127.0.0.1:8321"
"""The same as `Settings.api`; a test holds them together."""


def find_api(flag: str) -> str:
    """The flag, else `INTERLOCK_API`, else `api` of `interlock.toml`, else the default."""
    if found := flag or os.environ.get("INTERLOCK_API", ""):
        return found
    import tomllib

    path = Path("interlock.toml")
    try:
        found = tomllib.loads(path.read_text("utf-8")).get("api", API_DEFAULT)
    except FileNotFoundError:
        return API_DEFAULT
    except (OSError, ValueError) as error:
        raise usage(f"expected TOML in {path.absolute()}, found: {error}") from error
    if not isinstance(found, str):
        raise usage(f"expected api in {path.absolute()} as text, found {found!r}")
    return found
