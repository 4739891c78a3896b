"""Says, in a sentence, what a run of a rehearsal waits for."""

import json
from datetime import UTC, datetime
from typing import Any, cast

from interlock.sdk.types import ENDED, RunDetail
from interlock.testing.cast import Call


def instant(ms: int) -> str:
    """A virtual instant as text, such as 2023-11-14 22:13:20."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def waits_for(detail: RunDetail, document: str | None, call: tuple[str, Call] | None) -> str:
    """What a run waits for. `document` is the definition that it runs, as far as it is known, and `call` the activity
    that has been called for it and has not ended."""
    run = detail.run
    if run.status in ENDED:
        fault = f" at {run.node_id!r} with {run.fault.type}: {run.fault.message}" if run.fault is not None else ""
        return f"is {run.status}{fault}"
    if call is not None:
        activity, made = call
        return f"waits for the activity {activity!r} of step {made.node_id!r}, which has not returned"
    if run.unserved is not None:
        return (
            f"waits for the activity {run.unserved.activity!r}, which no app of this rehearsal has; "
            "hand its module to Rehearsal"
        )
    wait = detail.wait
    if wait is None:
        return f"is {run.status} at step {detail.current_node!r}"
    if wait.kind == "timer":
        return f"sleeps at step {wait.node_id!r} until {instant(wait.until_ms or 0)}; let time pass with `advance`"
    event = _awaited(document, wait.node_id) or "an event"
    correlated = f" with correlation {wait.correlation!r}" if wait.correlation else ""
    until = f", at the latest until {instant(wait.until_ms)}" if wait.until_ms is not None else ""
    return f"waits at step {wait.node_id!r} for {event}{correlated}{until}; emit it, or let time pass with `advance`"


def _awaited(document: str | None, node_id: str) -> str | None:
    """The name of the event that a step waits for, in quotes."""
    if document is None:
        return None
    steps = cast("list[dict[str, Any]]", json.loads(document)["steps"])
    return next((repr(step["wait"]["event"]) for step in steps if step["id"] == node_id), None)
