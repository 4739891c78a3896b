"""Following a rebuild or a verification until it has ended, or until it is clear that nobody takes it up."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.sdk import Client
    from interlock.sdk.types import Rebuild, Verification

PATIENCE_S = 20.0
"""How long a request may wait for a projector to take it up; it stays, and is done when one comes."""
WAIT_S = 10.0
"""How long one request waits for something new."""


def follow(client: "Client", rebuild: "Rebuild", say: Callable[[str], None]) -> "Rebuild":
    """The rebuild when it has ended, or as it is where nobody takes it up."""
    asked_at = time.monotonic()
    seen = ""
    while rebuild.state in ("requested", "running"):
        if rebuild.state == "requested" and time.monotonic() - asked_at > PATIENCE_S:
            say(f"{rebuild.view}: no projector has taken it up; it is done when `interlock serve projector` runs")
            return rebuild
        status = client.projection(rebuild.view, wait_s=WAIT_S if seen else 0, seen=seen or None)
        seen = status.mark
        latest = status.rebuild
        if latest is None or latest.rebuild_id != rebuild.rebuild_id:
            # Somebody else's rebuild came after this one, so this one has ended; how is no longer kept.
            return rebuild
        if latest != rebuild and latest.state == "running":
            say(f"{latest.view}: {latest.appends_done} of {latest.appends_total} appends")
        rebuild = latest
    return rebuild


def follow_verification(client: "Client", verification: "Verification", say: Callable[[str], None]) -> "Verification":
    """The verification when it has ended, or as it is where nobody takes it up."""
    asked_at = time.monotonic()
    seen = ""
    while verification.state in ("requested", "running"):
        if verification.state == "requested" and time.monotonic() - asked_at > PATIENCE_S:
            say(f"{verification.view}: no projector has taken it up; it is done when `interlock serve projector` runs")
            return verification
        status = client.projection(verification.view, wait_s=WAIT_S if seen else 0, seen=seen or None)
        seen = status.mark
        latest = status.verification
        if latest is None or latest.verify_id != verification.verify_id:
            return verification
        if latest != verification and latest.state == "running":
            say(f"{latest.view}: {latest.appends_done} of {latest.appends_total} appends")
        verification = latest
    return verification
