"""Where the API is, found without the settings' machinery, which takes longer to load than a request does."""

import os
from pathlib import Path
from typing import Final

from interlock.cli.codes import usage

API_DEFAULT = "http://127.0.0.1:8321"
"""The same as `Settings.api`; a test holds them together."""
SETTINGS: Final = frozenset(
    [
        "log",
        "data",
        "blobs",
        "api",
        "app",
        "prefix",
        "routing_shards",
        "executions_shards",
        "stimuli_partitions",
        "checkpoints",
        "coalesce_wait_ms",
        "stimulus_bytes_max",
        "output_bytes_max",
        "slot_policy",
        "prepare_ms",
        "test_reference_s",
        "max_clock_skew_ms",
        "dedup_horizon_s",
        "session_timeout_ms",
        "reconcile_s",
        "backlog_max_s",
        "publish_wait_s",
        "kafka_security_protocol",
        "kafka_sasl_mechanism",
        "kafka_username",
        "kafka_password",
        "kafka_ca_file",
        "kafka_cert_file",
        "kafka_key_file",
    ]
)
"""The names of all settings; a test holds them together with `Settings`."""
_NO_SETTINGS: Final = frozenset(
    ("INTERLOCK_LOG_OPENER", "INTERLOCK_TEST_KAFKA", "INTERLOCK_BENCH_KAFKA", "INTERLOCK_KAFKA_HOME")
)
"""Variables that the recorder, tests, benchmarks and `ops.kafka` read."""


def find_api(flag: str) -> str:
    """The flag, else `INTERLOCK_API`, else `api` of `interlock.toml`, else the default."""
    path = Path("interlock.toml")
    given = _read(path)
    if unknown := sorted(given.keys() - SETTINGS):
        raise usage(f"expected only settings in {path.absolute()}, found {unknown[0]!r}{_like(unknown[0])}")
    if named := flag or os.environ.get("INTERLOCK_API", ""):
        return named
    found = given.get("api", API_DEFAULT)
    if not isinstance(found, str):
        raise usage(f"expected api in {path.absolute()} as text, found {found!r}")
    return found


def unknown_variables() -> list[str]:
    """A sentence for each variable of the environment that looks like a setting and is none."""
    names = sorted(name for name in os.environ if name.upper().startswith("INTERLOCK_"))
    return [
        f"expected INTERLOCK_… in the environment to be a setting, found {name}{_like(name)}; it does nothing"
        for name in names
        if name.upper() not in _NO_SETTINGS and name.upper().removeprefix("INTERLOCK_").lower() not in SETTINGS
    ]


def _read(path: Path) -> dict[str, object]:
    """The keys of the file; none where it isn't there. Raises `CommandError`."""
    import tomllib

    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise usage(f"expected TOML in {path.absolute()}, found: {error}") from error


def _like(name: str) -> str:
    """The setting that is meant, most likely."""
    from difflib import get_close_matches

    prefix = "INTERLOCK_" if name.upper().startswith("INTERLOCK_") else ""
    found = get_close_matches(name[len(prefix) :].lower(), SETTINGS, n=1)
    return f" (did you mean {prefix}{found[0].upper() if prefix else found[0]}?)" if found else ""
