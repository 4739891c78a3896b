"""What a process does: one name for each kind of work, and the contexts and views behind it."""

from typing import Final, Literal, get_args

Role = Literal["publishing", "routing", "executions", "projector", "reconciler", "api"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""Everything that `up` does in one process."""

VIEWS_OF_PREPARATION: Final = ("trigger-index",)
"""The views whose rows a candidate needs before it is activated (PRJ-03)."""
