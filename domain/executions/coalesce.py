"""Several checkpoints as one event (CHK-03): what a host that coalesces commits at quiescence, or at the cap.

Folding the one event gives the state that its steps give one by one, so readers need no other rule.
"""

from collections.abc import Sequence
from typing import Final, cast

from interlock.domain.decider import Change
from interlock.domain.executions.execution.events import CheckpointsCoalesced, Step

COALESCED_STEPS_MAX: Final = 50
"""Checkpoints in one event: a crash loses at most as much work, and the event stays small (CHK-03)."""


def coalesce(changes: Sequence[Change]) -> Change:
    """One change for steps of one execution, in order; a single step stays itself.

    Raises ValueError for none, for more than `COALESCED_STEPS_MAX`, for steps of several executions and for what is
    coalesced already: the caller commits before it comes to that.
    """
    if not 1 <= len(changes) <= COALESCED_STEPS_MAX:
        raise ValueError(f"Expected 1 to {COALESCED_STEPS_MAX} checkpoints to coalesce, found {len(changes)}.")
    first = changes[0]
    if len(changes) == 1:
        return first
    for change in changes:
        if change.stream != first.stream or isinstance(change.event, CheckpointsCoalesced):
            raise ValueError(
                f"Expected single checkpoints of {first.stream!r}, found {type(change.event).__name__} of "
                f"{change.stream!r}."
            )
    return Change(first.stream, CheckpointsCoalesced(steps=tuple(cast("Step", change.event) for change in changes)))
