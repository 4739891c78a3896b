"""What a look at an installation finds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    found: str
    remedy: str = ""
