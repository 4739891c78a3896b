"""Following a rebuild or a verification until it has ended, or until it is clear that nobody takes it up."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from interlock.sdk import Client
    from interlock.sdk.types import Rebuild, Verification, ViewStatus

PATIENCE_S = 20.0
"""How long a request may wait for a projector to take it up; it stays, and is done when one comes."""
WAIT_S = 10.0
"""How long one request waits for something new."""


Work = TypeVar("Work", "Rebuild", "Verification")


def follow(client: "Client", rebuild: "Rebuild", say: Callable[[str], None]) -> "Rebuild":
    """The rebuild when it has ended, or as it is where nobody takes it up."""
    return _followed(
        client, rebuild, lambda status: status.rebuild, lambda one, other: one.rebuild_id == other.rebuild_id, say
    )


def follow_verification(client: "Client", verification: "Verification", say: Callable[[str], None]) -> "Verification":
    """The verification when it has ended, or as it is where nobody takes it up."""
    return _followed(
        client,
        verification,
        lambda status: status.verification,
        lambda one, other: one.verify_id == other.verify_id,
        say,
    )


def _followed(
    client: "Client",
    asked: Work,
    latest_of: Callable[["ViewStatus"], Work | None],
    same: Callable[[Work, Work], bool],
    say: Callable[[str], None],
) -> Work:
    """What was asked of a view, until it has ended; `same` is whether two answers are about one request."""
    began_s = time.monotonic()
    seen = ""
    while asked.state in ("requested", "running"):
        if asked.state == "requested" and time.monotonic() - began_s > PATIENCE_S:
            say(f"{asked.view}: no projector has taken it up; it is done when `interlock serve projector` runs")
            return asked
        status = client.projection(asked.view, wait_s=WAIT_S if seen else 0, seen=seen or None)
        seen = status.mark
        latest = latest_of(status)
        if latest is None or not same(latest, asked):
            # Somebody else's request came after this one, so this one has ended; how is no longer kept.
            return asked
        if latest != asked and latest.state == "running":
            say(f"{latest.view}: {latest.appends_done} of {latest.appends_total} appends")
        asked = latest
    return asked
